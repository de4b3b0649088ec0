// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Vm} from "forge-std/Vm.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {IScheduleService} from "../../src/interfaces/IScheduleService.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice A receiver that reports when value arrives.
contract Receiver {
    event Received();

    receive() external payable {
        emit Received();
    }
}

/// @notice What comes first: rights before all else, a known payment before its terms, events before value leaves, and the
/// gas to finish before anything is asked of the schedule service.
contract OrderTest is AccessWindowTest {
    // ------------------------------------------------------------------------------------------------- refusals

    function test_Order_ASenderWithoutTheRightLearnsNothingElse() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        purchase.offerId = 9;
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotForwarder.selector, stranger));
        vm.prank(stranger);
        access.openPaid(purchase);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, stranger));
        vm.prank(stranger);
        access.renounceOwnership();
    }

    function test_Order_AKnownPaymentIsSaidToBeUsedWhateverItsOfferIsByNow() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        _openPaid(purchase, PRICE);
        vm.warp(START + 1_000);
        _setOffer(2 * HBAR, 60, 5);
        purchase.paidAtSeconds = uint64(START) + 5_000;
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_PaymentAlreadyUsed.selector, purchase.paymentReference
            )
        );
        vm.prank(forwarder);
        access.openPaid{value: PRICE}(purchase);
    }

    function test_Order_APaymentOutOfRangeIsSaidToBeWhateverItsOffer() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        purchase.offerId = 9;
        purchase.paidAtSeconds = uint64(START) + 301;
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_PaidAtOutOfRange.selector, purchase.paidAtSeconds, START
            )
        );
        vm.prank(forwarder);
        access.openPaid{value: PRICE}(purchase);
    }

    function test_Order_NothingIsNoTopUpOfAnything() external {
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_WrongValue.selector, 0, uint256(PRICE)));
        access.topUp(agent);
    }

    function test_Order_ARenewalThatIsNotDueNeedsNoGas() external {
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 370});
        _open(4);
        uint256 slotId = _slotId();
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotDue.selector, START + PERIOD, START));
        access.renew{gas: 1_300_000}(slotId, uint64(START) + PERIOD);
    }

    // --------------------------------------------------------------------------------------------------- events

    function test_Order_EventsComeBeforeTheValueLeaves() external {
        address payable receiver = payable(new Receiver());
        _open(3);
        _cancel(agent);
        vm.recordLogs();
        vm.startPrank(owner);
        access.withdrawReserve(receiver, 1);
        access.withdrawEarnings(receiver, 1);
        vm.stopPrank();
        vm.prank(agent);
        access.claimRefund(receiver);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        bytes32[3] memory events = [
            IAccessWindowEvents.ReserveWithdrawn.selector,
            IAccessWindowEvents.EarningsWithdrawn.selector,
            IAccessWindowEvents.RefundClaimed.selector
        ];
        assertEq(logs.length, 6);
        for (uint256 i; i < 3; ++i) {
            assertEq(logs[2 * i].topics[0], events[i]);
            assertEq(logs[2 * i + 1].topics[0], Receiver.Received.selector);
        }
    }

    function test_Order_AReapBooksTheGasThenGivesUpThenRenewsThenArms() external {
        _open(10);
        uint64 expiresAt = _expiresAt();
        executionGasCap = 5_000;
        _passTo(expiresAt + 33);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(uint64(lastGasUsed * gasPrice), 0);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalReaped(_slotId(), address(0x100000), expiresAt);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(_slotId(), expiresAt + PERIOD, 1, 1, PRICE, false);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalArmed(_slotId(), address(0x100001), expiresAt + PERIOD, _lock());
        access.reap(agent);
    }

    // ------------------------------------------------------------------------------------------------------ gas

    function test_Order_WhoeverCanSendMoreGasIsToldSoBeforeAnythingIsDone() external {
        _open(1);
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 370});
        _topUp(stranger, agent, 3 * PRICE);
        vm.startPrank(stranger);
        _assertNeedsGas(abi.encodeCall(IAccessWindow.topUp, (agent)), PRICE);
        _assertNeedsGas(abi.encodeCall(IAccessWindow.open, (agent)), PRICE);
        _assertNeedsGas(abi.encodeCall(IAccessWindow.poke, (agent)), 0);
        _assertNeedsGas(abi.encodeCall(IAccessWindow.renew, (_slotId(), uint64(START))), 0);
    }

    function test_Order_TheDocumentedGasLimitIsEnough() external {
        vm.startPrank(stranger);
        access.open{gas: 1_970_000, value: 2 * PRICE}(agent); // of 2,000,000, less what a transaction costs by itself
        assertTrue(_window().schedule != address(0));
        access.topUp{gas: 1_970_000, value: PRICE}(agent);
        vm.stopPrank();
        _newTransaction();
        _stallTo(_expiresAt() + 33);
        access.reap{gas: 1_970_000}(agent);
        assertEq(_slot(agent).scheduledAt, _window(agent).expiresAt);
    }

    function test_Order_NoGasIsNeededWhereTheReserveArmsNothing() external {
        access = _deploy({reserve: 0});
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, 0);
        vm.prank(stranger);
        access.open{gas: 300_000, value: 2 * PRICE}(agent);
    }

    function test_Order_TheNetworksCallRenewsWithTooLittleGasToArm() external {
        _open(4);
        uint64 expiresAt = _expiresAt();
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotId(), expiresAt + PERIOD, -1);
        uint256 slotId = _slotId();
        vm.prank(address(access), address(access));
        access.renew{gas: 1_000_000}(slotId, expiresAt);
        assertEq(_slot().next, expiresAt + PERIOD);
        assertEq(access.books().earnedTinybar, 2 * PRICE);
    }

    function test_Order_ABusyNetworkIsNotAskedToSchedule() external {
        _configure({gasPerSecond: 1, createGas: 0, forcedCode: 0});
        vm.expectCall(address(SCHEDULE_SERVICE), abi.encodeWithSelector(IScheduleService.scheduleCall.selector), 0);
        vm.expectCall(
            address(SCHEDULE_SERVICE), abi.encodeWithSelector(IScheduleService.hasScheduleCapacity.selector), 8
        );
        _open(4);
    }

    function _assertNeedsGas(bytes memory callData, uint256 value) private {
        (bool isSuccess, bytes memory answer) = address(access).call{gas: 1_300_000, value: value}(callData);
        assertFalse(isSuccess);
        assertEq(bytes4(answer), IAccessWindowEvents.AccessWindow_InsufficientGas.selector);
    }
}
