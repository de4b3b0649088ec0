// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice The seller's books in memory, and what is kept beside them because the same functions need it.
/// @param depositsTinybar sum of all subscriptions' balances
/// @param earnedTinybar charged periods not yet withdrawn
/// @param reserveTinybar free gas reserve
/// @param lockedTinybar reserve locked for armed renewals
/// @param refundsTinybar cancelled balances not yet claimed
/// @param shortfallTinybar gas billed beyond what the seller had
/// @param gasPriceHintTinybar gas price that a transaction last showed, tinybar
/// @param areSalesPaused whether new sales are paused
struct Accounts {
    uint64 depositsTinybar;
    uint64 earnedTinybar;
    uint64 reserveTinybar;
    uint64 lockedTinybar;
    uint64 refundsTinybar;
    uint64 shortfallTinybar;
    uint64 gasPriceHintTinybar;
    bool areSalesPaused;
}

/// @notice The books in storage: two words.
struct PackedAccounts {
    uint256 books;
    uint256 rest;
}

using AccountsPacking for PackedAccounts global;

/// @title Two words for the books
/// @notice Reads and writes each word once, as Packing does for a subscription.
library AccountsPacking {
    // books: deposits 64 | earned 64 | reserve 64 | locked 64
    uint256 private constant EARNED = 64;
    uint256 private constant RESERVE = 128;
    uint256 private constant LOCKED = 192;
    // rest: refunds 64 | shortfall 64 | gasPriceHint 64 | flag
    uint256 private constant SHORTFALL = 64;
    uint256 private constant GAS_PRICE_HINT = 128;
    uint256 private constant ARE_SALES_PAUSED = 192;

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
        accounts.areSalesPaused = rest >> ARE_SALES_PAUSED != 0;
    }

    /// @notice Stores the books.
    function keep(PackedAccounts storage packed, Accounts memory accounts) internal {
        packed.books = uint256(accounts.depositsTinybar) | uint256(accounts.earnedTinybar) << EARNED
            | uint256(accounts.reserveTinybar) << RESERVE | uint256(accounts.lockedTinybar) << LOCKED;
        packed.rest = uint256(accounts.refundsTinybar) | uint256(accounts.shortfallTinybar) << SHORTFALL
            | uint256(accounts.gasPriceHintTinybar) << GAS_PRICE_HINT
            | (accounts.areSalesPaused ? 1 << ARE_SALES_PAUSED : 0);
    }
}
