// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {PackedAccounts} from "./Accounts.sol";
import {PurseBook} from "./Purses.sol";
import {SlotBook} from "./Slots.sol";
import {SubscriptionBook} from "./Subscriptions.sol";

/// @notice A payment reference that was consumed: one word. The agent may be the zero address.
struct Payment {
    address agent;
    bool isUsed;
}

/// @notice All that the contract stores, besides its owner.
/// @param accounts the seller's books
/// @param slots slots and their calendar
/// @param subscriptions what agents paid for and used
/// @param purses what few agents have besides
/// @param payments references that were consumed
/// @param forwarders who may pass references
/// @param recorders who may record usage
/// @param offers every offer that ever held
struct State {
    PackedAccounts accounts;
    SlotBook slots;
    SubscriptionBook subscriptions;
    PurseBook purses;
    mapping(bytes32 paymentReference => Payment) payments;
    mapping(address account => bool isAllowed) forwarders;
    mapping(address account => bool isAllowed) recorders;
    IAccessWindow.Offer[] offers;
}
