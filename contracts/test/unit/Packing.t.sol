// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Accounts} from "../../src/libraries/Accounts.sol";
import {Purse} from "../../src/libraries/Purses.sol";
import {Slot} from "../../src/libraries/Slots.sol";
import {Subscription} from "../../src/libraries/Subscriptions.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Each word loads what was kept in it, and no field reaches into another.
contract PackingTest is AccessWindowTest {
    function setUp() public override {
        super.setUp();
        _setGasPrice(0); // which the books would note
    }

    // ------------------------------------------------------------------------------------------------ accounts

    function testFuzz_Accounts_AreLoadedAsTheyWereKept(Accounts memory accounts, Accounts memory older) external {
        (accounts.shortfallTinybar, older.shortfallTinybar) = (0, 0); // which reserve and earnings would repay
        access.keepAccounts(older);
        assertEq(abi.encode(access.keepAccounts(accounts)), abi.encode(accounts));
    }

    function test_Accounts_KeepEachFieldApartFromTheOthers() external {
        uint256 amount = type(uint64).max;
        uint256 percent = type(uint16).max;
        uint256[10] memory largest = [amount, amount, amount, amount, amount, amount, amount, 1, percent, percent];
        for (uint256 i; i < 10; ++i) {
            uint256[10] memory fields;
            fields[i] = largest[i];
            Accounts memory accounts = abi.decode(abi.encode(fields), (Accounts));
            assertEq(abi.encode(access.keepAccounts(accounts)), abi.encode(accounts));
        }
    }

    // ------------------------------------------------------------------------------------------- subscriptions

    function testFuzz_Subscription_IsLoadedAsItWasKept(Subscription memory subscription, Subscription memory older)
        external
    {
        access.keepSubscription(agent, _inRange(older));
        _inRange(subscription);
        assertEq(abi.encode(access.keepSubscription(agent, subscription)), abi.encode(subscription));
    }

    function test_Subscription_KeepsEachFieldApartFromTheOthers() external {
        uint256[11] memory largest = _largest();
        for (uint256 i; i < largest.length; ++i) {
            uint256[11] memory fields;
            fields[i] = largest[i];
            Subscription memory subscription = abi.decode(abi.encode(fields), (Subscription));
            assertEq(abi.encode(access.keepSubscription(agent, subscription)), abi.encode(subscription));
        }
        Subscription memory all = abi.decode(abi.encode(largest), (Subscription));
        assertEq(abi.encode(access.keepSubscription(agent, all)), abi.encode(all));
    }

    // ---------------------------------------------------------------------------------------- purses and slots

    function testFuzz_Purse_IsLoadedAsItWasKept(Purse memory purse, Purse memory older) external {
        (purse.closedAt, older.closedAt) = (purse.closedAt % 2 ** 36, older.closedAt % 2 ** 36);
        access.keepPurse(agent, older);
        assertEq(abi.encode(access.keepPurse(agent, purse)), abi.encode(purse));
    }

    function test_Purse_KeepsEachFieldApartFromTheOthers() external {
        uint256[5] memory largest =
            [type(uint64).max, type(uint64).max, uint256(2 ** 36 - 1), type(uint32).max, type(uint32).max];
        for (uint256 i; i < largest.length; ++i) {
            uint256[5] memory fields;
            fields[i] = largest[i];
            Purse memory purse = abi.decode(abi.encode(fields), (Purse));
            assertEq(abi.encode(access.keepPurse(agent, purse)), abi.encode(purse));
        }
    }

    function testFuzz_Slot_IsLoadedAsItWasKept(Slot memory slot, Slot memory older) external {
        older.id = slot.id;
        access.keepSlot(_inRange(older));
        _inRange(slot);
        assertEq(abi.encode(access.keepSlot(slot)), abi.encode(slot));
    }

    function test_Slot_KeepsEachFieldApartFromTheOthers() external {
        uint256 time = 2 ** 36 - 1;
        uint256[7] memory largest =
            [type(uint256).max, time, type(uint32).max, type(uint64).max, type(uint40).max, time, type(uint48).max];
        for (uint256 i; i < largest.length; ++i) {
            uint256[7] memory fields;
            fields[i] = largest[i];
            Slot memory slot = abi.decode(abi.encode(fields), (Slot));
            assertEq(abi.encode(access.keepSlot(slot)), abi.encode(slot));
        }
    }

    function test_Calendar_KeepsTheChangeOfTheRateAbove32BitsOfLeavers() external {
        _open(3);
        uint256 end = _expiresAt();
        assertEq(access.calendarAt(PERIOD, end), int256(uint256(PRICE)) * 2 ** 32);
        assertEq(access.calendarAt(PERIOD, end + 2 * PERIOD), 1 - int256(uint256(PRICE)) * 2 ** 32);
    }

    /// @dev The contract's own storage begins after the owner and the pending owner.
    function test_Words_HaveNoBitBetweenTheirFields() external {
        Accounts memory accounts;
        accounts.armingFloor = type(uint16).max;
        access.keepAccounts(accounts);
        assertEq(uint256(vm.load(address(access), bytes32(uint256(3)))), uint256(type(uint16).max) << 209);
        Purse memory purse;
        purse.closedAllowed = type(uint32).max;
        access.keepPurse(agent, purse);
        bytes32 word = vm.load(address(access), keccak256(abi.encode(agent, uint256(7))));
        assertEq(uint256(word), uint256(type(uint32).max) << 196);
    }

    // --------------------------------------------------------------------------------------------------- count

    function testFuzz_Count_ChangesTheCallsOfTheNamedWindowAndNothingElse(
        Subscription memory subscription,
        int32 calls,
        uint64 named,
        bool isNamed
    ) external {
        access.keepSubscription(agent, _inRange(subscription));
        if (isNamed) named = subscription.countedUntil;
        (bool isCurrent, bool isCounted, uint32 callsUsed) = access.count(agent, calls, named);
        int256 sum = int256(uint256(subscription.callsUsed)) + calls;
        if (sum < 0) sum = 0;
        assertEq(isCurrent, named == subscription.countedUntil);
        assertEq(isCounted, isCurrent && sum <= int256(uint256(subscription.callsAllowed)));
        if (isCounted) {
            assertEq(int256(uint256(callsUsed)), sum);
            subscription.callsUsed = uint32(uint256(sum));
        }
        assertEq(abi.encode(access.stored(agent)), abi.encode(subscription));
    }

    function test_Count_TakesTheLastCallOfTheQuotaAndNoMore() external {
        Subscription memory subscription = abi.decode(abi.encode(_largest()), (Subscription));
        subscription.callsUsed = type(uint32).max - 2;
        access.keepSubscription(agent, subscription);
        (bool isCurrent, bool isCounted,) = access.count(agent, 3, subscription.countedUntil);
        assertTrue(isCurrent);
        assertFalse(isCounted);
        assertEq(abi.encode(access.stored(agent)), abi.encode(subscription));
        (isCurrent, isCounted,) = access.count(agent, 2, subscription.countedUntil);
        assertTrue(isCounted);
        subscription.callsUsed = type(uint32).max;
        assertEq(abi.encode(access.stored(agent)), abi.encode(subscription));
    }

    // -------------------------------------------------------------------------------------------------- inside

    /// @dev The largest value of each field that its bits in storage hold, in the order of the struct.
    function _largest() private pure returns (uint256[11] memory) {
        uint256 time = 2 ** 36 - 1;
        uint256 calls = type(uint32).max;
        return [time, time, type(uint24).max, calls, calls, calls, calls, 1, 1, 1, uint256(2 ** 29 - 1)];
    }

    function _inRange(Subscription memory subscription) private pure returns (Subscription memory) {
        subscription.fundedUntil %= 2 ** 36;
        subscription.countedUntil %= 2 ** 36;
        subscription.periodSeconds %= 2 ** 24;
        subscription.guardNonce %= 2 ** 29;
        return subscription;
    }

    function _inRange(Slot memory slot) private pure returns (Slot memory) {
        slot.next %= 2 ** 36;
        slot.scheduledAt %= 2 ** 36;
        slot.schedule = address(uint160(uint40(uint160(slot.schedule))));
        return slot;
    }
}
