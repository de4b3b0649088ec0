// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {Accounts} from "../libraries/PackedAccounts.sol";
import {Subscription} from "../libraries/PackedSubscription.sol";
import {Renewals} from "./Renewals.sol";

/// @title Buying, adding, ending
/// @notice Value comes in by `open`, `openPaid` and `topUp`, and what was not used goes back by `cancel` and
/// `claimRefund`. Nothing is ever sent to an agent unasked.
abstract contract Purchases is IAccessWindow, Renewals {
    /// @dev One slot. The agent may be the zero address.
    struct Payment {
        address agent;
        bool isUsed;
    }

    mapping(bytes32 paymentReference => Payment) private _payments;
    mapping(address agent => uint64 amountTinybar) private _refunds;

    // ----------------------------------------------------------------------------------------------- purchases

    /// @inheritdoc IAccessWindow
    function open(address agent) external payable {
        Accounts memory accounts = _load();
        if (accounts.areSalesPaused) revert AccessWindow_SalesPaused();
        (uint32 offerId, Offer memory offer) = currentOffer();
        _requireWholePeriods(msg.value, offer.priceTinybar);
        Subscription memory subscription = _subscriptions[agent].load();
        _buy(agent, subscription, accounts, offerId, offer);
        _rearm(agent, subscription, accounts, true);
        _keepBoth(agent, subscription, accounts);
    }

    /// @inheritdoc IAccessWindow
    function openPaid(Purchase calldata purchase) external payable onlyForwarder {
        address agent = purchase.agent;
        if (_payments[purchase.paymentReference].isUsed) {
            revert AccessWindow_PaymentAlreadyUsed(purchase.paymentReference);
        }
        Offer memory offer = _offerFor(purchase.offerId, purchase.paidAtSeconds);
        _requireWholePeriods(msg.value, offer.priceTinybar);
        _payments[purchase.paymentReference] = Payment({agent: agent, isUsed: true});
        emit PaymentConsumed(purchase.paymentReference, agent, uint64(msg.value));
        Subscription memory subscription = _subscriptions[agent].load();
        Accounts memory accounts = _load();
        _buy(agent, subscription, accounts, purchase.offerId, offer);
        _countCalls(agent, subscription, purchase.calls);
        _rearm(agent, subscription, accounts, false);
        _keepBoth(agent, subscription, accounts);
    }

    /// @inheritdoc IAccessWindow
    function topUp(address agent) external payable {
        Subscription memory subscription = _subscriptions[agent].load();
        Accounts memory accounts = _load();
        if (msg.value == 0) revert AccessWindow_WrongValue(0, subscription.priceTinybar);
        _materialise(agent, subscription, accounts, block.timestamp, false);
        if (subscription.expiresAt <= block.timestamp || subscription.isCancelled) {
            revert AccessWindow_NoOpenWindow(agent);
        }
        _addValue(agent, subscription, accounts);
        _rearm(agent, subscription, accounts, true);
        _keepBoth(agent, subscription, accounts);
    }

    // ------------------------------------------------------------------------------------------------- ending

    /// @inheritdoc IAccessWindow
    function cancel() external {
        Subscription memory subscription = _subscriptions[msg.sender].load();
        Accounts memory accounts = _load();
        _materialise(msg.sender, subscription, accounts, block.timestamp, false);
        uint64 refund = subscription.balanceTinybar;
        if (subscription.isCancelled || (subscription.expiresAt <= block.timestamp && refund == 0)) {
            revert AccessWindow_NothingToCancel(msg.sender);
        }
        _deleteSchedule(subscription, accounts);
        subscription.isCancelled = true;
        subscription.balanceTinybar = 0;
        accounts.depositsTinybar -= refund;
        accounts.refundsTinybar += refund;
        _refunds[msg.sender] += refund;
        _keepBoth(msg.sender, subscription, accounts);
        emit SubscriptionCancelled(msg.sender, refund);
    }

    /// @inheritdoc IAccessWindow
    function claimRefund(address payable to) external {
        uint64 amount = _refunds[msg.sender];
        if (amount == 0) revert AccessWindow_NothingToClaim(msg.sender);
        Accounts memory accounts = _load();
        _refunds[msg.sender] = 0;
        accounts.refundsTinybar -= amount;
        _keep(accounts);
        emit RefundClaimed(msg.sender, to, amount);
        _send(to, amount);
    }

    // ------------------------------------------------------------------------------------------------- views

    /// @inheritdoc IAccessWindow
    function paymentOf(bytes32 paymentReference) external view returns (bool isUsed, address agent) {
        Payment memory payment = _payments[paymentReference];
        return (payment.isUsed, payment.agent);
    }

    /// @inheritdoc IAccessWindow
    function refundOf(address agent) external view returns (uint64 amountTinybar) {
        return _refunds[agent];
    }

    // ----------------------------------------------------------------------------------------------------- inside

    /// @dev Adds the sent value to an open window on the terms that are pinned to it, so that a stranger's gift changes
    /// nobody's price; otherwise opens one now on the offer's, with what was left of an old balance.
    function _buy(
        address agent,
        Subscription memory subscription,
        Accounts memory accounts,
        uint32 offerId,
        Offer memory offer
    ) private {
        _materialise(agent, subscription, accounts, block.timestamp, false);
        if (subscription.expiresAt > block.timestamp) {
            subscription.isCancelled = false;
            _addValue(agent, subscription, accounts);
        } else {
            _openWindow(agent, subscription, accounts, offerId, offer);
        }
    }

    function _addValue(address agent, Subscription memory subscription, Accounts memory accounts) private {
        uint64 value = _credit(accounts, msg.value);
        accounts.depositsTinybar += value;
        subscription.balanceTinybar += value;
        emit SubscriptionToppedUp(agent, msg.sender, value, subscription.balanceTinybar);
    }

    /// @dev The value pays for at least the one period that is charged at once.
    function _openWindow(
        address agent,
        Subscription memory subscription,
        Accounts memory accounts,
        uint32 offerId,
        Offer memory offer
    ) private {
        uint64 value = _credit(accounts, msg.value);
        uint64 change = value - offer.priceTinybar;
        accounts.depositsTinybar += change;
        accounts.earnedTinybar += offer.priceTinybar;
        subscription.balanceTinybar += change;
        subscription.previousExpiresAt = subscription.expiresAt;
        subscription.callsUsedPrevious = subscription.callsUsed;
        subscription.callsAllowedPrevious = subscription.callsAllowed;
        subscription.expiresAt = uint40(block.timestamp + offer.periodSeconds);
        subscription.periodSeconds = offer.periodSeconds;
        subscription.priceTinybar = offer.priceTinybar;
        subscription.callsAllowed = offer.callsAllowed;
        subscription.callsUsed = 0;
        subscription.isCancelled = false;
        emit SubscriptionOpened(agent, msg.sender, subscription.expiresAt, offerId, subscription.balanceTinybar);
    }

    /// @dev The calls that a payment itself serves, if the window has room for them.
    function _countCalls(address agent, Subscription memory subscription, uint32 calls) private {
        if (calls == 0) return;
        uint256 callsUsed = uint256(subscription.callsUsed) + calls;
        if (callsUsed > subscription.callsAllowed) {
            emit UsageRefused(agent, subscription.expiresAt, calls);
            return;
        }
        subscription.callsUsed = uint32(callsUsed);
        emit UsageRecorded(agent, subscription.expiresAt, uint32(callsUsed));
    }
}
