// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice What anyone may do about a renewal that was not armed or did not come: `poke` and `reap`.
contract RecoveryTest is AccessWindowTest {
    // ---------------------------------------------------------------------------------------------------- poke

    function test_Poke_ArmsAFundedWindowThatHasNoRenewal() external {
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 370});
        _open(4);
        assertEq(_window().schedule, address(0));
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 0});
        _newTransaction();
        access.poke(agent);
        assertTrue(_window().schedule != address(0));
    }

    function test_Poke_GivesUpAnOverdueScheduleAndArmsAnew() external {
        _open(10);
        uint64 expiresAt = _expiresAt();
        address lost = _window().schedule;
        _stallTo(expiresAt + 33);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalReaped(_slotId(), lost, expiresAt);
        access.poke(agent);
        assertEq(_slot(agent).scheduledAt, expiresAt + PERIOD);
        _assertSolvent();
    }

    function test_Poke_DoesNothingWhenThereIsNothingToDo() external {
        access.poke(agent);
        assertFalse(_window().exists);
        _open(4);
        IAccessWindow.Window memory before = _window();
        _newTransaction();
        access.poke(agent);
        assertEq(abi.encode(_window()), abi.encode(before));
    }

    // ---------------------------------------------------------------------------------------------------- reap

    function test_Reap_RevertWhen_NothingIsOverdue() external {
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotOverdue.selector, 0, START));
        access.reap(agent);
        _open(4);
        uint64 expiresAt = _expiresAt();
        _stallTo(expiresAt + 32);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotOverdue.selector, expiresAt, expiresAt + 30)
        );
        access.reap(agent);
    }

    function test_Reap_FreesTheLockOfAnUnpaidExecutionAndArmsAnew() external {
        _open(10);
        uint64 expiresAt = _expiresAt();
        uint256 held = address(access).balance;
        vm.deal(address(access), HBAR); // less than the network holds back
        _passTo(expiresAt + 33);
        assertEq(lastStatus, STATUS_INSUFFICIENT_PAYER_BALANCE);
        vm.deal(address(access), held);
        assertTrue(_window().isOpen, "nobody lost access");
        access.reap(agent);
        assertEq(access.books().reserveTinybar, 100 * HBAR - _lock(), "nothing was spent");
        assertEq(_slot(agent).scheduledAt, expiresAt + PERIOD);
        _assertSolvent();
    }

    function test_Reap_BooksTheGasOfARevertedExecutionFromItsLock() external {
        _open(10);
        uint64 expiresAt = _expiresAt();
        executionGasCap = 5_000;
        _passTo(expiresAt + 33);
        assertEq(lastStatus, STATUS_REVERTED);
        executionGasCap = 0;
        access.reap(agent);
        uint256 burned = lastGasUsed * gasPrice;
        assertEq(access.books().reserveTinybar, 100 * HBAR - burned - _lock());
        assertEq(access.books().shortfallTinybar, 0);
        assertEq(address(access).balance, 110 * HBAR + 20 * HBAR - burned, "I1 holds to the tinybar");
        _assertSolvent();
    }

    function test_Reap_IsHarmlessWhenTheNetworkMakesTheCallAfterAll() external {
        _open(10);
        uint64 expiresAt = _expiresAt();
        _stallTo(expiresAt + 33);
        access.reap(agent);
        assertEq(_slot(agent).scheduledAt, expiresAt + PERIOD);
        uint256 balance = _window(agent).balanceTinybar;
        assertEq(_passTo(expiresAt + 40), 1, "the late one");
        assertEq(lastStatus, STATUS_SUCCESS);
        assertEq(_slot(agent).scheduledAt, expiresAt + PERIOD, "its successor stays armed");
        assertEq(_window(agent).balanceTinybar, balance, "charged once");
        _assertSolvent();
    }
}
