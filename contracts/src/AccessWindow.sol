// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Metering} from "./abstracts/Metering.sol";
import {Purchases} from "./abstracts/Purchases.sol";

/// @title Pay-once access with a window that renews itself
/// @notice The whole is in its parts: Roles, Ledger (the seller's books), Offers, Subscriptions (windows and their
/// projection), Renewals (the network's calls), Metering, Purchases. Everything that others call is in IAccessWindow.
/// @dev Immutable on purpose: a schedule made from a DELEGATECALL frame fires and then fails on Hedera, so that a contract
/// behind a proxy cannot renew itself.
contract AccessWindow is Purchases, Metering {
    /// @notice How a contract begins. The value sent along is its first gas reserve.
    /// @param owner sets terms and takes earnings
    /// @param forwarder passes settled payments on; none if zero
    /// @param recorders count calls
    /// @param priceTinybar price of one period, tinybar
    /// @param periodSeconds length of one period, seconds
    /// @param callsAllowed metered calls of one period
    struct Deployment {
        address owner;
        address forwarder;
        address[] recorders;
        uint64 priceTinybar;
        uint32 periodSeconds;
        uint32 callsAllowed;
    }

    constructor(Deployment memory deployment) payable Ownable(deployment.owner) {
        _setOffer(deployment.priceTinybar, deployment.periodSeconds, deployment.callsAllowed);
        if (deployment.forwarder != address(0)) _setForwarder(deployment.forwarder, true);
        for (uint256 i; i < deployment.recorders.length; ++i) {
            _setRecorder(deployment.recorders[i], true);
        }
        _fundReserve();
    }
}
