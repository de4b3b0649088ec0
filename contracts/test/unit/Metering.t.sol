// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

contract MeteringTest is AccessWindowTest {
    // --------------------------------------------------------------------------------------------- recordUsage

    function test_RecordUsage_RevertWhen_TheSenderIsNotARecorder() external {
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotRecorder.selector, owner));
        vm.prank(owner);
        access.recordUsage(agent, 1, 0);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotRecorder.selector, owner));
        vm.prank(owner);
        access.recordUsageBatch(new bytes32[](0));
    }

    function test_RecordUsage_RefusesAnUnknownAgent() external {
        _expectRefused(agent, 0, 3);
        _record(agent, 3, 0);
        _expectRefused(agent, uint64(START) + PERIOD, 3);
        _record(agent, 3, uint64(START) + PERIOD);
        assertFalse(_window().exists);
    }

    function test_RecordUsage_CountsUpToTheQuotaAndRefusesAnEntryBeyondItAsAWhole() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        _expectRecorded(agent, expiresAt, QUOTA - 2);
        _record(agent, int32(QUOTA) - 2, expiresAt);
        _expectRefused(agent, expiresAt, 3);
        _record(agent, 3, expiresAt);
        assertEq(_window().callsUsed, QUOTA - 2);
        _record(agent, 2, expiresAt);
        _expectRefused(agent, expiresAt, type(int32).max);
        _record(agent, type(int32).max, expiresAt);
        assertEq(_window().callsUsed, QUOTA);
    }

    function test_RecordUsage_CountsUntil60SecondsAfterTheEndAndIsLateAfterThat() external {
        _open(1);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt + 60);
        _expectRecorded(agent, expiresAt, 5);
        _record(agent, 5, expiresAt);
        vm.warp(expiresAt + 61);
        _expectLate(agent, expiresAt, 5);
        _record(agent, 5, expiresAt);
        assertEq(access.stored(agent).callsUsed, 5);
    }

    function test_RecordUsage_CountsThePreviousWindowAgainstItsOwnQuota() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        _record(agent, int32(QUOTA) - 1, expiresAt);
        _passTo(expiresAt + 30);
        assertEq(_window().callsUsed, 0, "the renewal refills the quota");
        _expectRecorded(agent, expiresAt, QUOTA);
        _record(agent, 1, expiresAt);
        _expectRefused(agent, expiresAt, 1);
        _record(agent, 1, expiresAt);
        vm.warp(expiresAt + 61);
        _expectLate(agent, expiresAt, 1);
        _record(agent, 1, expiresAt);
        assertEq(_window().callsUsed, 0);
    }

    function test_RecordUsage_CountsThePreviousWindowOfAReopenedSubscriptionOnItsOldTerms() external {
        _open(1);
        uint64 expiresAt = _expiresAt();
        _record(agent, int32(QUOTA) - 1, expiresAt);
        vm.warp(expiresAt + 20);
        _setOffer(HBAR, 50, 3);
        _open(stranger, agent, HBAR);
        assertEq(access.purseOf(agent).closedAt, expiresAt);
        _expectRecorded(agent, expiresAt, QUOTA);
        _record(agent, 1, expiresAt);
        assertEq(_window().callsUsed, 0);
        assertEq(_window().callsAllowed, 3);
    }

    function test_RecordUsage_CountsInTheNextWindowFrom10SecondsBeforeItsStart() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        _record(agent, 9, expiresAt);
        vm.warp(expiresAt - 11);
        _expectRefused(agent, expiresAt + PERIOD, 4);
        _record(agent, 4, expiresAt + PERIOD);

        vm.warp(expiresAt - 10);
        _expectRecorded(agent, expiresAt + PERIOD, 4);
        _record(agent, 4, expiresAt + PERIOD);
        assertEq(access.stored(agent).countedUntil, expiresAt + PERIOD);
        IAccessWindow.Window memory before = access.windowOf(agent, expiresAt - 1);
        assertEq(before.expiresAt, expiresAt, "until its end the old window shows");
        assertEq(before.callsUsed, 9);
        IAccessWindow.Window memory afterwards = access.windowOf(agent, expiresAt);
        assertEq(afterwards.expiresAt, expiresAt + PERIOD);
        assertEq(afterwards.callsUsed, 4);

        assertEq(_passTo(expiresAt + 1), 1, "the call for the old end still comes");
        vm.warp(expiresAt);
        assertEq(_window(agent).balanceTinybar, PRICE, "charges nothing twice");
        assertEq(_slot(agent).scheduledAt, expiresAt + PERIOD, "and arms the successor");
    }

    function test_RecordUsage_CountsInAProjectedWindowAfterMissedRenewals() external {
        _open(5);
        uint64 expiresAt = _expiresAt();
        _stallTo(expiresAt + 2 * PERIOD + 100);
        _expectRecorded(agent, expiresAt + 3 * PERIOD, 6);
        _record(agent, 6, expiresAt + 3 * PERIOD);
        assertEq(_window(agent).balanceTinybar, PRICE);
        assertEq(_window().callsUsed, 6);
    }

    function test_RecordUsage_GivesAMissedWindowAQuotaOfItsOwn() external {
        _open(5);
        uint64 expiresAt = _expiresAt();
        _record(agent, int32(QUOTA), expiresAt);
        vm.warp(expiresAt + PERIOD + 5);
        access.renew(_slotId(), expiresAt);
        _expectRecorded(agent, expiresAt + PERIOD, QUOTA);
        _record(agent, int32(QUOTA), expiresAt + PERIOD);
    }

    function test_RecordUsage_RefusesTheNextWindowWhenItIsNotFundedOrCancelled() external {
        _open(1);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt - 5);
        _expectRefused(agent, expiresAt + PERIOD, 1);
        _record(agent, 1, expiresAt + PERIOD);
        _open(2);
        _cancel(agent);
        _expectRefused(agent, expiresAt + PERIOD, 1);
        _record(agent, 1, expiresAt + PERIOD);
        assertEq(_window(agent).expiresAt, expiresAt);
    }

    function test_RecordUsage_IsLateForThePastAndRefusedForTheFutureWhenNoWindowEndsThere() external {
        _open(5);
        uint64 expiresAt = _expiresAt();
        _expectLate(agent, uint64(START) - 10, 1);
        _record(agent, 1, uint64(START) - 10);
        _expectRefused(agent, expiresAt + 1, 1);
        _record(agent, 1, expiresAt + 1);
        _expectRefused(agent, type(uint64).max, 1);
        _record(agent, 1, type(uint64).max);
    }

    function testFuzz_RecordUsage_NeverRevertsAndNeverExceedsTheQuota(int32[8] memory calls, uint64[8] memory ends)
        external
    {
        _open(4);
        uint64 expiresAt = _expiresAt();
        for (uint256 i; i < calls.length; ++i) {
            vm.warp(block.timestamp + ends[i] % 700);
            _record(agent, calls[i] % 1_500, i % 3 == 0 ? ends[i] : expiresAt + (ends[i] % 3) * PERIOD);
            assertLe(access.stored(agent).callsUsed, QUOTA);
            assertLe(access.stored(agent).callsUsedPrevious, QUOTA);
        }
        _assertSolvent();
    }

    function test_A18_ANegativeNumberGivesBackDownToNone() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        _record(agent, 50, expiresAt);
        _expectRecorded(agent, expiresAt, 21);
        _record(agent, -29, expiresAt);
        _expectRecorded(agent, expiresAt, 0);
        _record(agent, -22, expiresAt);
        _expectRecorded(agent, expiresAt, QUOTA);
        _record(agent, int32(QUOTA), expiresAt);
        _expectRecorded(agent, expiresAt, 0);
        _record(agent, type(int32).min, expiresAt);
        assertEq(_window().callsUsed, 0);
    }

    // ---------------------------------------------------------------------------------------- recordUsageBatch

    function test_RecordUsageBatch_RecordsEachEntryAndNeverRevertsForOne() external {
        address other = makeAddr("other");
        _open(2);
        _open(stranger, other, PRICE);
        uint64 expiresAt = _expiresAt();
        bytes32[] memory usages = new bytes32[](5);
        usages[0] = _usage(agent, 3, expiresAt);
        usages[1] = _usage(address(0), 1, expiresAt);
        usages[2] = _usage(other, int32(QUOTA) + 1, expiresAt);
        usages[3] = _usage(other, 4, expiresAt);
        usages[4] = bytes32(type(uint256).max); // one call given back, by nobody
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRecorded(agent, expiresAt, 3);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(address(0), expiresAt, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(other, expiresAt, int32(QUOTA) + 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRecorded(other, expiresAt, 4);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(address(type(uint160).max), type(uint64).max, -1);
        vm.prank(recorder);
        access.recordUsageBatch(usages);
        assertEq(_window().callsUsed, 3);
        assertEq(_window(other).callsUsed, 4);
    }

    // -------------------------------------------------------------------------------------------------- inside

    function _usage(address who, int32 calls, uint64 windowExpiresAt) private pure returns (bytes32) {
        return bytes32(uint256(uint160(who)) << 96 | uint256(uint32(calls)) << 64 | windowExpiresAt);
    }
}
