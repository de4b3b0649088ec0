// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice The second in which a window ends, the last call of a quota, and what remains of a closed window.
contract BoundariesTest is AccessWindowTest {
    function test_Open_InTheSecondOfTheEndOpensANewWindow() external {
        _open(1);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt - 1);
        _open(stranger, agent, PRICE);
        assertEq(_expiresAt(), expiresAt, "still open: adds");
        _cancel(agent);
        vm.warp(expiresAt);
        _open(1);
        assertEq(_window(agent).expiresAt, expiresAt + PERIOD);
        assertEq(_window(agent).balanceTinybar, 0);
        assertFalse(_window().isCancelled, "opening anew ends a cancellation");
    }

    function test_Poke_InTheSecondOfTheEndArmsNothingForAWindowThatClosed() external {
        _open(1);
        vm.warp(_expiresAt());
        vm.recordLogs();
        access.poke(agent);
        assertEq(vm.getRecordedLogs().length, 0);
    }

    function test_Cancel_OfAClosedWindowNeedsSomethingToGiveBack() external {
        _open(1);
        vm.warp(_expiresAt());
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NothingToCancel.selector, agent));
        vm.prank(agent);
        access.cancel();
    }

    function test_Cancel_GivesBackWhatAClosedWindowCouldNotUse() external {
        _open(1);
        _topUp(stranger, agent, PRICE - 1);
        vm.warp(_expiresAt());
        _cancel(agent);
        assertEq(access.refundOf(agent), PRICE - 1);
        assertEq(access.books().depositsTinybar, 0);
    }

    function test_Cancel_OfAnOpenWindowWithoutABalanceEndsIt() external {
        _open(1);
        _cancel(agent);
        assertTrue(_window().isCancelled);
        assertEq(access.refundOf(agent), 0);
    }

    function test_Cancel_Twice_AddsUpTheRefunds() external {
        _open(2);
        _cancel(agent);
        _open(2);
        _cancel(agent);
        assertEq(access.refundOf(agent), 3 * PRICE);
        assertEq(access.books().refundsTinybar, 3 * PRICE);
    }

    function test_Cancel_WritesDownWhatIsDueFirst() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt);
        _cancel(agent);
        assertEq(_window(agent).expiresAt, expiresAt + PERIOD);
        assertEq(access.refundOf(agent), PRICE);
    }

    function test_OpenPaid_CountsTheLastCallOfTheQuotaAndNoMore() external {
        _openPaid(_purchase(agent, QUOTA), PRICE);
        assertEq(_window().callsUsed, QUOTA);
        _openPaid(_purchase(stranger, QUOTA + 1), PRICE);
        assertEq(_window(stranger).callsUsed, 0);
    }

    function test_RecordUsage_AheadCountsTheLastCallOfTheQuota() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt - 1);
        _record(agent, int32(QUOTA), expiresAt + PERIOD);
        assertEq(access.stored(agent).callsUsed, QUOTA);
        assertEq(access.stored(agent).countedUntil, expiresAt + PERIOD);
    }

    function test_RecordUsage_AheadNeedsAsManyPeriodsAsItNames() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt + PERIOD);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(agent, expiresAt + 2 * PERIOD, 1);
        _record(agent, 1, expiresAt + 2 * PERIOD);
        assertEq(access.stored(agent).countedUntil, expiresAt);
    }

    function test_WindowOf_APastSecondOfAWindowThatFollowedAGapShowsTheNewOne() external {
        _open(1);
        uint64 first = _expiresAt();
        _record(agent, 7, first);
        vm.warp(first + 100);
        _open(1);
        IAccessWindow.Window memory window = access.windowOf(agent, first - 1);
        assertEq(window.expiresAt, first + 100 + PERIOD);
        assertEq(window.callsUsed, 0);
    }

    function test_WindowOf_ASecondBeforeTheFirstWindowShowsIt() external {
        _open(1);
        assertEq(access.windowOf(agent, 0).expiresAt, START + PERIOD);
    }

    function test_RecordUsage_OfTheNextWindowKeepsTheUsageOfTheWindowBefore() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        _record(agent, 9, expiresAt);
        vm.warp(expiresAt);
        _record(agent, 2, expiresAt + PERIOD);
        assertEq(access.stored(agent).callsUsedPrevious, 9);
        assertEq(access.stored(agent).callsUsed, 2);
        _record(agent, 4, expiresAt);
        assertEq(access.stored(agent).callsUsedPrevious, 13);
    }

    function test_OpenPaid_OfTheSecondOfferEndsWhenTheThirdReplacesIt() external {
        vm.warp(START + 10_000);
        _setOffer(HBAR, 60, 5);
        IAccessWindow.Purchase memory purchase = _purchase(agent, 0);
        vm.warp(START + 20_000);
        _setOffer(2 * HBAR, 60, 5);
        vm.warp(START + 20_601);
        purchase.paidAtSeconds = uint64(START) + 20_600;
        _openPaid(purchase, HBAR);
        purchase = _purchase(agent, 0);
        purchase.offerId = 1;
        purchase.paidAtSeconds = uint64(START) + 20_601;
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_OfferReplaced.selector, 1, START + 20_000, START + 20_601
            )
        );
        vm.prank(forwarder);
        access.openPaid{value: HBAR}(purchase);
    }
}
