// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";
import {Accounts} from "../../src/libraries/PackedAccounts.sol";
import {Subscription} from "../../src/libraries/PackedSubscription.sol";
import {PackingHarness} from "../PackingHarness.sol";

contract PackingTest is Test {
    PackingHarness internal packing;

    function setUp() external {
        packing = PackingHarness(vm.deployCode("PackingHarness.sol:PackingHarness"));
    }

    // ------------------------------------------------------------------------------------------------ accounts

    function testFuzz_Accounts_AreLoadedAsTheyWereKept(Accounts calldata accounts, Accounts calldata older) external {
        packing.keepAccounts(older);
        assertEq(abi.encode(packing.keepAccounts(accounts)), abi.encode(accounts));
    }

    function test_Accounts_KeepEachFieldApartFromTheOthers() external {
        for (uint256 i; i < 8; ++i) {
            uint256[8] memory fields;
            fields[i] = i == 7 ? 1 : type(uint64).max;
            Accounts memory accounts = abi.decode(abi.encode(fields), (Accounts));
            assertEq(abi.encode(packing.keepAccounts(accounts)), abi.encode(accounts));
        }
    }

    // ------------------------------------------------------------------------------------------- subscriptions

    function testFuzz_Subscription_IsLoadedAsItWasKept(Subscription memory subscription, Subscription memory older)
        external
    {
        packing.keepSubscription(_inRange(older));
        _inRange(subscription);
        assertEq(abi.encode(packing.keepSubscription(subscription)), abi.encode(subscription));
    }

    function test_Subscription_KeepsEachFieldApartFromTheOthers() external {
        uint256[13] memory largest = _largest();
        for (uint256 i; i < largest.length; ++i) {
            uint256[13] memory fields;
            fields[i] = largest[i];
            Subscription memory subscription = abi.decode(abi.encode(fields), (Subscription));
            assertEq(abi.encode(packing.keepSubscription(subscription)), abi.encode(subscription));
        }
        Subscription memory all = abi.decode(abi.encode(largest), (Subscription));
        assertEq(abi.encode(packing.keepSubscription(all)), abi.encode(all));
    }

    // --------------------------------------------------------------------------------------------------- count

    function testFuzz_Count_ChangesTheCallsOfTheNamedWindowAndNothingElse(
        Subscription memory subscription,
        uint32 calls,
        uint64 windowExpiresAt,
        bool isNamed
    ) external {
        packing.keepSubscription(_inRange(subscription));
        if (isNamed) windowExpiresAt = subscription.expiresAt;
        (bool isCurrent, bool isCounted, uint256 callsUsed, Subscription memory afterwards) =
            packing.count(calls, windowExpiresAt);
        uint256 sum = uint256(subscription.callsUsed) + calls;
        assertEq(isCurrent, windowExpiresAt == subscription.expiresAt);
        assertEq(isCounted, isCurrent && sum <= subscription.callsAllowed);
        assertEq(callsUsed, isCurrent ? sum : 0);
        if (isCounted) subscription.callsUsed = uint32(sum);
        assertEq(abi.encode(afterwards), abi.encode(subscription));
    }

    function test_Count_TakesTheLastCallOfTheQuotaAndNoMore() external {
        Subscription memory subscription = abi.decode(abi.encode(_largest()), (Subscription));
        subscription.callsUsed = type(uint32).max - 2;
        packing.keepSubscription(subscription);
        (bool isCurrent, bool isCounted, uint256 callsUsed, Subscription memory afterwards) =
            packing.count(3, subscription.expiresAt);
        assertTrue(isCurrent);
        assertFalse(isCounted);
        assertEq(callsUsed, uint256(type(uint32).max) + 1);
        assertEq(abi.encode(afterwards), abi.encode(subscription));
        (isCurrent, isCounted, callsUsed, afterwards) = packing.count(2, subscription.expiresAt);
        assertTrue(isCounted);
        subscription.callsUsed = type(uint32).max;
        assertEq(abi.encode(afterwards), abi.encode(subscription));
    }

    // -------------------------------------------------------------------------------------------------- inside

    /// @dev The largest value of each field that its bits in storage hold, in the order of the struct.
    function _largest() private pure returns (uint256[13] memory) {
        uint256 time = 2 ** 36 - 1;
        uint256 calls = type(uint32).max;
        return [
            time,
            calls,
            calls,
            calls,
            calls,
            type(uint24).max,
            type(uint64).max,
            1,
            type(uint64).max,
            type(uint56).max,
            time,
            time,
            type(uint64).max
        ];
    }

    function _inRange(Subscription memory subscription) private pure returns (Subscription memory) {
        subscription.expiresAt %= 2 ** 36;
        subscription.scheduledAt %= 2 ** 36;
        subscription.previousExpiresAt %= 2 ** 36;
        subscription.periodSeconds %= 2 ** 24;
        subscription.schedule = address(uint160(uint64(uint160(subscription.schedule))));
        return subscription;
    }
}
