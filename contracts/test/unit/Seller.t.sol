// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {AccessWindow} from "../../src/AccessWindow.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

contract SellerTest is AccessWindowTest {
    function test_EverySellersFunction_RevertWhen_TheSenderIsNotTheOwner() external {
        bytes[9] memory calls = [
            abi.encodeCall(IAccessWindow.setOffer, (1, 1, 1, 1)),
            abi.encodeCall(IAccessWindow.setArming, (1_200, 100)),
            abi.encodeCall(IAccessWindow.pauseSales, (true)),
            abi.encodeCall(IAccessWindow.setForwarder, (stranger, true)),
            abi.encodeCall(IAccessWindow.setRecorder, (stranger, true)),
            abi.encodeCall(IAccessWindow.withdrawReserve, (payable(stranger), 1)),
            abi.encodeCall(IAccessWindow.withdrawEarnings, (payable(stranger), 1)),
            abi.encodeCall(Ownable.transferOwnership, (stranger)),
            abi.encodeCall(IAccessWindow.retireOffer, (0))
        ];
        for (uint256 i; i < calls.length; ++i) {
            vm.prank(forwarder);
            (bool isSuccess, bytes memory answer) = address(access).call(calls[i]);
            assertFalse(isSuccess);
            assertEq(answer, abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, forwarder));
        }
    }

    // ------------------------------------------------------------------------------------------------- offers

    function test_A21_SetOffer_RevertWhen_ATermIsOutOfRange() external {
        uint32[9] memory periods = [uint32(10), 9, 5_356_001, 10, 10, 10, 10, 2_678_001, 0];
        uint32[9] memory quotas = [uint32(1), 1, 1, 0, 2 ** 31, 1, 1, 1, 1];
        uint32[9] memory slots = [uint32(1), 1, 1, 1, 1, 0, 3, 2_678_001, 1];
        for (uint256 i; i < 9; ++i) {
            uint64 price = i == 0 ? PRICE_MIN - 1 : PRICE_MIN;
            vm.expectRevert(
                abi.encodeWithSelector(
                    IAccessWindowEvents.AccessWindow_InvalidOffer.selector, price, periods[i], quotas[i], slots[i]
                )
            );
            vm.prank(owner);
            access.setOffer(price, periods[i], quotas[i], slots[i]);
        }
        vm.startPrank(owner);
        access.setOffer(PRICE_MIN, 10, 2 ** 31 - 1, 10);
        access.setOffer(PRICE_MIN, 5_356_000, 1, 1);
        access.setOffer(PRICE_MIN, 2_678_000, 1, 2_678_000);
        assertEq(access.offerCount(), 4);
    }

    function test_SetOffer_HoldsForNewPurchasesOnly() external {
        _open(3);
        vm.warp(START + 10);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.OfferSet(1, HBAR, 60, 7, uint64(START) + 10, 1);
        _setOffer(HBAR, 60, 7);
        _passTo(_expiresAt() + 3);
        assertEq(_window().priceTinybar, PRICE);
        assertEq(_window().periodSeconds, PERIOD);
        assertEq(_window().callsAllowed, QUOTA);
        assertEq(_window(stranger).priceTinybar, HBAR, "a purchase made now");
        assertEq(access.offerCount(), 2);
        assertEq(access.offerAt(0).priceTinybar, PRICE);
        assertEq(access.offerAt(1).startsAt, START + 10);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_UnknownOffer.selector, 2));
        access.offerAt(2);
    }

    function test_SetOffer_TakesTheLongestPeriodThatTheNetworkSchedules() external {
        _setOffer(3 * HBAR, 5_356_000, 1);
        _open(stranger, agent, 6 * HBAR);
        assertTrue(_window().schedule != address(0));
    }

    function test_PauseSales_StopsNewSalesAndNothingElse() external {
        _open(3);
        vm.prank(owner);
        access.pauseSales(true);
        assertTrue(access.salesPaused());
        _topUp(stranger, agent, PRICE);
        _record(agent, 1, _expiresAt());
        assertEq(_passTo(_expiresAt() + 1), 1, "renewals go on");
        assertTrue(access.salesPaused(), "and keep the pause");
        _cancel(agent);
        vm.prank(agent);
        access.claimRefund(payable(agent));
        vm.prank(owner);
        access.pauseSales(false);
        _open(1);
    }

    // ------------------------------------------------------------------------------------------------ arming

    function test_A20_SetArming_RevertWhen_OutOfBounds() external {
        uint16[3] memory costs = [uint16(99), 10_001, 1_200];
        uint16[3] memory floors = [uint16(100), 100, 10_001];
        for (uint256 i; i < 3; ++i) {
            vm.expectRevert(
                abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_InvalidArming.selector, costs[i], floors[i])
            );
            vm.prank(owner);
            access.setArming(costs[i], floors[i]);
        }
        vm.startPrank(owner);
        access.setArming(100, 0);
        access.setArming(10_000, 10_000);
    }

    function test_A20_ArmingSaysWhatWasDeployedAndWhatWasSet() external {
        (uint16 scheduleCost, uint16 armingFloor) = access.arming();
        assertEq(scheduleCost, 1_200);
        assertEq(armingFloor, 100);
        vm.prank(owner);
        access.setArming(2_450, 150);
        (scheduleCost, armingFloor) = access.arming();
        assertEq(scheduleCost, 2_450);
        assertEq(armingFloor, 150);
    }

    // ------------------------------------------------------------------------------------------------- roles

    function test_Roles_AreGivenAndTaken() external {
        assertTrue(access.isForwarder(forwarder));
        assertTrue(access.isRecorder(recorder));
        assertFalse(access.isRecorder(forwarder));
        vm.startPrank(owner);
        access.setForwarder(forwarder, false);
        access.setRecorder(recorder, false);
        access.setRecorder(stranger, true);
        vm.stopPrank();
        assertFalse(access.isForwarder(forwarder));
        assertFalse(access.isRecorder(recorder));
        vm.prank(stranger);
        access.recordUsage(agent, 1, 0);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotRecorder.selector, recorder));
        vm.prank(recorder);
        access.recordUsage(agent, 1, 0);
    }

    function test_Ownership_MovesInTwoSteps() external {
        vm.prank(owner);
        access.transferOwnership(stranger);
        assertEq(access.owner(), owner);
        assertEq(access.pendingOwner(), stranger);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, agent));
        vm.prank(agent);
        access.acceptOwnership();
        vm.prank(stranger);
        access.acceptOwnership();
        assertEq(access.owner(), stranger);
    }

    function test_Ownership_IsNeverGivenUp() external {
        vm.expectRevert(IAccessWindowEvents.AccessWindow_OwnerRequired.selector);
        vm.prank(owner);
        access.renounceOwnership();
        assertEq(access.owner(), owner);
    }

    function test_Constructor_TakesDeploymentsWithoutForwarderOrRecorders() external {
        AccessWindow bare = _deployAccessWindow(
            AccessWindow.Deployment(owner, address(0), new address[](0), PRICE, PERIOD, QUOTA, 1), 0
        );
        assertFalse(bare.isForwarder(address(0)));
        assertEq(bare.renewalsReserveCanArm(), 0);
    }

    // ------------------------------------------------------------------------------------------------- reserve

    function test_FundReserve_AddsToTheReserve() external {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.ReserveFunded(stranger, 5 * HBAR);
        vm.prank(stranger);
        access.fundReserve{value: 5 * HBAR}();
        assertEq(access.books().reserveTinybar, 105 * HBAR);
    }

    function test_RenewalsReserveCanArm_FollowsReserveAndGasPrice() external {
        assertEq(access.renewalsReserveCanArm(), 100 * HBAR / _lock());
        _open(2);
        assertEq(access.renewalsReserveCanArm(), (100 * HBAR - _lock()) / _lock());
        _setGasPrice(218);
        access.skim();
        _setGasPrice(109);
        assertEq(access.renewalsReserveCanArm(), (100 * HBAR - _lock()) / (2 * _lock()), "the last seen gas price");
    }

    function test_WithdrawReserve_PaysFreeReserveNeverLocks() external {
        _open(2);
        uint64 free = 100 * HBAR - _lock();
        vm.startPrank(owner);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_InsufficientFunds.selector, free + 1, free)
        );
        access.withdrawReserve(payable(owner), free + 1);
        access.withdrawReserve(payable(owner), free);
        assertEq(owner.balance, free);
        assertEq(access.books().lockedTinybar, _lock());
        _assertSolvent();
    }

    function test_WithdrawEarnings_PaysEarningsOnly() external {
        _open(4);
        vm.startPrank(owner);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_InsufficientFunds.selector, PRICE + 1, PRICE)
        );
        access.withdrawEarnings(payable(owner), PRICE + 1);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_TransferFailed.selector, address(0), PRICE)
        );
        access.withdrawEarnings(payable(address(0)), PRICE);
        access.withdrawEarnings(payable(owner), PRICE);
        assertEq(owner.balance, PRICE);
        assertEq(access.books().depositsTinybar, 3 * PRICE);
        _assertSolvent();
    }

    function test_Withdraw_BooksARevertedExecutionFirst() external {
        _open(4);
        executionGasCap = 5_000;
        _passTo(_expiresAt());
        assertEq(lastStatus, STATUS_REVERTED);
        uint64 burned = uint64(lastGasUsed * gasPrice);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(burned, 0);
        vm.prank(owner);
        access.withdrawReserve(payable(owner), 1);
        assertEq(access.books().reserveTinybar, 100 * HBAR - _lock() - burned - 1);
        _assertSolvent();
    }

    // --------------------------------------------------------------------------------------------------- skim

    function test_Skim_AddsWhatArrivedOutsideTheBooks() external {
        vm.deal(address(access), address(access).balance + 7 * HBAR);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.Skimmed(7 * HBAR);
        access.skim();
        assertEq(access.books().reserveTinybar, 107 * HBAR);
        access.skim();
        assertEq(access.books().reserveTinybar, 107 * HBAR);
    }

    function test_Skim_BooksGasThatLeftTheBalance() external {
        vm.deal(address(access), address(access).balance - 2 * HBAR);
        access.skim();
        assertEq(access.books().reserveTinybar, 98 * HBAR);
        _assertSolvent();
    }

    function test_PlainTransfersOfTheEvmAreRefused() external {
        vm.prank(stranger);
        (bool isSuccess,) = address(access).call{value: 1}("");
        assertFalse(isSuccess, "an agent that sends its payment here keeps it");
    }

    // -------------------------------------------------------------------------------------------------- views

    function test_WindowOf_ShowsAStrangerTheTermsOfAPurchaseMadeNow() external view {
        IAccessWindow.Window memory window = _window(stranger);
        assertFalse(window.exists);
        assertFalse(window.isOpen);
        assertEq(window.expiresAt, 0);
        assertEq(window.priceTinybar, PRICE);
        assertEq(window.periodSeconds, PERIOD);
        assertEq(window.callsAllowed, QUOTA);
        assertEq(window.periodsFunded, 0);
        assertEq(window.schedule, address(0));
        assertFalse(access.hasAccess(stranger, type(uint64).max));
    }

    function testFuzz_WindowOf_ProjectsWhatMaterialisingWrites(uint8 periods, uint32 ahead) external {
        uint256 count = bound(periods, 1, 50);
        _configure({gasPerSecond: 1, createGas: 0, forcedCode: 0});
        _open(count);
        _record(agent, 5, _expiresAt());
        vm.warp(START + ahead % (60 * PERIOD));
        IAccessWindow.Window memory projected = access.windowOf(agent, uint64(block.timestamp));
        access.renew(_slotId(), 0);
        IAccessWindow.Window memory written = access.windowOf(agent, uint64(block.timestamp));
        assertEq(projected.expiresAt, written.expiresAt);
        assertEq(projected.balanceTinybar, written.balanceTinybar);
        assertEq(projected.callsUsed, written.callsUsed);
        assertEq(projected.periodsFunded, written.periodsFunded);
        assertEq(projected.isOpen, written.isOpen);
    }
}
