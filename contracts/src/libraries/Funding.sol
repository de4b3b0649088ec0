// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";
import {Accounts} from "./Accounts.sol";
import {Metering} from "./Metering.sol";
import {Purse} from "./Purses.sol";
import {Renewals} from "./Renewals.sol";
import {Slot, Slots, Span} from "./Slots.sol";
import {State} from "./State.sol";
import {Subscription, Subscriptions} from "./Subscriptions.sol";

/// @notice What a payment asks for; its value comes with the transaction.
/// @param agent who may use the window
/// @param offerId offer on whose terms a window opens
/// @param calls calls that the payment itself serves
/// @param isGasRequired whether too little gas to arm a renewal reverts
struct Order {
    address agent;
    uint32 offerId;
    uint32 calls;
    bool isGasRequired;
}

/// @notice What an agent has, in memory.
/// @param agent whose
/// @param subscription its windows
/// @param purse its money that pays for no whole period
/// @param priceTinybar pinned price of a period, tinybar
struct Position {
    address agent;
    Subscription subscription;
    Purse purse;
    uint64 priceTinybar;
}

/// @title Buying, adding, ending
/// @notice Value comes in by `open`, `openPaid` and `topUp`, becomes whole periods, and what was not used goes back by
/// `cancel` and `claimRefund`. Nothing is ever sent to an agent unasked.
library Funding {
    // ----------------------------------------------------------------------------------------------- purchases

    /// @notice Adds the sent value to an open window on the terms that are pinned to it, so that a stranger's gift changes
    /// nobody's price; otherwise opens one now on the offer's, with what was left of an old balance. The value is a whole
    /// positive number of periods of the offer.
    function buy(State storage state, Accounts memory accounts, Order memory order, IAccessWindow.Offer memory offer)
        internal
    {
        address agent = order.agent;
        Position memory position = Position(agent, state.subscriptions.load(agent), state.purses.load(agent), 0);
        bool isOpen = position.subscription.fundedUntil > block.timestamp;
        if (isOpen) {
            position.subscription.isCancelled = false;
            position.priceTinybar = _pinnedPrice(state, position);
        } else {
            _openWindow(position, order.offerId, offer);
        }
        if (order.calls != 0) Metering.countPaid(position.subscription, agent, order.calls);
        _takeValue(position, accounts);
        if (!isOpen) {
            accounts.charge(position.priceTinybar);
            position.purse.changeTinybar -= position.priceTinybar;
        }
        uint64 change = position.purse.changeTinybar;
        Slot memory slot = _fund(state, position, accounts, order.isGasRequired);
        _keep(state, position, accounts);
        if (isOpen) _emitToppedUp(position, slot);
        else _emitOpened(position, slot, change);
    }

    /// @notice Adds the sent value to an open, uncancelled subscription.
    function topUp(State storage state, address agent) internal {
        Position memory position = Position(agent, state.subscriptions.load(agent), state.purses.load(agent), 0);
        position.priceTinybar = _pinnedPrice(state, position);
        if (msg.value == 0) revert IAccessWindowEvents.AccessWindow_WrongValue(0, position.priceTinybar);
        if (position.subscription.fundedUntil <= block.timestamp || position.subscription.isCancelled) {
            revert IAccessWindowEvents.AccessWindow_NoOpenWindow(agent);
        }
        Accounts memory accounts = state.accounts.load();
        _takeValue(position, accounts);
        Slot memory slot = _fund(state, position, accounts, true);
        _keep(state, position, accounts);
        _emitToppedUp(position, slot);
    }

    // ------------------------------------------------------------------------------------------------- ending

    /// @notice Ends the sender's subscription with the window that is charged last; the balance becomes claimable.
    function cancel(State storage state) internal {
        Subscription memory subscription = state.subscriptions.load(msg.sender);
        Position memory position = Position(msg.sender, subscription, state.purses.load(msg.sender), 0);
        position.priceTinybar = _pinnedPrice(state, position);
        if (subscription.fundedUntil == 0 || subscription.isCancelled) {
            revert IAccessWindowEvents.AccessWindow_NothingToCancel(msg.sender);
        }
        uint64 refund = _endFunding(state, position);
        if (subscription.fundedUntil <= block.timestamp && refund == 0) {
            revert IAccessWindowEvents.AccessWindow_NothingToCancel(msg.sender);
        }
        subscription.isCancelled = true;
        Accounts memory accounts = state.accounts.load();
        accounts.depositsTinybar -= refund;
        accounts.refundsTinybar += refund;
        position.purse.refundTinybar += refund;
        _keep(state, position, accounts);
        emit IAccessWindowEvents.SubscriptionCancelled(msg.sender, refund);
    }

    /// @notice Takes the sender's refund out of the books, for whoever calls to send.
    function takeRefund(State storage state) internal returns (uint64 amountTinybar) {
        Purse memory purse = state.purses.load(msg.sender);
        amountTinybar = purse.refundTinybar;
        if (amountTinybar == 0) revert IAccessWindowEvents.AccessWindow_NothingToClaim(msg.sender);
        purse.refundTinybar = 0;
        state.purses.keep(msg.sender, purse);
        Accounts memory accounts = state.accounts.load();
        accounts.refundsTinybar -= amountTinybar;
        state.accounts.keep(accounts);
    }

    // ----------------------------------------------------------------------------------------------------- inside

    /// @dev Opens a window that ends in the first second of a slot from a period after now on. The contract's address
    /// spreads the slots of different contracts, none of which then begins at a full hour.
    function _openWindow(Position memory position, uint32 offerId, IAccessWindow.Offer memory offer) private view {
        (Subscription memory subscription, Purse memory purse) = (position.subscription, position.purse);
        if (subscription.fundedUntil + Metering.LATE_USAGE_SECONDS >= block.timestamp) {
            purse.closedAt = subscription.fundedUntil;
            purse.closedUsed = subscription.callsUsedIn(subscription.fundedUntil);
            purse.closedAllowed = subscription.callsAllowed;
        }
        uint256 end = block.timestamp + offer.periodSeconds;
        uint256 beyond = (end + uint160(address(this))) % offer.slotSeconds;
        if (beyond != 0) end += offer.slotSeconds - beyond;
        subscription.fundedUntil = uint40(end);
        subscription.countedUntil = uint40(end);
        subscription.periodSeconds = offer.periodSeconds;
        subscription.callsAllowed = offer.callsAllowed;
        subscription.callsUsed = 0;
        subscription.callsUsedPrevious = 0;
        subscription.offerId = offerId;
        subscription.isFirst = true;
        subscription.isCancelled = false;
        position.priceTinybar = offer.priceTinybar;
    }

    function _takeValue(Position memory position, Accounts memory accounts) private {
        uint64 value = accounts.credit(msg.value);
        accounts.depositsTinybar += value;
        position.purse.changeTinybar += value;
    }

    /// @dev Turns what the purse holds into whole periods at the end of what is funded, and arms the slot where no call is
    /// pending, or where the pending one was lost.
    function _fund(State storage state, Position memory position, Accounts memory accounts, bool isGasRequired)
        private
        returns (Slot memory slot)
    {
        (Subscription memory subscription, Purse memory purse) = (position.subscription, position.purse);
        slot = state.slots.load(Slots.idOf(subscription.periodSeconds, subscription.fundedUntil));
        uint256 periods = purse.changeTinybar / position.priceTinybar;
        uint256 room = (Subscriptions.TIME_MAX - subscription.fundedUntil) / subscription.periodSeconds;
        if (periods > room) periods = room;
        if (periods != 0) {
            purse.changeTinybar -= uint64(periods * position.priceTinybar);
            uint40 from = subscription.fundedUntil;
            uint40 to = uint40(from + periods * subscription.periodSeconds);
            accounts.charge(
                state.slots.extend(slot, Span(from, to, position.priceTinybar, subscription.isInCalendar()))
            );
            subscription.fundedUntil = to;
        }
        if (slot.live == 0) return slot; // nobody is in it: a purchase of one period writes no slot
        if (slot.schedule == address(0) || slot.isOverdue()) {
            Renewals.catchUp(state, slot, accounts, isGasRequired); // after which everybody may have left
        }
        state.slots.keep(slot);
    }

    /// @dev Ends what is funded with the window that is charged last; returns what comes back, tinybar.
    function _endFunding(State storage state, Position memory position) private returns (uint64 refund) {
        (Subscription memory subscription, Purse memory purse) = (position.subscription, position.purse);
        Slot memory slot = state.slots.load(Slots.idOf(subscription.periodSeconds, subscription.fundedUntil));
        refund = purse.changeTinybar;
        purse.changeTinybar = 0;
        uint40 to = subscription.fundedUntil;
        uint40 end = uint40(subscription.chargedUntil(block.timestamp, slot.next));
        if (end == to) return refund;
        refund += uint64((to - end) / subscription.periodSeconds * position.priceTinybar);
        subscription.fundedUntil = end;
        state.slots.shorten(slot, Span(end, to, position.priceTinybar, subscription.isInCalendar()));
        state.slots.keep(slot);
    }

    function _emitOpened(Position memory position, Slot memory slot, uint64 balanceTinybar) private {
        Subscription memory subscription = position.subscription;
        bool isRenewed = subscription.fundedUntil > subscription.countedUntil;
        emit IAccessWindowEvents.SubscriptionOpened(
            position.agent,
            msg.sender,
            subscription.countedUntil,
            subscription.offerId,
            balanceTinybar,
            slot.id,
            isRenewed ? slot.schedule : address(0),
            isRenewed ? slot.scheduledAt : 0
        );
    }

    function _emitToppedUp(Position memory position, Slot memory slot) private {
        uint256 periods = position.subscription.periodsAhead(block.timestamp, slot.next);
        uint64 balanceTinybar = uint64(periods * position.priceTinybar) + position.purse.changeTinybar;
        emit IAccessWindowEvents.SubscriptionToppedUp(position.agent, msg.sender, uint64(msg.value), balanceTinybar);
    }

    function _pinnedPrice(State storage state, Position memory position) private view returns (uint64) {
        return state.offers[position.subscription.offerId].priceTinybar;
    }

    function _keep(State storage state, Position memory position, Accounts memory accounts) private {
        state.subscriptions.keep(position.agent, position.subscription);
        state.purses.keep(position.agent, position.purse);
        state.accounts.keep(accounts);
    }
}
