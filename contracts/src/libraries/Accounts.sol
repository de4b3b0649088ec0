// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";

/// @notice The seller's books in memory, and what is kept beside them because the same functions need it.
/// @param depositsTinybar what pays for periods that were not charged yet
/// @param earnedTinybar charged periods not yet withdrawn
/// @param reserveTinybar free gas reserve
/// @param lockedTinybar reserve locked for armed renewals
/// @param refundsTinybar cancelled balances not yet claimed
/// @param shortfallTinybar gas billed beyond what the seller had
/// @param gasPriceHintTinybar gas price that a transaction last showed, tinybar
/// @param areSalesPaused whether new sales are paused
/// @param scheduleCost dollar price of one `scheduleCall`, hundredths of a US cent
/// @param armingFloor least revenue of a scheduled call, percent of what it is expected to cost
struct Accounts {
    uint64 depositsTinybar;
    uint64 earnedTinybar;
    uint64 reserveTinybar;
    uint64 lockedTinybar;
    uint64 refundsTinybar;
    uint64 shortfallTinybar;
    uint64 gasPriceHintTinybar;
    bool areSalesPaused;
    uint16 scheduleCost;
    uint16 armingFloor;
}

/// @notice The books in storage: two words.
struct PackedAccounts {
    uint256 books;
    uint256 rest;
}

using Accounting for PackedAccounts global;
using Accounting for Accounts global;

/// @title The seller's books
/// @notice Five accounts say to whom each tinybar belongs; a sixth, the shortfall, says how much gas the network took that
/// no account of the seller's could pay. Functions load the books into memory, change them, and keep them once.
/// @dev All accounts together never exceed 2^64 - 1 (see `credit`), so that moving value between them cannot overflow.
/// While a shortfall is outstanding, reserve and earnings are zero: both repay it first (see `keep`).
library Accounting {
    // books: deposits 64 | earned 64 | reserve 64 | locked 64
    uint256 private constant EARNED = 64;
    uint256 private constant RESERVE = 128;
    uint256 private constant LOCKED = 192;
    // rest: refunds 64 | shortfall 64 | gasPriceHint 64 | areSalesPaused 1 | scheduleCost 16 | armingFloor 16
    uint256 private constant SHORTFALL = 64;
    uint256 private constant GAS_PRICE_HINT = 128;
    uint256 private constant ARE_SALES_PAUSED = 192;
    uint256 private constant SCHEDULE_COST = 193;
    uint256 private constant ARMING_FLOOR = 209;

    // ------------------------------------------------------------------------------------------- load and keep

    /// @notice The books as stored.
    function load(PackedAccounts storage packed) internal view returns (Accounts memory accounts) {
        (uint256 books, uint256 rest) = (packed.books, packed.rest);
        accounts.depositsTinybar = uint64(books);
        accounts.earnedTinybar = uint64(books >> EARNED);
        accounts.reserveTinybar = uint64(books >> RESERVE);
        accounts.lockedTinybar = uint64(books >> LOCKED);
        accounts.refundsTinybar = uint64(rest);
        accounts.shortfallTinybar = uint64(rest >> SHORTFALL);
        accounts.gasPriceHintTinybar = uint64(rest >> GAS_PRICE_HINT);
        accounts.areSalesPaused = (rest >> ARE_SALES_PAUSED) & 1 != 0;
        accounts.scheduleCost = uint16(rest >> SCHEDULE_COST);
        accounts.armingFloor = uint16(rest >> ARMING_FLOOR);
    }

    /// @notice Repays a shortfall from what the seller has, notes the gas price, and stores. The last thing done to the
    /// books.
    function keep(PackedAccounts storage packed, Accounts memory accounts) internal {
        _repayShortfall(accounts);
        if (tx.gasprice != 0) accounts.gasPriceHintTinybar = _toTinybar(tx.gasprice);
        packed.books = uint256(accounts.depositsTinybar) | uint256(accounts.earnedTinybar) << EARNED
            | uint256(accounts.reserveTinybar) << RESERVE | uint256(accounts.lockedTinybar) << LOCKED;
        packed.rest = uint256(accounts.refundsTinybar) | uint256(accounts.shortfallTinybar) << SHORTFALL
            | uint256(accounts.gasPriceHintTinybar) << GAS_PRICE_HINT
            | (accounts.areSalesPaused ? 1 << ARE_SALES_PAUSED : 0) | uint256(accounts.scheduleCost) << SCHEDULE_COST
            | uint256(accounts.armingFloor) << ARMING_FLOOR;
    }

    // -------------------------------------------------------------------------------------------------- bookings

    /// @notice The value as an amount that fits the books; whoever calls adds it to an account.
    function credit(Accounts memory accounts, uint256 valueTinybar) internal pure returns (uint64) {
        if (valueTinybar > type(uint64).max - _total(accounts)) {
            revert IAccessWindowEvents.AccessWindow_AmountTooLarge(valueTinybar);
        }
        return uint64(valueTinybar);
    }

    /// @notice Moves the price of periods from deposits to earnings.
    function charge(Accounts memory accounts, uint256 amountTinybar) internal pure {
        accounts.depositsTinybar -= uint64(amountTinybar);
        accounts.earnedTinybar += uint64(amountTinybar);
    }

    /// @notice Takes a lock for one renewal from the free reserve, which holds it.
    function lock(Accounts memory accounts, uint256 lockTinybar) internal pure {
        accounts.reserveTinybar -= uint64(lockTinybar);
        accounts.lockedTinybar += uint64(lockTinybar);
    }

    /// @notice Gives a lock back after paying `spentTinybar` of gas from it. What it does not cover comes from the free
    /// reserve, then from earnings, and the rest is owed: never from deposits or refunds (I10).
    function settleGas(Accounts memory accounts, uint64 lockTinybar, uint256 spentTinybar) internal {
        accounts.lockedTinybar -= lockTinybar;
        if (spentTinybar <= lockTinybar) {
            accounts.reserveTinybar += lockTinybar - uint64(spentTinybar);
        } else {
            uint64 room = type(uint64).max - accounts.shortfallTinybar;
            accounts.shortfallTinybar += _atMost(spentTinybar - lockTinybar, room);
        }
        _repayShortfall(accounts);
        if (spentTinybar != 0) {
            emit IAccessWindowEvents.GasCharged(_toTinybar(spentTinybar), accounts.shortfallTinybar);
        }
    }

    /// @notice Books gas that the network took for executions that could not book it themselves (they reverted). Only
    /// where the balance is at rest, never in a scheduled call, in which the network holds back the price of the gas limit.
    function reconcile(Accounts memory accounts, uint64 lockTinybar) internal {
        uint256 due = owed(accounts);
        uint256 missing = due > address(this).balance ? due - address(this).balance : 0;
        settleGas(accounts, lockTinybar, missing);
    }

    // ----------------------------------------------------------------------------------------------------- reads

    /// @notice What the contract should hold at rest, tinybar.
    function owed(Accounts memory accounts) internal pure returns (uint256) {
        uint256 total = _total(accounts);
        return total > accounts.shortfallTinybar ? total - accounts.shortfallTinybar : 0;
    }

    /// @notice The gas price of this transaction, the last one seen where a simulation has none, tinybar.
    function gasPrice(Accounts memory accounts) internal view returns (uint256) {
        return tx.gasprice == 0 ? accounts.gasPriceHintTinybar : _toTinybar(tx.gasprice);
    }

    // ----------------------------------------------------------------------------------------------------- inside

    function _repayShortfall(Accounts memory accounts) private pure {
        if (accounts.shortfallTinybar == 0) return;
        uint64 fromReserve = _atMost(accounts.shortfallTinybar, accounts.reserveTinybar);
        accounts.reserveTinybar -= fromReserve;
        accounts.shortfallTinybar -= fromReserve;
        uint64 fromEarned = _atMost(accounts.shortfallTinybar, accounts.earnedTinybar);
        accounts.earnedTinybar -= fromEarned;
        accounts.shortfallTinybar -= fromEarned;
    }

    function _total(Accounts memory accounts) private pure returns (uint256) {
        return uint256(accounts.depositsTinybar) + accounts.earnedTinybar + accounts.reserveTinybar
            + accounts.lockedTinybar + accounts.refundsTinybar;
    }

    function _toTinybar(uint256 amount) private pure returns (uint64) {
        return _atMost(amount, type(uint64).max);
    }

    function _atMost(uint256 amount, uint64 limit) private pure returns (uint64) {
        return amount < limit ? uint64(amount) : limit;
    }
}
