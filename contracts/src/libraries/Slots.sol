// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice All subscriptions of one period whose windows end in the same seconds.
/// @param id which: the period above 40 bits, below them the second modulo the period
/// @param next first second that is not booked, Unix seconds
/// @param live subscriptions whose end the calendar still holds
/// @param rateTinybar what the second before `next` charged: the prices of all that renewed in it, tinybar
/// @param schedule address of the pending scheduled call, zero for none
/// @param scheduledAt its second, Unix seconds; 0 for none
/// @param lockTinybar reserve locked for it, tinybar
struct Slot {
    uint256 id;
    uint40 next;
    uint32 live;
    uint64 rateTinybar;
    address schedule;
    uint40 scheduledAt;
    uint48 lockTinybar;
}

/// @notice Renewals of one subscription.
/// @param from second of the first, Unix seconds
/// @param to second in which what is paid for ends, a period after the last, Unix seconds
/// @param priceTinybar price of each, tinybar
/// @param isInCalendar whether the calendar has the subscription leave at `from`, before they are added or once they are
/// taken away
struct Span {
    uint40 from;
    uint40 to;
    uint64 priceTinybar;
    bool isInCalendar;
}

/// @notice All slots in storage: one word each, and the calendar, whose keys are a period above 40 bits and a second.
struct SlotBook {
    mapping(uint256 slotId => uint256 word) words;
    mapping(uint256 key => int256 change) calendar;
}

using Slots for SlotBook global;
using Slots for Slot global;

/// @title Renewing many for the price of one
/// @notice A subscription stands in the calendar twice: at the second of its first renewal its price is added, and at the
/// second in which what it paid for ends it is taken away. Booking a second changes the slot's rate by what the calendar
/// says and charges the rate: the same work for one subscription as for a thousand.
/// @dev Sums of prices fit 64 bits: what a second charges was part of the deposits. A schedule's address is kept as its
/// entity number, a long-zero address of shard 0, realm 0.
library Slots {
    // next 36 | live 32 | rate 64 | schedule 40 | scheduledAt 36 | lock 48
    uint256 private constant LIVE = 36;
    uint256 private constant RATE = 68;
    uint256 private constant SCHEDULE = 132;
    uint256 private constant SCHEDULED_AT = 172;
    uint256 private constant LOCK = 208;
    uint256 private constant TIME_MASK = (1 << 36) - 1;
    /// @dev Largest entity number of a schedule that fits.
    uint256 internal constant SCHEDULE_MAX = (1 << 40) - 1;
    uint256 private constant PERIOD = 40;
    // one entry of the calendar: change of the rate, signed | subscriptions that leave 32
    uint256 private constant RATE_CHANGE = 32;
    /// @dev How long after its second a schedule counts as lost, seconds: the network executes within one second, and
    /// `block.timestamp` may be 2 s early.
    uint256 internal constant OVERDUE_SECONDS = 30;
    /// @dev Seconds booked whatever gas is left: a call that was armed for the second after the next books two.
    uint256 private constant BOOKED_ALWAYS = 8;

    // ------------------------------------------------------------------------------------------- load and keep

    /// @notice The slot in which windows of that period end at that second.
    function idOf(uint256 periodSeconds, uint256 second) internal pure returns (uint256) {
        return periodSeconds << PERIOD | second % periodSeconds;
    }

    /// @notice The slot as stored.
    function load(SlotBook storage book, uint256 slotId) internal view returns (Slot memory slot) {
        uint256 word = book.words[slotId];
        slot.id = slotId;
        slot.next = uint40(word & TIME_MASK);
        slot.live = uint32(word >> LIVE);
        slot.rateTinybar = uint64(word >> RATE);
        slot.schedule = address(uint160((word >> SCHEDULE) & SCHEDULE_MAX));
        slot.scheduledAt = uint40((word >> SCHEDULED_AT) & TIME_MASK);
        slot.lockTinybar = uint48(word >> LOCK);
    }

    /// @notice Stores the slot.
    function keep(SlotBook storage book, Slot memory slot) internal {
        book.words[slot.id] = uint256(slot.next) | uint256(slot.live) << LIVE | uint256(slot.rateTinybar) << RATE
            | uint256(uint160(slot.schedule)) << SCHEDULE | uint256(slot.scheduledAt) << SCHEDULED_AT
            | uint256(slot.lockTinybar) << LOCK;
    }

    function periodOf(Slot memory slot) internal pure returns (uint256) {
        return slot.id >> PERIOD;
    }

    /// @notice Whether the network should have executed the pending call long ago.
    function isOverdue(Slot memory slot) internal view returns (bool) {
        return slot.schedule != address(0) && block.timestamp > slot.scheduledAt + OVERDUE_SECONDS;
    }

    /// @notice How many of its seconds have passed and are not booked.
    function missedSeconds(Slot memory slot) internal view returns (uint256) {
        if (slot.live == 0 || slot.next > block.timestamp) return 0;
        return (block.timestamp - slot.next) / slot.periodOf() + 1;
    }

    /// @notice Forgets the pending call; whoever calls has settled its lock.
    function clearSchedule(Slot memory slot) internal pure {
        slot.schedule = address(0);
        slot.scheduledAt = 0;
        slot.lockTinybar = 0;
    }

    // ------------------------------------------------------------------------------------------------- booking

    /// @notice Books the seconds up to `upTo`: the first few whatever gas is left, others while more than `gasToKeep` is.
    /// A slot that nobody is in has none.
    /// @return periods how many seconds were booked
    /// @return chargedTinybar what they charged in all, tinybar
    function bookUpTo(SlotBook storage book, Slot memory slot, uint256 upTo, uint256 gasToKeep)
        internal
        returns (uint256 periods, uint256 chargedTinybar)
    {
        uint256 periodSeconds = slot.periodOf();
        uint256 second = slot.next;
        uint256 rate = slot.rateTinybar;
        while (second <= upTo && slot.live != 0 && (periods < BOOKED_ALWAYS || gasleft() > gasToKeep)) {
            uint256 key = periodSeconds << PERIOD | second;
            int256 change = book.calendar[key];
            if (change != 0) {
                rate = uint256(int256(rate) + (change >> RATE_CHANGE));
                slot.live -= uint32(uint256(change));
                delete book.calendar[key];
            }
            chargedTinybar += rate;
            ++periods;
            second += periodSeconds;
        }
        slot.next = uint40(second);
        slot.rateTinybar = uint64(rate);
    }

    /// @notice What that second will charge if the one before it charges `rateTinybar`, tinybar.
    function revenueAt(SlotBook storage book, Slot memory slot, uint256 second, uint256 rateTinybar)
        internal
        view
        returns (uint256)
    {
        int256 change = book.calendar[slot.periodOf() << PERIOD | second];
        return uint256(int256(rateTinybar) + (change >> RATE_CHANGE));
    }

    // ------------------------------------------------------------------------------------------------ calendar

    /// @notice Enters renewals from `span.from` on into the calendar.
    /// @return bookedTinybar what is to be charged at once, tinybar: the network's call books a second up to 2 s before
    /// `block.timestamp` shows it, and a renewal of that second would come too late for the calendar
    function extend(SlotBook storage book, Slot memory slot, Span memory span)
        internal
        returns (uint256 bookedTinybar)
    {
        if (slot.live == 0) _skipToPresent(slot, span.from);
        uint256 start = span.from;
        bool isInCalendar = span.isInCalendar;
        if (start < slot.next) {
            start = span.to < slot.next ? span.to : slot.next;
            bookedTinybar = (start - span.from) / slot.periodOf() * span.priceTinybar;
            if (span.to < slot.next) return bookedTinybar;
            isInCalendar = false; // it left with the second that was booked
        }
        if (!isInCalendar) ++slot.live;
        int256 price = int256(uint256(span.priceTinybar));
        _change(book, slot, start, price, isInCalendar ? -1 : int256(0));
        _change(book, slot, span.to, -price, 1);
    }

    /// @notice Takes renewals from `span.from` on out of the calendar. None of them is booked.
    function shorten(SlotBook storage book, Slot memory slot, Span memory span) internal {
        int256 price = int256(uint256(span.priceTinybar));
        _change(book, slot, span.to, price, -1);
        _change(book, slot, span.from, -price, span.isInCalendar ? int256(1) : int256(0));
        if (!span.isInCalendar) --slot.live;
    }

    /// @dev Nobody is here: seconds that have passed have nothing to book.
    function _skipToPresent(Slot memory slot, uint256 second) private view {
        uint256 periodSeconds = slot.periodOf();
        uint256 first = second - (second - 1 - block.timestamp) / periodSeconds * periodSeconds;
        if (slot.next < first) slot.next = uint40(first);
    }

    function _change(SlotBook storage book, Slot memory slot, uint256 second, int256 rateChange, int256 leavers)
        private
    {
        book.calendar[slot.periodOf() << PERIOD | second] += (rateChange << RATE_CHANGE) + leavers;
    }
}
