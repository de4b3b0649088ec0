// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice A receiver that claims again from inside the payment.
contract Reentrant {
    IAccessWindow private immutable ACCESS;
    bool public hasTriedAgain;
    bool public hasSucceededAgain;

    constructor(IAccessWindow access) {
        ACCESS = access;
    }

    function cancelAndClaim() external {
        ACCESS.cancel();
        ACCESS.claimRefund(payable(address(this)));
    }

    receive() external payable {
        hasTriedAgain = true;
        try ACCESS.claimRefund(payable(address(this))) {
            hasSucceededAgain = true;
        } catch {}
    }
}

/// @notice A subscription's balance: what adds to it (`topUp`), and what gives it back (`cancel`, `claimRefund`).
contract BalancesTest is AccessWindowTest {
    // --------------------------------------------------------------------------------------------------- topUp

    function test_TopUp_RevertWhen_TheValueIsZero() external {
        _open(1);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_WrongValue.selector, 0, uint256(PRICE)));
        access.topUp(agent);
    }

    function test_TopUp_RevertWhen_NoWindowIsOpen() external {
        bytes memory refusal = abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NoOpenWindow.selector, agent);
        vm.startPrank(stranger);
        vm.expectRevert(refusal);
        access.topUp{value: 1}(agent);
        access.open{value: PRICE}(agent);
        vm.warp(block.timestamp + PERIOD);
        vm.expectRevert(refusal);
        access.topUp{value: 1}(agent);
    }

    function test_TopUp_RevertWhen_Cancelled() external {
        _open(1);
        _cancel(agent);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NoOpenWindow.selector, agent));
        vm.prank(stranger);
        access.topUp{value: PRICE}(agent);
    }

    function test_TopUp_TakesAnyAmountFromAnyoneAndArmsWhatIsFundedNow() external {
        _open(1);
        _topUp(stranger, agent, PRICE - 1);
        assertEq(_window().schedule, address(0));
        _topUp(agent, agent, 1);
        assertTrue(_window().schedule != address(0));
        assertEq(_window().periodsFunded, 1);
    }

    // -------------------------------------------------------------------------------------------------- cancel

    function test_Cancel_RevertWhen_ThereIsNothingToCancel() external {
        bytes memory refusal = abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NothingToCancel.selector, agent);
        vm.expectRevert(refusal);
        vm.prank(agent);
        access.cancel();
        _open(2);
        _cancel(agent);
        vm.expectRevert(refusal);
        vm.prank(agent);
        access.cancel();
    }

    function test_Cancel_LeavesTheWindowOpenAndTheBalanceClaimableAlsoOfAGift() external {
        _open(stranger, agent, 4 * PRICE);
        _cancel(agent);
        IAccessWindow.Window memory window = _window();
        assertTrue(window.isOpen);
        assertTrue(window.isCancelled);
        assertEq(window.balanceTinybar, 0);
        assertEq(window.schedule, address(0));
        assertEq(access.refundOf(agent), 3 * PRICE);
        assertEq(_passTo(window.expiresAt + 10), 1, "the call that was armed for the slot still comes");
        assertEq(lastStatus, STATUS_SUCCESS);
        assertEq(access.books().earnedTinybar, PRICE, "charges nobody");
        assertEq(access.books().lockedTinybar, 0, "and frees the lock");
        assertEq(SCHEDULE_SERVICE.pendingCount(), 0, "and arms nothing");
        assertFalse(_window().isOpen);
        _assertSolvent();
    }

    function test_Cancel_LeavesTheSlotToOthers() external {
        _open(4);
        _open(stranger, stranger, 4 * PRICE);
        uint64 end = _expiresAt();
        _passTo(end);
        _cancel(agent);
        assertEq(access.refundOf(agent), 2 * PRICE);
        assertEq(_window().expiresAt, end + PERIOD);
        assertEq(_window().schedule, address(0));
        assertTrue(_window(stranger).schedule != address(0));
        _passTo(end + PERIOD);
        assertFalse(_window().isOpen);
        assertEq(access.books().earnedTinybar, 5 * PRICE);
        assertEq(access.books().depositsTinybar, PRICE);
        _assertSolvent();
    }

    // --------------------------------------------------------------------------------------------- claimRefund

    function test_ClaimRefund_RevertWhen_NothingIsClaimable() external {
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NothingToClaim.selector, agent));
        vm.prank(agent);
        access.claimRefund(payable(agent));
    }

    function test_ClaimRefund_RevertWhen_TheReceiverRefusesOrIsZero() external {
        _open(2);
        _cancel(agent);
        address payable[2] memory receivers = [payable(address(0)), payable(address(access))];
        for (uint256 i; i < receivers.length; ++i) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    IAccessWindowEvents.AccessWindow_TransferFailed.selector, receivers[i], uint256(PRICE)
                )
            );
            vm.prank(agent);
            access.claimRefund(receivers[i]);
        }
        assertEq(access.refundOf(agent), PRICE);
    }

    function test_ClaimRefund_PaysOnceWhenTheReceiverCallsBack() external {
        Reentrant reentrant = new Reentrant(access);
        _open(stranger, address(reentrant), 3 * PRICE);
        _open(3);
        _cancel(agent);
        _newTransaction();
        reentrant.cancelAndClaim();
        assertTrue(reentrant.hasTriedAgain());
        assertFalse(reentrant.hasSucceededAgain());
        assertEq(address(reentrant).balance, 2 * PRICE);
        assertEq(access.books().refundsTinybar, 2 * PRICE, "the other agent's refund is whole");
        _assertSolvent();
    }

    function test_ClaimRefund_PaysTheRefund() external {
        _open(3);
        _cancel(agent);
        address payable to = payable(makeAddr("to"));
        vm.prank(agent);
        access.claimRefund(to);
        assertEq(to.balance, 2 * PRICE);
        assertEq(access.books().refundsTinybar, 0);
        _assertSolvent();
    }
}
