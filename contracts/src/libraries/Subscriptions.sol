// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A subscription in memory. An unknown agent's has `fundedUntil` 0. Its windows are not stored: they end at
/// `fundedUntil` and whole periods before it.
/// @param fundedUntil end of the last window that is paid for, Unix seconds
/// @param countedUntil end of the window in which `callsUsed` counts, Unix seconds
/// @param periodSeconds pinned period, seconds
/// @param callsAllowed pinned quota of a period
/// @param callsUsed calls counted in the window that ends at `countedUntil`
/// @param callsUsedPrevious calls counted in the window one period before that
/// @param offerId offer whose terms are pinned
/// @param isFirst whether `countedUntil` ends the first window since it opened, which may be longer than a period
/// @param isCancelled whether renewals ended
/// @param isGuarded whether calls must prove the agent's key
/// @param guardNonce how often the agent set the guard; 29 bits, after which it begins anew
struct Subscription {
    uint40 fundedUntil;
    uint40 countedUntil;
    uint32 periodSeconds;
    uint32 callsAllowed;
    uint32 callsUsed;
    uint32 callsUsedPrevious;
    uint32 offerId;
    bool isFirst;
    bool isCancelled;
    bool isGuarded;
    uint32 guardNonce;
}

/// @notice The subscriptions of all agents in storage: one word each.
struct SubscriptionBook {
    mapping(address agent => uint256 word) words;
}

using Subscriptions for Subscription global;
using Subscriptions for SubscriptionBook global;

/// @title What a subscription is at a given second
/// @notice Windows, quota and what is charged are arithmetic over one word: nothing is written when time passes.
/// @dev Times are kept in 36 bits (to the year 4147), periods in 24 (194 days).
library Subscriptions {
    // fundedUntil 36 | countedUntil 36 | period 24 | callsAllowed 32 | callsUsed 32 | callsUsedPrevious 32 | offerId 32 |
    // isFirst 1 | isCancelled 1 | isGuarded 1 | guardNonce 29
    uint256 private constant COUNTED_UNTIL = 36;
    uint256 private constant PERIOD_SECONDS = 72;
    uint256 private constant CALLS_ALLOWED = 96;
    uint256 private constant CALLS_USED = 128;
    uint256 private constant CALLS_USED_PREVIOUS = 160;
    uint256 private constant OFFER_ID = 192;
    uint256 private constant IS_FIRST = 224;
    uint256 private constant IS_CANCELLED = 225;
    uint256 private constant IS_GUARDED = 226;
    uint256 private constant GUARD_NONCE = 227;
    /// @dev Last second that is kept, Unix seconds.
    uint256 internal constant TIME_MAX = (1 << 36) - 1;

    // ------------------------------------------------------------------------------------------- load and keep

    /// @notice The agent's subscription as stored.
    function load(SubscriptionBook storage book, address agent)
        internal
        view
        returns (Subscription memory subscription)
    {
        uint256 word = book.words[agent];
        subscription.fundedUntil = uint40(word & TIME_MAX);
        subscription.countedUntil = uint40((word >> COUNTED_UNTIL) & TIME_MAX);
        subscription.periodSeconds = uint24(word >> PERIOD_SECONDS);
        subscription.callsAllowed = uint32(word >> CALLS_ALLOWED);
        subscription.callsUsed = uint32(word >> CALLS_USED);
        subscription.callsUsedPrevious = uint32(word >> CALLS_USED_PREVIOUS);
        subscription.offerId = uint32(word >> OFFER_ID);
        subscription.isFirst = (word >> IS_FIRST) & 1 != 0;
        subscription.isCancelled = (word >> IS_CANCELLED) & 1 != 0;
        subscription.isGuarded = (word >> IS_GUARDED) & 1 != 0;
        subscription.guardNonce = uint32(word >> GUARD_NONCE);
    }

    /// @notice Stores the agent's subscription.
    function keep(SubscriptionBook storage book, address agent, Subscription memory subscription) internal {
        book.words[agent] = uint256(subscription.fundedUntil) | uint256(subscription.countedUntil) << COUNTED_UNTIL
            | uint256(subscription.periodSeconds) << PERIOD_SECONDS | uint256(subscription.callsAllowed)
            << CALLS_ALLOWED | uint256(subscription.callsUsed) << CALLS_USED | uint256(subscription.callsUsedPrevious)
            << CALLS_USED_PREVIOUS | uint256(subscription.offerId) << OFFER_ID
            | (subscription.isFirst ? 1 << IS_FIRST : 0) | (subscription.isCancelled ? 1 << IS_CANCELLED : 0)
            | (subscription.isGuarded ? 1 << IS_GUARDED : 0) | uint256(subscription.guardNonce) << GUARD_NONCE;
    }

    /// @notice Adds calls to the window that is counted, if that is the one named and the sum fits: the usual case, one
    /// word read and written once. A negative number gives calls back, down to none.
    /// @param named end of the window that the calls name, Unix seconds
    /// @return isCurrent whether it is the counted window
    /// @return isCounted whether they were counted; otherwise nothing changed
    /// @return callsUsed calls of the window, these included
    function count(SubscriptionBook storage book, address agent, int32 calls, uint256 named)
        internal
        returns (bool isCurrent, bool isCounted, uint32 callsUsed)
    {
        uint256 word = book.words[agent];
        if ((word >> COUNTED_UNTIL) & TIME_MAX != named) return (false, false, 0);
        uint32 before = uint32(word >> CALLS_USED);
        (isCounted, callsUsed) = sum(before, calls, uint32(word >> CALLS_ALLOWED));
        if (isCounted) book.words[agent] = word ^ uint256(before ^ callsUsed) << CALLS_USED;
        return (true, isCounted, callsUsed);
    }

    /// @notice What was used with calls added, or with a negative number given back, down to none; not counted beyond
    /// what is allowed.
    function sum(uint32 callsUsed, int32 calls, uint32 callsAllowed)
        internal
        pure
        returns (bool isCounted, uint32 total)
    {
        unchecked {
            int256 exact = int256(uint256(callsUsed)) + calls; // both below 2^32
            if (exact < 0) exact = 0;
            return (exact <= int256(uint256(callsAllowed)), uint32(uint256(exact)));
        }
    }

    // ------------------------------------------------------------------------------------------------- windows

    /// @notice End of the window that is open at that second; of the last one when none is, Unix seconds.
    function endAt(Subscription memory subscription, uint256 atSeconds) internal pure returns (uint256 end) {
        end = subscription.fundedUntil;
        if (atSeconds >= end) return end;
        end -= (end - 1 - atSeconds) / subscription.periodSeconds * subscription.periodSeconds;
        if (subscription.isFirst && end < subscription.countedUntil) end = subscription.countedUntil;
    }

    /// @notice End of the last window that is charged at that second: a window is charged when it begins, when calls are
    /// counted in it, or when its slot's call came, which knows its second before `block.timestamp` shows it.
    /// @param slotNext first second of its slot that is not booked, Unix seconds
    function chargedUntil(Subscription memory subscription, uint256 atSeconds, uint256 slotNext)
        internal
        pure
        returns (uint256 end)
    {
        end = endAt(subscription, atSeconds);
        if (end < subscription.countedUntil) end = subscription.countedUntil;
        if (end < slotNext) end = slotNext;
        if (end > subscription.fundedUntil) end = subscription.fundedUntil;
    }

    /// @notice Whole periods that are paid for and not charged at that second.
    function periodsAhead(Subscription memory subscription, uint256 atSeconds, uint256 slotNext)
        internal
        pure
        returns (uint256)
    {
        uint256 charged = chargedUntil(subscription, atSeconds, slotNext);
        return (subscription.fundedUntil - charged) / subscription.periodSeconds;
    }

    /// @notice Calls counted in the window that ends at `end`.
    function callsUsedIn(Subscription memory subscription, uint256 end) internal pure returns (uint32) {
        if (end == subscription.countedUntil) return subscription.callsUsed;
        return isPrevious(subscription, end) ? subscription.callsUsedPrevious : 0;
    }

    /// @notice Whether a window that ends at `end` is the one before the counted one.
    function isPrevious(Subscription memory subscription, uint256 end) internal pure returns (bool) {
        return !subscription.isFirst && end + subscription.periodSeconds == subscription.countedUntil;
    }

    /// @notice Whether `end` ends a funded window after the counted one that began, or begins within `earlySeconds`.
    function isAhead(Subscription memory subscription, uint256 end, uint256 earlySeconds) internal view returns (bool) {
        return end > subscription.countedUntil && end <= subscription.fundedUntil
            && (subscription.fundedUntil - end) % subscription.periodSeconds == 0
            && end <= block.timestamp + earlySeconds + subscription.periodSeconds;
    }

    /// @notice Counts in the window that ends at `end` from now on, one after the counted one.
    function moveCountTo(Subscription memory subscription, uint256 end) internal pure {
        bool isNext = end == uint256(subscription.countedUntil) + subscription.periodSeconds;
        subscription.callsUsedPrevious = isNext ? subscription.callsUsed : 0;
        subscription.callsUsed = 0;
        subscription.countedUntil = uint40(end);
        subscription.isFirst = false;
    }

    /// @notice Whether its slot's calendar has it leave at `fundedUntil`: it was paid for beyond its first window.
    function isInCalendar(Subscription memory subscription) internal pure returns (bool) {
        return !(subscription.isFirst && subscription.fundedUntil == subscription.countedUntil);
    }
}
