// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A subscription in memory. An unknown agent's has `expiresAt` 0.
/// @param expiresAt end of the current window, Unix seconds
/// @param callsAllowed pinned quota of a period
/// @param callsUsed calls counted in the current window
/// @param callsUsedPrevious calls counted in the window before it
/// @param callsAllowedPrevious quota of that window
/// @param periodSeconds pinned period, seconds
/// @param priceTinybar pinned price of a period, tinybar
/// @param isCancelled whether renewals ended
/// @param balanceTinybar what pays for further periods, tinybar
/// @param gasLockTinybar reserve locked for the pending renewal, tinybar
/// @param scheduledAt second of the pending renewal, Unix seconds; 0 when none is pending
/// @param previousExpiresAt end of the window before the current one, Unix seconds; 0 for none
/// @param schedule address of the pending scheduled call; zero when none is pending
struct Subscription {
    uint40 expiresAt;
    uint32 callsAllowed;
    uint32 callsUsed;
    uint32 callsUsedPrevious;
    uint32 callsAllowedPrevious;
    uint32 periodSeconds;
    uint64 priceTinybar;
    bool isCancelled;
    uint64 balanceTinybar;
    uint56 gasLockTinybar;
    uint40 scheduledAt;
    uint40 previousExpiresAt;
    address schedule;
}

/// @notice A subscription in storage: two words. The first is all that metering reads and writes.
struct PackedSubscription {
    uint256 meter;
    uint256 money;
}

using Packing for PackedSubscription global;

/// @title Two words for a subscription
/// @notice Reads and writes each word once, where the compiler's own packing reads a word again for each of its fields.
/// Times are kept in 36 bits (to the year 4147), periods in 24 (194 days), a lock in 56 (720 million HBAR), and of a
/// schedule's address its entity number: it is a long-zero address of shard 0, realm 0.
library Packing {
    // meter: expiresAt 36 | callsAllowed 32 | callsUsed 32 | callsUsedPrevious 32 | callsAllowedPrevious 32 | periodSeconds
    // 24 | price 64 | isCancelled 1
    uint256 private constant CALLS_ALLOWED = 36;
    uint256 private constant CALLS_USED = 68;
    uint256 private constant CALLS_USED_PREVIOUS = 100;
    uint256 private constant CALLS_ALLOWED_PREVIOUS = 132;
    uint256 private constant PERIOD_SECONDS = 164;
    uint256 private constant PRICE_TINYBAR = 188;
    uint256 private constant IS_CANCELLED = 252;
    // money: balance 64 | schedule 64 | gasLock 56 | scheduledAt 36 | previousExpiresAt 36
    uint256 private constant SCHEDULE = 64;
    uint256 private constant GAS_LOCK_TINYBAR = 128;
    uint256 private constant SCHEDULED_AT = 184;
    uint256 private constant PREVIOUS_EXPIRES_AT = 220;
    uint256 private constant TIME_MASK = (1 << 36) - 1;

    /// @notice The subscription as stored.
    function load(PackedSubscription storage packed) internal view returns (Subscription memory subscription) {
        (uint256 meter, uint256 money) = (packed.meter, packed.money);
        subscription.expiresAt = uint40(meter & TIME_MASK);
        subscription.callsAllowed = uint32(meter >> CALLS_ALLOWED);
        subscription.callsUsed = uint32(meter >> CALLS_USED);
        subscription.callsUsedPrevious = uint32(meter >> CALLS_USED_PREVIOUS);
        subscription.callsAllowedPrevious = uint32(meter >> CALLS_ALLOWED_PREVIOUS);
        subscription.periodSeconds = uint24(meter >> PERIOD_SECONDS);
        subscription.priceTinybar = uint64(meter >> PRICE_TINYBAR);
        subscription.isCancelled = meter >> IS_CANCELLED != 0;
        subscription.balanceTinybar = uint64(money);
        subscription.schedule = address(uint160(uint64(money >> SCHEDULE)));
        subscription.gasLockTinybar = uint56(money >> GAS_LOCK_TINYBAR);
        subscription.scheduledAt = uint40((money >> SCHEDULED_AT) & TIME_MASK);
        subscription.previousExpiresAt = uint40(money >> PREVIOUS_EXPIRES_AT);
    }

    /// @notice Stores the subscription.
    function keep(PackedSubscription storage packed, Subscription memory subscription) internal {
        packed.meter = uint256(subscription.expiresAt) | uint256(subscription.callsAllowed) << CALLS_ALLOWED
            | uint256(subscription.callsUsed) << CALLS_USED | uint256(subscription.callsUsedPrevious)
            << CALLS_USED_PREVIOUS | uint256(subscription.callsAllowedPrevious) << CALLS_ALLOWED_PREVIOUS
            | uint256(subscription.periodSeconds) << PERIOD_SECONDS | uint256(subscription.priceTinybar)
            << PRICE_TINYBAR | (subscription.isCancelled ? 1 << IS_CANCELLED : 0);
        packed.money = uint256(subscription.balanceTinybar) | uint256(uint160(subscription.schedule)) << SCHEDULE
            | uint256(subscription.gasLockTinybar) << GAS_LOCK_TINYBAR | uint256(subscription.scheduledAt)
            << SCHEDULED_AT | uint256(subscription.previousExpiresAt) << PREVIOUS_EXPIRES_AT;
    }

    /// @notice Counts calls in the current window, if that is the one named and it has room for all of them.
    /// @param windowExpiresAt end of the window that the calls name, Unix seconds
    /// @return isCurrent whether it is the current window
    /// @return isCounted whether they were counted; otherwise nothing changed
    /// @return callsUsed calls of the window, these included
    function count(PackedSubscription storage packed, uint256 calls, uint256 windowExpiresAt)
        internal
        returns (bool isCurrent, bool isCounted, uint256 callsUsed)
    {
        uint256 meter = packed.meter;
        if (meter & TIME_MASK != windowExpiresAt) return (false, false, 0);
        unchecked {
            callsUsed = uint32(meter >> CALLS_USED) + calls; // both below 2^32
            if (callsUsed > uint32(meter >> CALLS_ALLOWED)) return (true, false, callsUsed);
            packed.meter = meter + (calls << CALLS_USED); // what is used stays below 2^32
        }
        return (true, true, callsUsed);
    }
}
