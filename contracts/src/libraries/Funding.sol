// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";
import {Accounts} from "./Accounts.sol";
import {Metering} from "./Metering.sol";
import {Offers} from "./Offers.sol";
import {Purse} from "./Purses.sol";
import {Renewals} from "./Renewals.sol";
import {Slot, Slots, Span} from "./Slots.sol";
import {State} from "./State.sol";
import {Subscription, Subscriptions} from "./Subscriptions.sol";
import {Windows} from "./Windows.sol";

/// @notice What a payment asks for; its value comes with the transaction.
/// @param agent who may use the window
/// @param offerId offer on whose terms a window opens
/// @param calls calls that the payment itself serves
/// @param periods further periods that always fit, however long they are
/// @param paidAtSeconds second in which the payment became valid, Unix seconds
/// @param isGasRequired whether too little gas to arm a renewal reverts
/// @param missedMax a slot that missed more seconds is left behind
struct Order {
    address agent;
    uint32 offerId;
    uint32 calls;
    uint256 periods;
    uint256 paidAtSeconds;
    bool isGasRequired;
    uint256 missedMax;
}

/// @notice What an agent has, in memory.
/// @param agent whose
/// @param subscription its windows
/// @param purse its money that is in no period
/// @param priceTinybar pinned price of a period, tinybar
/// @param isOnSale whether new money buys periods at the pinned terms
struct Position {
    address agent;
    Subscription subscription;
    Purse purse;
    uint64 priceTinybar;
    bool isOnSale;
}

/// @title Buying, adding, ending
/// @notice Value comes in by `open`, `openPaid` and `topUp`, becomes whole periods as far ahead as they reach, and what was
/// not used goes back by `cancel` and `claimRefund`. What lies beyond the reach waits in the purse, until a purchase or
/// `poke` turns it into periods. Nothing is ever sent to an agent unasked.
library Funding {
    using Offers for IAccessWindow.Offer;
    using Offers for IAccessWindow.Offer[];
    using Renewals for State;
    using Windows for State;

    /// @notice How far ahead periods are bought at pinned terms, seconds: 31 days. So an offer that was a mistake, or has
    /// become one, ends, while a month that is paid for keeps its price.
    uint256 internal constant REACH_SECONDS = 2_678_400;

    /// @notice Most missed seconds that a purchase books: it pays for its own window, and a `poke` for all that others missed.
    uint256 internal constant MISSED_MAX = 16;

    // ----------------------------------------------------------------------------------------------- purchases

    /// @notice An order that no settled payment stands behind.
    function orderNow(address agent, uint32 offerId) internal pure returns (Order memory) {
        return Order(agent, offerId, 0, 1, type(uint256).max, true, MISSED_MAX);
    }

    /// @notice Adds the sent value to an open window on the terms that are pinned to it, so that a stranger's gift changes
    /// nobody's price; otherwise opens one now on the offer's, with what was left of an old balance. The value is a whole
    /// positive number of periods of the offer, or none where what waits buys them.
    function buy(State storage state, Accounts memory accounts, Order memory order, IAccessWindow.Offer memory offer)
        internal
    {
        Position memory position = _load(state, order.agent);
        bool isOpen = position.subscription.fundedUntil > block.timestamp;
        if (isOpen) {
            IAccessWindow.Offer memory pinned = state.offers.at(position.subscription.offerId);
            pinned.requireOnSale(position.subscription.offerId, order.paidAtSeconds);
            position.subscription.isCancelled = false;
            position.priceTinybar = pinned.priceTinybar;
            position.isOnSale = pinned.retiredAt == 0;
        } else {
            if (position.purse.changeTinybar != 0 && !_takesTerms(state, position, offer)) {
                _makeClaimable(position, accounts, 0);
            }
            _openWindow(position, order.offerId, offer);
        }
        if (order.calls != 0) Metering.countPaid(position.subscription, order.agent, order.calls);
        _takeValue(position, accounts);
        if (!isOpen) {
            accounts.charge(position.priceTinybar);
            position.purse.changeTinybar -= position.priceTinybar;
        }
        uint64 change = position.purse.changeTinybar;
        Slot memory slot = _fund(state, position, accounts, order);
        _keep(state, position, accounts);
        if (isOpen) _emitToppedUp(position, slot);
        else _emitOpened(position, slot, change);
    }

    /// @notice Adds the sent value to an open, uncancelled subscription.
    function topUp(State storage state, address agent) internal {
        Position memory position = _load(state, agent);
        uint32 offerId = position.subscription.offerId;
        IAccessWindow.Offer memory pinned = state.offers.at(offerId);
        if (msg.value == 0) revert IAccessWindowEvents.AccessWindow_WrongValue(0, pinned.priceTinybar);
        if (position.subscription.fundedUntil <= block.timestamp || position.subscription.isCancelled) {
            revert IAccessWindowEvents.AccessWindow_NoOpenWindow(agent);
        }
        pinned.requireOnSale(offerId, type(uint256).max);
        position.priceTinybar = pinned.priceTinybar;
        Accounts memory accounts = state.accounts.load();
        _takeValue(position, accounts);
        Slot memory slot = _fund(state, position, accounts, orderNow(agent, offerId));
        _keep(state, position, accounts);
        _emitToppedUp(position, slot);
    }

    /// @notice Turns what waits into periods as far as they reach: of an open window, while the current offer has its terms;
    /// of a closed one by opening a window on the current offer. Otherwise brings the agent's slot to the present.
    function poke(State storage state, address agent) internal {
        Position memory position = _load(state, agent);
        Accounts memory accounts = state.accounts.load();
        (uint32 offerId, IAccessWindow.Offer memory offer) = state.offers.current();
        bool isBuying = position.purse.changeTinybar >= offer.priceTinybar && offer.retiredAt == 0;
        if (isBuying && position.subscription.fundedUntil > block.timestamp) {
            IAccessWindow.Offer memory pinned = state.offers.at(position.subscription.offerId);
            isBuying = pinned.retiredAt == 0 && offer.isNoWorseThan(pinned) && pinned.isNoWorseThan(offer);
        } else if (isBuying) {
            isBuying = !accounts.areSalesPaused && _takesTerms(state, position, offer);
        }
        if (!isBuying) return state.renewAsAnyone(state.slotOf(agent));
        Order memory order = orderNow(agent, offerId);
        order.missedMax = type(uint256).max;
        buy(state, accounts, order, offer);
    }

    // ------------------------------------------------------------------------------------------------- ending

    /// @notice Ends the sender's subscription with the window that is charged last; the balance becomes claimable.
    function cancel(State storage state) internal {
        Position memory position = _load(state, msg.sender);
        Subscription memory subscription = position.subscription;
        position.priceTinybar = state.offers[subscription.offerId].priceTinybar;
        if (subscription.fundedUntil == 0 || subscription.isCancelled) {
            revert IAccessWindowEvents.AccessWindow_NothingToCancel(msg.sender);
        }
        uint64 refund = _endFunding(state, position);
        if (subscription.fundedUntil <= block.timestamp && position.purse.changeTinybar == 0) {
            revert IAccessWindowEvents.AccessWindow_NothingToCancel(msg.sender);
        }
        subscription.isCancelled = true;
        Accounts memory accounts = state.accounts.load();
        _makeClaimable(position, accounts, refund);
        _keep(state, position, accounts);
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

    function _load(State storage state, address agent) private view returns (Position memory) {
        return Position(agent, state.subscriptions.load(agent), state.purses.load(agent), 0, true);
    }

    /// @dev Whether what waits may buy at these terms. It was paid in at the pinned ones: worse terms are the agent's own
    /// choice, or the owner could spend every balance by a new offer.
    function _takesTerms(State storage state, Position memory position, IAccessWindow.Offer memory offer)
        private
        view
        returns (bool)
    {
        return msg.sender == position.agent || offer.isNoWorseThan(state.offers.at(position.subscription.offerId));
    }

    /// @dev Makes what waits claimable, and `refund` besides.
    function _makeClaimable(Position memory position, Accounts memory accounts, uint64 refund) private {
        refund += position.purse.changeTinybar;
        position.purse.changeTinybar = 0;
        position.purse.refundTinybar += refund;
        accounts.depositsTinybar -= refund;
        accounts.refundsTinybar += refund;
        emit IAccessWindowEvents.SubscriptionCancelled(position.agent, refund);
    }

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

    /// @dev Turns what the purse holds into whole periods at the end of what is funded, within the reach, and arms the slot
    /// where no call is pending, or where the pending one was lost.
    function _fund(State storage state, Position memory position, Accounts memory accounts, Order memory order)
        private
        returns (Slot memory slot)
    {
        (Subscription memory subscription, Purse memory purse) = (position.subscription, position.purse);
        slot = state.slots.load(Slots.idOf(subscription.periodSeconds, subscription.fundedUntil));
        uint256 periods = position.isOnSale ? purse.changeTinybar / position.priceTinybar : 0;
        if (periods > _periodsUntil(subscription, block.timestamp + REACH_SECONDS)) {
            periods = _periodsInReach(subscription, slot.next, order.periods, periods);
        }
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
            state.catchUp(slot, accounts, order.isGasRequired, order.missedMax); // after which everybody may have left
        }
        state.slots.keep(slot);
    }

    /// @dev Of so many periods, those that fit within the reach, and always `always` from the end of what is charged.
    function _periodsInReach(Subscription memory subscription, uint256 slotNext, uint256 always, uint256 periods)
        private
        view
        returns (uint256)
    {
        uint256 until = subscription.chargedUntil(block.timestamp, slotNext) + always * subscription.periodSeconds;
        if (until < block.timestamp + REACH_SECONDS) until = block.timestamp + REACH_SECONDS;
        if (until > Subscriptions.TIME_MAX) until = Subscriptions.TIME_MAX;
        uint256 room = _periodsUntil(subscription, until);
        return periods < room ? periods : room;
    }

    /// @dev Whole periods between what is funded and that second.
    function _periodsUntil(Subscription memory subscription, uint256 second) private pure returns (uint256) {
        uint256 fundedUntil = subscription.fundedUntil;
        return second < fundedUntil ? 0 : (second - fundedUntil) / subscription.periodSeconds;
    }

    /// @dev Ends what is funded with the window that is charged last; returns what its periods bring back, tinybar.
    function _endFunding(State storage state, Position memory position) private returns (uint64 refund) {
        Subscription memory subscription = position.subscription;
        Slot memory slot = state.slots.load(Slots.idOf(subscription.periodSeconds, subscription.fundedUntil));
        uint40 to = subscription.fundedUntil;
        uint40 end = uint40(subscription.chargedUntil(block.timestamp, slot.next));
        if (end == to) return 0;
        refund = uint64((to - end) / subscription.periodSeconds * position.priceTinybar);
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

    function _keep(State storage state, Position memory position, Accounts memory accounts) private {
        state.subscriptions.keep(position.agent, position.subscription);
        state.purses.keep(position.agent, position.purse);
        state.accounts.keep(accounts);
    }
}
