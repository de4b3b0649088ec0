// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Calls given back, and calls that name another window than the one that is counted.
contract UsageKeptTest is AccessWindowTest {
    function test_A18_WhatIsGivenBackToAFullQuotaServesAgain() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        _record(agent, int32(QUOTA), expiresAt);
        _record(agent, -1, expiresAt);
        _expectRecorded(agent, expiresAt, QUOTA);
        _record(agent, 1, expiresAt);
        _expectRefused(agent, expiresAt, 1);
        _record(agent, 1, expiresAt);
    }

    function test_A18_ThePreviousTheNextAndAClosedWindowTakeCallsBack() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        _record(agent, 30, expiresAt);
        vm.warp(expiresAt + 1);
        _expectRecorded(agent, expiresAt + PERIOD, 0);
        _record(agent, -5, expiresAt + PERIOD);
        _expectRecorded(agent, expiresAt, 10);
        _record(agent, -20, expiresAt);
        assertEq(_window().callsUsed, 0);
        _record(agent, 9, expiresAt + PERIOD);
        vm.warp(expiresAt + PERIOD + 5);
        _open(2);
        _expectRecorded(agent, expiresAt + PERIOD, 2);
        _record(agent, -7, expiresAt + PERIOD);
        _expectRecorded(agent, expiresAt + PERIOD, QUOTA);
        _record(agent, int32(QUOTA) - 2, expiresAt + PERIOD);
        _expectRefused(agent, expiresAt + PERIOD, 1);
        _record(agent, 1, expiresAt + PERIOD);
        assertEq(access.purseOf(agent).closedUsed, QUOTA, "what is refused is not counted");
        assertEq(_window().callsUsed, 0);
    }

    function test_RecordUsage_OfAWindowThatClosedLongBeforeAReopeningIsLate() external {
        _open(1);
        uint64 expiresAt = _expiresAt();
        _record(agent, 7, expiresAt);
        vm.warp(expiresAt + 60);
        _open(1);
        assertEq(access.purseOf(agent).closedAt, expiresAt);
        assertEq(access.purseOf(agent).closedUsed, 7);
        assertEq(access.purseOf(agent).closedAllowed, QUOTA);
        _expectRecorded(agent, expiresAt, 8);
        _record(agent, 1, expiresAt);
        _expectLate(agent, expiresAt - 1, 1);
        _record(agent, 1, expiresAt - 1);
        vm.warp(expiresAt + 60 + PERIOD + 61);
        _open(1);
        assertEq(access.purseOf(agent).closedAt, expiresAt, "nothing to keep: it takes no more calls");
        assertEq(_window().callsUsed, 0);
    }

    function test_RecordUsage_OfTheFirstWindowHasNoPreviousOne() external {
        _open(2);
        _expectLate(agent, uint64(START), 1);
        _record(agent, 1, uint64(START));
        assertEq(access.stored(agent).callsUsedPrevious, 0);
    }

    function test_RecordUsage_ReopenedBeginsAtNone() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        _record(agent, 3, expiresAt);
        vm.warp(expiresAt);
        _record(agent, 4, expiresAt + PERIOD);
        vm.warp(expiresAt + 3 * PERIOD);
        _open(3);
        assertEq(_window().callsUsed, 0);
        assertEq(access.stored(agent).callsUsedPrevious, 0);
        uint64 next = _expiresAt() + PERIOD;
        vm.warp(next - PERIOD);
        _expectRecorded(agent, next, 2);
        _record(agent, 2, next);
        assertEq(access.windowOf(agent, next - PERIOD - 1).callsUsed, 0);
    }

    function test_RecordUsage_WindowsThatNobodyCountedInHaveNoUsage() external {
        _open(6);
        uint64 expiresAt = _expiresAt();
        _record(agent, 5, expiresAt);
        _stallTo(expiresAt + 3 * PERIOD + 5);
        assertEq(_window().callsUsed, 0);
        _expectRecorded(agent, expiresAt + 3 * PERIOD, 1);
        _record(agent, 1, expiresAt + 3 * PERIOD);
        assertEq(access.stored(agent).callsUsedPrevious, 0);
        _expectRecorded(agent, expiresAt + 4 * PERIOD, 1);
        _record(agent, 1, expiresAt + 4 * PERIOD);
        assertEq(access.stored(agent).callsUsedPrevious, 1);
        _expectLate(agent, expiresAt, 1);
        _record(agent, 1, expiresAt);
        _expectRefused(agent, expiresAt + 4 * PERIOD + 1, 1);
        _record(agent, 1, expiresAt + 4 * PERIOD + 1);
    }

    function test_OpenPaid_CountsItsCallInTheWindowOfThisSecond() external {
        _open(3);
        uint64 expiresAt = _expiresAt();
        _record(agent, 5, expiresAt);
        vm.warp(expiresAt - 3);
        _record(agent, 2, expiresAt + PERIOD);
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRecorded(agent, expiresAt, 6);
        _openPaid(purchase, PRICE);
        vm.warp(expiresAt + PERIOD);
        purchase = _purchase(agent, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRecorded(agent, expiresAt + 2 * PERIOD, 1);
        _openPaid(purchase, PRICE);
        assertEq(access.stored(agent).callsUsedPrevious, 2);
    }
}
