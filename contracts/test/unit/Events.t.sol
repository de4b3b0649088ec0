// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Vm} from "forge-std/Vm.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Every change of state says so, once, and in the order in which it happened.
contract EventsTest is AccessWindowTest {
    // ------------------------------------------------------------------------------------------------- seller

    function test_Events_OfADeployment() external {
        vm.recordLogs();
        access = _deploy({reserve: 5 * HBAR});
        bytes32[] memory expected = new bytes32[](5);
        expected[0] = Ownable.OwnershipTransferred.selector;
        expected[1] = IAccessWindowEvents.OfferSet.selector;
        expected[2] = IAccessWindowEvents.ForwarderSet.selector;
        expected[3] = IAccessWindowEvents.RecorderSet.selector;
        expected[4] = IAccessWindowEvents.ReserveFunded.selector;
        _assertLogged(expected);
    }

    function test_Events_OfTheSellersSwitches() external {
        vm.startPrank(owner);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SalesPaused(true);
        access.pauseSales(true);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SalesPaused(false);
        access.pauseSales(false);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.ArmingSet(2_400, 150);
        access.setArming(2_400, 150);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.ForwarderSet(stranger, true);
        access.setForwarder(stranger, true);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.ForwarderSet(stranger, false);
        access.setForwarder(stranger, false);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RecorderSet(stranger, true);
        access.setRecorder(stranger, true);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RecorderSet(stranger, false);
        access.setRecorder(stranger, false);
    }

    function test_Events_OfWithdrawals() external {
        _open(1);
        vm.startPrank(owner);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.ReserveWithdrawn(owner, 3);
        access.withdrawReserve(payable(owner), 3);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.EarningsWithdrawn(owner, 4);
        access.withdrawEarnings(payable(owner), 4);
    }

    function test_Events_OfASkimThatFindsNothing() external {
        vm.recordLogs();
        access.skim();
        assertEq(vm.getRecordedLogs().length, 0, "neither Skimmed nor GasCharged");
    }

    function test_Events_OfASkimThatBooksGas() external {
        vm.deal(address(access), address(access).balance - 2 * HBAR);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(2 * HBAR, 0);
        access.skim();
    }

    // --------------------------------------------------------------------------------------------- purchases

    function test_Events_OfAPaidPurchase() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 2);
        uint64 expiresAt = uint64(START) + PERIOD;
        uint256 slotId = _slotAt(START);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.PaymentConsumed(purchase.paymentReference, agent, 3 * PRICE);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRecorded(agent, expiresAt, 2);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalArmed(slotId, address(0x100000), expiresAt, _lock());
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionOpened(
            agent, forwarder, expiresAt, 0, 2 * PRICE, slotId, address(0x100000), expiresAt
        );
        _openPaid(purchase, 3 * PRICE);
    }

    function test_Events_OfAPurchaseThatServesNoCall() external {
        vm.recordLogs();
        _openPaid(_purchase(agent, 0), PRICE);
        bytes32[] memory expected = new bytes32[](2);
        expected[0] = IAccessWindowEvents.PaymentConsumed.selector;
        expected[1] = IAccessWindowEvents.SubscriptionOpened.selector;
        _assertLogged(expected);
    }

    function test_Events_OfAddingValue() external {
        _open(1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionToppedUp(agent, stranger, 5, 5);
        _topUp(stranger, agent, 5);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionToppedUp(agent, stranger, PRICE, PRICE + 5);
        _open(1);
    }

    function test_Events_OfCancellingAndClaiming() external {
        _open(3);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionCancelled(agent, 2 * PRICE);
        _cancel(agent);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RefundClaimed(agent, stranger, 2 * PRICE);
        vm.prank(agent);
        access.claimRefund(payable(stranger));
    }

    // ---------------------------------------------------------------------------------------------- renewals

    function test_Events_OfARenewalByTheNetwork() external {
        _open(4);
        uint64 expiresAt = _expiresAt();
        vm.recordLogs();
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(_slotId(), expiresAt + PERIOD, 1, 1, PRICE, true);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalArmed(_slotId(), address(0x100001), expiresAt + PERIOD, _lock());
        _renewAsNetwork(_slotId(), expiresAt);
        assertEq(_countOf(IAccessWindowEvents.GasCharged.selector), 1);
    }

    function test_Events_OfMissedRenewalsWrittenByAnyone() external {
        _open(5);
        uint64 expiresAt = _expiresAt();
        _stallTo(expiresAt + PERIOD + 40);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(_slotId(), expiresAt + 2 * PERIOD, 2, 1, 2 * PRICE, false);
        access.poke(agent);
    }

    function test_Events_OfAReapWhoseExecutionCostNothing() external {
        _open(10);
        _stallTo(_expiresAt() + 33);
        vm.recordLogs();
        access.reap(agent);
        assertEq(_countOf(IAccessWindowEvents.GasCharged.selector), 0);
    }

    function test_Events_OfUsageThatRunsAhead() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt - 5);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(agent, expiresAt + PERIOD, int32(QUOTA) + 1);
        _record(agent, int32(QUOTA) + 1, expiresAt + PERIOD);
        assertEq(access.stored(agent).countedUntil, expiresAt, "what is refused moves nothing");
        assertEq(access.stored(agent).callsUsed, 0);
    }

    // ------------------------------------------------------------------------------------------------- inside

    function _assertLogged(bytes32[] memory expected) private {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        uint256 count;
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].emitter != address(access)) continue;
            assertEq(logs[i].topics[0], expected[count++]);
        }
        assertEq(count, expected.length);
    }

    function _countOf(bytes32 selector) private returns (uint256 count) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] == selector) ++count;
        }
    }
}
