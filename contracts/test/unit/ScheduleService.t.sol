// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ScheduleBook} from "../../devnet/ScheduleBook.sol";
import {ScheduleService} from "../../devnet/ScheduleService.sol";
import {ScheduleNetwork} from "../ScheduleNetwork.sol";

contract ScheduleServiceTest is ScheduleNetwork {
    uint256 private constant START = 1_795_000_000;

    function setUp() external {
        vm.warp(START);
        _installNetwork();
    }

    function _schedule(uint256 second, uint256 gasLimit) private returns (int64 code, address schedule) {
        _newTransaction();
        return SCHEDULE_SERVICE.scheduleCall(address(this), second, gasLimit, 0, "call");
    }

    function test_ScheduleCall_Answers22AndALongZeroAddressAt1Point41MGasInAll() external {
        uint256 gasBefore = gasleft();
        (int64 code, address schedule) = SCHEDULE_SERVICE.scheduleCall(address(this), START + 60, 1_000_000, 7, "call");
        assertApproxEqAbs(gasBefore - gasleft(), 1_410_000, 6_000);
        assertEq(code, 22);
        assertEq(schedule, address(0x100000));
        ScheduleBook.Schedule memory stored = SCHEDULE_SERVICE.scheduleAt(schedule);
        assertEq(stored.payer, address(this));
        assertEq(stored.valueTinybar, 7);
        assertEq(stored.callData, "call");
        assertEq(uint256(stored.state), uint256(ScheduleBook.State.Pending));
    }

    function test_ScheduleCall_RefusesAsTheNetworkDoes() external {
        (int64 code, address schedule) = SCHEDULE_SERVICE.scheduleCall(address(0), START + 60, 1, 0, "");
        assertEq(code, 16);
        assertEq(schedule, address(0));
        (code,) = _schedule(START + lagSeconds, 1);
        assertEq(code, 307, "consensus time has reached it");
        (code,) = _schedule(START + lagSeconds + 5_356_801, 1);
        assertEq(code, 306);
        (code,) = _schedule(START + lagSeconds + 5_356_800, 1);
        assertEq(code, 22);
        (code,) = _schedule(type(uint256).max, 1);
        assertEq(code, 306);
        (code,) = _schedule(START + 60, type(uint256).max);
        assertEq(code, 370);
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 7});
        (code,) = _schedule(START + 60, 1);
        assertEq(code, 7);
    }

    function test_ScheduleCall_Answers210WithTheAddressOfTheTwin() external {
        (, address first) = _schedule(START + 60, 1);
        (int64 code, address second) = _schedule(START + 60, 1);
        assertEq(code, 210);
        assertEq(second, first);
        SCHEDULE_SERVICE.deleteSchedule(first);
        (code,) = _schedule(START + 60, 1);
        assertEq(code, 22, "a deleted one is no twin");
    }

    function test_ScheduleCall_Answers370WhenTheSecondIsFull() external {
        _schedule(START + 60, 10_000_000);
        assertTrue(SCHEDULE_SERVICE.hasScheduleCapacity(START + 60, 5_000_000));
        assertFalse(SCHEDULE_SERVICE.hasScheduleCapacity(START + 60, 5_000_001));
        assertFalse(SCHEDULE_SERVICE.hasScheduleCapacity(START, 1), "an invalid second has none either");
        assertFalse(SCHEDULE_SERVICE.hasScheduleCapacity(type(uint256).max, 1));
        (int64 code,) = _schedule(START + 60, 5_000_001);
        assertEq(code, 370);
    }

    function test_ScheduleCall_FailsTwiceInATransaction() external {
        SCHEDULE_SERVICE.scheduleCall(address(this), START + 60, 1, 0, "");
        vm.expectRevert(
            abi.encodeWithSelector(ScheduleService.ScheduleService_NoSchedulingAfterRecursion.selector, int64(373))
        );
        SCHEDULE_SERVICE.scheduleCall(address(this), START + 61, 1, 0, "");
    }

    function test_ScheduleCall_EatsAllItGotWhenStarved() external {
        uint256 gasBefore = gasleft();
        (bool isSuccess, bytes memory answer) = address(SCHEDULE_SERVICE).call{gas: 1_300_000}(
            abi.encodeCall(SCHEDULE_SERVICE.scheduleCall, (address(this), START + 60, 1, 0, ""))
        );
        assertFalse(isSuccess);
        assertEq(answer.length, 0);
        assertGe(gasBefore - gasleft(), 1_300_000);
    }

    function test_DeleteSchedule_AnswersAsTheNetworkDoes() external {
        assertEq(SCHEDULE_SERVICE.deleteSchedule(address(0x100000)), 201);
        (, address schedule) = _schedule(START + 60, 15_000_000);
        vm.prank(address(0xBAD));
        assertEq(SCHEDULE_SERVICE.deleteSchedule(schedule), 7);
        assertEq(SCHEDULE_SERVICE.deleteSchedule(schedule), 22);
        assertEq(SCHEDULE_SERVICE.deleteSchedule(schedule), 212);
        assertTrue(SCHEDULE_SERVICE.hasScheduleCapacity(START + 60, 15_000_000), "its room is free again");
        (, schedule) = _schedule(START + 60, 1);
        vm.prank(NETWORK);
        SCHEDULE_SERVICE.markExecuted(schedule, 33);
        assertEq(SCHEDULE_SERVICE.deleteSchedule(schedule), 213);
        assertEq(SCHEDULE_SERVICE.scheduleAt(schedule).status, 33);
        assertEq(SCHEDULE_SERVICE.pendingCount(), 0);
    }

    function test_MarkExecutedAndForget_KeepsNothingOfWhatEnded() external {
        (, address ended) = _schedule(START + 60, 1);
        (, address pending) = _schedule(START + 61, 1);
        (, address due) = _schedule(START + 62, 1);
        SCHEDULE_SERVICE.deleteSchedule(ended);
        address[] memory old = new address[](2);
        (old[0], old[1]) = (ended, pending);
        vm.prank(NETWORK);
        SCHEDULE_SERVICE.markExecutedAndForget(due, 22, old);
        assertEq(SCHEDULE_SERVICE.deleteSchedule(ended), 201, "forgotten");
        assertEq(SCHEDULE_SERVICE.deleteSchedule(due), 213, "ended a moment ago");
        assertEq(SCHEDULE_SERVICE.deleteSchedule(pending), 22, "a pending one stays");
    }

    function test_NextDue_GoesBySecondThenByOrderOfCreation() external {
        (, address third) = _schedule(START + 61, 1);
        (, address first) = _schedule(START + 60, 1);
        (, address second) = _schedule(START + 60, 2);
        address[3] memory expected = [first, second, third];
        (address due,) = SCHEDULE_SERVICE.nextDue(START + 59);
        assertEq(due, address(0));
        for (uint256 i; i < 3; ++i) {
            (due,) = SCHEDULE_SERVICE.nextDue(START + 61);
            assertEq(due, expected[i]);
            vm.prank(NETWORK);
            SCHEDULE_SERVICE.markExecuted(due, 22);
        }
    }

    function test_TheNetworksSide_ObeysNobodyElse() external {
        bytes memory refusal =
            abi.encodeWithSelector(ScheduleService.ScheduleService_NotNetwork.selector, address(this));
        vm.expectRevert(refusal);
        SCHEDULE_SERVICE.markExecuted(address(1), 22);
        vm.expectRevert(refusal);
        SCHEDULE_SERVICE.newTransaction();
        vm.expectRevert(refusal);
        SCHEDULE_SERVICE.configure(0, 0, 0, 0);
    }
}
