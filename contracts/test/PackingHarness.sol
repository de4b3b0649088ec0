// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Accounts, PackedAccounts} from "../src/libraries/PackedAccounts.sol";
import {PackedSubscription, Subscription} from "../src/libraries/PackedSubscription.sol";

/// @title The packed words alone, for tests
contract PackingHarness {
    PackedAccounts private _accounts;
    PackedSubscription private _subscription;

    /// @notice Stores the books and returns them as stored.
    function keepAccounts(Accounts calldata accounts) external returns (Accounts memory) {
        _accounts.keep(accounts);
        return _accounts.load();
    }

    /// @notice Stores a subscription and returns it as stored.
    function keepSubscription(Subscription calldata subscription) external returns (Subscription memory) {
        _subscription.keep(subscription);
        return _subscription.load();
    }

    /// @notice Counts calls in what was stored last, and returns what is stored then.
    function count(uint32 calls, uint64 windowExpiresAt)
        external
        returns (bool isCurrent, bool isCounted, uint256 callsUsed, Subscription memory subscription)
    {
        (isCurrent, isCounted, callsUsed) = _subscription.count(calls, windowExpiresAt);
        subscription = _subscription.load();
    }
}
