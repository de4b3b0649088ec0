// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Vm} from "forge-std/Vm.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Every entry of usage is answered by exactly one of UsageRecorded, UsageRefused and UsageLate.
contract UsageLogTest is AccessWindowTest {
    function test_UsageLog_OfAnUnknownAgent() external {
        _assertAnswer(stranger, 1, uint64(START) + PERIOD, IAccessWindowEvents.UsageRefused.selector);
        _assertAnswer(stranger, 1, uint64(START) - 100, IAccessWindowEvents.UsageRefused.selector);
    }

    function test_UsageLog_OfTheCurrentWindow() external {
        _open(1);
        uint64 expiresAt = _expiresAt();
        _assertAnswer(agent, int32(QUOTA), expiresAt, IAccessWindowEvents.UsageRecorded.selector);
        _assertAnswer(agent, 1, expiresAt, IAccessWindowEvents.UsageRefused.selector);
        vm.warp(expiresAt + 61);
        _assertAnswer(agent, 1, expiresAt, IAccessWindowEvents.UsageLate.selector);
    }

    function test_UsageLog_OfThePreviousWindow() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        _passTo(expiresAt + 10);
        _assertAnswer(agent, int32(QUOTA), expiresAt, IAccessWindowEvents.UsageRecorded.selector);
        _assertAnswer(agent, 1, expiresAt, IAccessWindowEvents.UsageRefused.selector);
        assertEq(access.stored(agent).callsUsed, QUOTA, "what was refused is not counted");
        vm.warp(expiresAt + 61);
        _assertAnswer(agent, 1, expiresAt, IAccessWindowEvents.UsageLate.selector);
    }

    function test_UsageLog_OfNoWindow() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        _assertAnswer(agent, 1, expiresAt - 1, IAccessWindowEvents.UsageLate.selector);
        _assertAnswer(agent, 1, expiresAt + 1, IAccessWindowEvents.UsageRefused.selector);
        _assertAnswer(agent, 1, expiresAt + PERIOD, IAccessWindowEvents.UsageRefused.selector);
    }

    function test_UsageLog_OfAWindowAhead() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt - 10);
        vm.recordLogs();
        _record(agent, int32(QUOTA), expiresAt + PERIOD);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1);
        assertEq(logs[0].topics[0], IAccessWindowEvents.UsageRecorded.selector);
    }

    function _assertAnswer(address who, int32 calls, uint64 windowExpiresAt, bytes32 selector) private {
        vm.recordLogs();
        _record(who, calls, windowExpiresAt);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1);
        assertEq(logs[0].topics[0], selector);
    }
}
