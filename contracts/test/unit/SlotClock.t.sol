// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Between the call of the network and the second in which `block.timestamp` shows it, a slot is booked that no clock
/// has reached. What is bought, cancelled or counted then is charged once.
contract SlotClockTest is AccessWindowTest {
    function setUp() public override {
        super.setUp();
        _deploySlots(60);
    }

    function test_CancelAfterTheCallCameAndBeforeTheClockShowsIt() external {
        _open(4);
        uint64 end = _expiresAt();
        _passTo(end);
        assertEq(block.timestamp, end - 2);
        _cancel(agent);
        assertEq(access.refundOf(agent), 2 * PRICE, "the window that begins is charged");
        assertEq(access.windowOf(agent, end).expiresAt, end + PERIOD);
        _passTo(end + 3 * PERIOD);
        assertEq(access.books().depositsTinybar, 0);
    }

    function test_TopUpAfterTheSecondWasBookedAndBeforeTheClockShowsIt() external {
        _open(2);
        _open(stranger, stranger, 9 * PRICE);
        uint64 end = _expiresAt();
        _passTo(end + PERIOD); // the agent's last window ends
        assertEq(block.timestamp, end + PERIOD - 2);
        assertEq(_slot().live, 1);
        uint64 earned = access.books().earnedTinybar;
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionToppedUp(agent, forwarder, 2 * PRICE, PRICE);
        _topUp(forwarder, agent, 2 * PRICE);
        assertEq(access.books().earnedTinybar, earned + PRICE, "the booked second, and no more");
        assertEq(_slot().live, 2);
        assertEq(access.windowOf(agent, end + PERIOD).expiresAt, end + 2 * PERIOD);
        assertEq(access.windowOf(agent, end + PERIOD).balanceTinybar, PRICE);
        _passTo(end + 6 * PERIOD);
        assertEq(access.books().earnedTinybar, 4 * PRICE + 8 * PRICE);
        _assertSolvent();
    }

    function test_TopUpOfOnePeriodInThatSecondIsChargedAtOnce() external {
        _open(2);
        _open(stranger, stranger, 9 * PRICE);
        uint64 end = _expiresAt();
        _passTo(end + PERIOD);
        uint64 earned = access.books().earnedTinybar;
        _topUp(forwarder, agent, PRICE);
        assertEq(access.books().earnedTinybar, earned + PRICE);
        assertEq(_slot().live, 2, "it leaves a period later");
        _passTo(end + 2 * PERIOD);
        assertEq(_slot().live, 1);
        assertFalse(_window().isOpen);
    }

    function test_TopUpAfterABookingFarAheadOfTheClock() external {
        vm.prank(owner);
        access.setOffer(PRICE, 10, QUOTA, 1);
        lagSeconds = 27; // no network does: what was sold is charged all the same, to the tinybar
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 0});
        _armAlways();
        _open(4);
        _open(stranger, stranger, 3 * PRICE);
        uint64 end = _expiresAt();
        _renewAsNetwork(_slotId(), end + 64); // not the pending call: its second is not believed
        assertEq(_slot().next, end);
        _cancel(agent);
        assertEq(access.refundOf(agent), 3 * PRICE);
    }

    function test_CallsCountedBeforeAWindowBeginsChargeIt() external {
        _open(4);
        uint64 end = _expiresAt();
        _stallTo(end - 6);
        _record(agent, 3, end + PERIOD);
        assertEq(access.windowOf(agent, uint64(block.timestamp)).balanceTinybar, 2 * PRICE);
        _cancel(agent);
        assertEq(access.refundOf(agent), 2 * PRICE, "the window in which calls were counted is paid");
        assertEq(access.windowOf(agent, end).expiresAt, end + PERIOD);
        assertTrue(access.hasAccess(agent, end));
        _passTo(end + PERIOD);
        assertEq(access.books().depositsTinybar, 0);
        assertEq(access.books().earnedTinybar, 2 * PRICE);
    }
}
