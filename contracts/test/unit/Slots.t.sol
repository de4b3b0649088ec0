// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Many agents in one slot: who joins it, who leaves it, and what one call of the network does for all. Slots of 60 s,
/// opened 59 s before one ends.
contract SlotsTest is AccessWindowTest {
    uint32 internal constant SLOT = 60;

    function setUp() public override {
        super.setUp();
        _deploySlots(SLOT);
    }

    // ------------------------------------------------------------------------------------------------- joining

    function testFuzz_A19_TheFirstWindowIsNeverShorterAndLessThanASlotLonger(uint256 wait) external {
        vm.warp(block.timestamp + wait % 10_000);
        _open(2);
        uint256 end = _expiresAt();
        assertGe(end, block.timestamp + PERIOD);
        assertLt(end, block.timestamp + PERIOD + SLOT);
        assertEq((end + uint160(address(access))) % SLOT, 0);
        vm.warp(end);
        assertEq(_expiresAt(), end + PERIOD, "every later one is exactly a period");
        assertEq(_window().callsAllowed, QUOTA);
    }

    function test_A19_TheFirstWindowIsAPeriodToTheSecondWhereASlotEnds() external {
        vm.warp(block.timestamp + SLOT - 1);
        _open(2);
        assertEq(_expiresAt(), block.timestamp + PERIOD);
    }

    function test_A19_TheLongerFirstWindowIsOneWindow() external {
        vm.warp(block.timestamp + 1); // 58 s before the slot's second
        _openPaid(_purchase(agent, 1), 3 * PRICE);
        uint64 end = _expiresAt();
        uint256 openedAt = block.timestamp;
        assertEq(end, openedAt + 58 + PERIOD);
        for (uint256 at = openedAt; at < openedAt + 62; at += 3) {
            IAccessWindow.Window memory window = access.windowOf(agent, uint64(at));
            assertEq(window.expiresAt, end);
            assertEq(window.callsUsed, 1);
            assertEq(window.balanceTinybar, 2 * PRICE, "charged once");
        }
    }

    function test_A22_SubscriptionOpenedNamesTheSlotAndItsPendingCall() external {
        uint64 end = uint64(block.timestamp) + 59 + PERIOD;
        uint256 slotId = uint256(PERIOD) << 40 | end % PERIOD;
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalArmed(slotId, address(0x100000), end, _lock());
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionOpened(agent, stranger, end, 0, PRICE, slotId, address(0x100000), end);
        _open(2);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionOpened(owner, stranger, end, 0, 2 * PRICE, slotId, address(0x100000), end);
        _open(stranger, owner, 3 * PRICE);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionOpened(recorder, stranger, end, 0, 0, slotId, address(0), 0);
        _open(stranger, recorder, PRICE);
        assertEq(_window(recorder).slotId, slotId, "windowOf names it as well");
        assertEq(_window(recorder).schedule, address(0), "nothing further is funded");
        assertEq(_window().slotId, slotId);
        assertEq(SCHEDULE_SERVICE.pendingCount(), 1);
    }

    function test_OnePeriodTouchesNoSlot() external {
        _open(1);
        assertEq(_slot().live, 0);
        assertEq(_slot().next, 0);
        assertEq(access.calendarAt(PERIOD, _expiresAt()), 0);
    }

    function test_AJoinerBeforeTheSlotsSecondIsNotChargedInIt() external {
        _open(4);
        uint64 end = _expiresAt();
        vm.warp(end - 30);
        _open(stranger, stranger, 4 * PRICE);
        assertEq(_window(stranger).expiresAt, end + PERIOD);
        assertEq(_window(stranger).scheduledAt, end, "the pending call is a period before its own, which it arms");
        _passTo(end);
        assertEq(access.books().earnedTinybar, 3 * PRICE);
        assertEq(_window(stranger).balanceTinybar, 3 * PRICE);
        assertEq(_window(stranger).scheduledAt, end + PERIOD);
        _passTo(end + PERIOD);
        assertEq(access.books().earnedTinybar, 5 * PRICE);
        assertEq(_window(stranger).balanceTinybar, 2 * PRICE);
    }

    function test_AJoinerOfAnEmptySlotArmsItsOwnSecondAcrossTheOneBefore() external {
        vm.warp(block.timestamp + 20); // 39 s before the slot's second
        _open(2);
        uint64 end = _expiresAt();
        assertEq(_slot().next, end - PERIOD);
        assertEq(_window().scheduledAt, end);
        _passTo(end);
        assertEq(executions, 1);
        assertEq(_slot().next, end + PERIOD, "both seconds are booked");
        assertEq(access.books().earnedTinybar, 2 * PRICE);
        assertEq(access.books().depositsTinybar, 0);
    }

    // ------------------------------------------------------------------------------------------------ renewing

    function test_A6_OneCallRenewsEveryAgentOfTheSlot() external {
        for (uint256 i; i < 20; ++i) {
            _openPaid(_purchase(_who(i), 1), 4 * PRICE);
            vm.warp(block.timestamp + 1);
        }
        uint64 end = _window(_who(0)).expiresAt;
        address schedule = _slot(_who(0)).schedule;
        for (uint256 i; i < 20; ++i) {
            assertEq(_window(_who(i)).expiresAt, end);
            assertEq(_window(_who(i)).schedule, schedule);
        }
        assertEq(SCHEDULE_SERVICE.pendingCount(), 1);
        for (uint256 i = 1; i < 4; ++i) {
            assertEq(_passTo(end), 1);
            assertEq(lastStatus, STATUS_SUCCESS);
            assertEq(access.books().earnedTinybar, (i + 1) * 20 * PRICE);
            IAccessWindow.Window memory window = _window(_who(7));
            assertEq(window.expiresAt, end + PERIOD);
            assertEq(window.balanceTinybar, (3 - i) * PRICE);
            assertEq(window.periodsFunded, 3 - i);
            assertEq(window.callsUsed, 0, "a fresh quota");
            assertEq(access.calendarAt(PERIOD, end), 0, "what was booked is out of the calendar");
            end += PERIOD;
        }
        assertEq(_window(_who(7)).schedule, address(0), "nothing left to renew");
        assertTrue(_window(_who(7)).isOpen);
        assertEq(access.books().depositsTinybar, 0);
        assertEq(SCHEDULE_SERVICE.pendingCount(), 0);
        _passTo(end);
        assertFalse(_window(_who(7)).isOpen);
        _assertSolvent();
    }

    function test_A22_SlotRenewedSaysWhatWasBookedForHowMany() external {
        _open(4);
        _open(stranger, stranger, 2 * PRICE);
        uint64 end = _expiresAt();
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(_slotId(), end + PERIOD, 2, 2, 2 * PRICE, true);
        _renewAsNetwork(_slotId(), end);
        vm.warp(end + PERIOD);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(_slotId(), end + 2 * PERIOD, 1, 1, PRICE, false);
        access.renew(_slotId(), end + PERIOD);
    }

    function test_DifferentLengthsAndPricesShareACall() external {
        _open(2);
        _open(stranger, owner, 4 * PRICE);
        vm.prank(owner);
        access.setOffer(5 * HBAR, PERIOD, QUOTA, SLOT);
        _open(stranger, recorder, 15 * HBAR);
        uint64 end = _expiresAt();
        assertEq(_slotId(recorder), _slotId());
        assertEq(_slot().live, 3);
        _passTo(end);
        assertEq(_slot().rateTinybar, 2 * PRICE + 5 * HBAR);
        _passTo(end + PERIOD);
        assertEq(_slot().rateTinybar, PRICE + 5 * HBAR);
        assertEq(_slot().live, 2);
        _passTo(end + 2 * PERIOD);
        assertEq(_slot().rateTinybar, PRICE);
        assertEq(_slot().live, 1);
        access.poke(owner);
        vm.warp(end + 3 * PERIOD);
        access.poke(owner);
        assertEq(_slot().rateTinybar, 0);
        assertEq(_slot().live, 0);
        assertEq(access.books().depositsTinybar, 0);
        assertEq(access.books().earnedTinybar, 6 * PRICE + 15 * HBAR);
    }

    function test_PeriodsApartAreSlotsApart() external {
        _open(2);
        vm.prank(owner);
        access.setOffer(PRICE, 2 * PERIOD, QUOTA, SLOT);
        _open(stranger, stranger, 2 * PRICE);
        assertNotEq(_slotId(stranger), _slotId());
        assertEq(SCHEDULE_SERVICE.pendingCount(), 2);
        _passTo(_expiresAt());
        assertEq(access.books().earnedTinybar, 3 * PRICE);
    }

    // ------------------------------------------------------------------------------------------------- leaving

    function test_ASlotWithoutMembersIsNotRenewed() external {
        _open(4);
        _cancel(agent);
        assertEq(access.refundOf(agent), 3 * PRICE);
        assertEq(_slot().live, 0);
        uint64 end = _expiresAt();
        assertEq(access.calendarAt(PERIOD, end), 0);
        assertEq(access.calendarAt(PERIOD, end + 3 * PERIOD), 0, "nothing is left of it");
        assertEq(_passTo(end + 2 * PERIOD), 1, "the call that was armed comes once");
        assertEq(SCHEDULE_SERVICE.pendingCount(), 0);
        assertEq(access.books().earnedTinybar, PRICE);
        _assertSolvent();
    }

    function test_ASlotOfLeaversOnlyEarnsNothingAndArmsNothing() external {
        _open(2);
        _open(stranger, stranger, 2 * PRICE);
        uint64 end = _expiresAt();
        _passTo(end);
        assertEq(_slot().live, 2, "their last windows are open");
        assertEq(_slot().schedule, address(0));
        vm.recordLogs();
        access.poke(agent);
        assertEq(vm.getRecordedLogs().length, 0, "there is nothing to say either");
        vm.warp(end + PERIOD);
        access.poke(agent);
        assertEq(_slot().live, 0);
        assertEq(access.books().earnedTinybar, 4 * PRICE);
    }

    function test_APurchaseOfOnePeriodBooksTheLastOfTheSlotToLeave() external {
        _configure({gasPerSecond: 1, createGas: 0, forcedCode: 0});
        _open(2);
        uint64 end = _expiresAt();
        _stallTo(end + PERIOD + SLOT);
        vm.warp(end + 2 * PERIOD);
        _open(stranger, stranger, PRICE);
        assertEq(_slotId(stranger), _slotId());
        assertEq(_slot().live, 0);
        assertEq(_slot().next, end + 2 * PERIOD);
        assertEq(access.books().earnedTinybar, 3 * PRICE);
        access.poke(agent);
        assertEq(access.books().earnedTinybar, 3 * PRICE, "charged once");
        assertEq(access.books().depositsTinybar, 0);
    }

    function test_APurchaseOfOnePeriodLeavesAnEmptySlotAsItIs() external {
        _open(4);
        uint64 end = _expiresAt();
        _cancel(agent);
        vm.warp(end + PERIOD - 30);
        _open(stranger, stranger, PRICE);
        assertEq(_slotId(stranger), _slotId());
        assertEq(_slot().scheduledAt, end, "whoever pays for more gives the lost call up");
    }

    function test_CancelledThenRevivedIsRenewedAgain() external {
        _open(4);
        uint64 end = _expiresAt();
        _cancel(agent);
        _open(3);
        assertEq(_slot().live, 1);
        assertEq(_window().balanceTinybar, 3 * PRICE);
        _passTo(end);
        _cancel(agent);
        assertEq(_slot().live, 1, "its end is in the calendar");
        _open(1);
        assertEq(_slot().live, 1);
        _passTo(end + PERIOD);
        assertEq(_window().expiresAt, end + 2 * PERIOD);
        assertEq(access.refundOf(agent), 5 * PRICE);
        assertEq(access.books().earnedTinybar, 3 * PRICE);
        assertEq(access.books().depositsTinybar, 0);
        _assertSolvent();
    }

    function test_AnEmptySlotSkipsToThePresent() external {
        _open(2);
        uint64 end = _expiresAt();
        _passTo(end + PERIOD + 5);
        access.poke(agent);
        _newTransaction();
        assertEq(_slot().live, 0);
        vm.warp(end + 50_000 * uint256(PERIOD) - 30);
        uint256 gasBefore = gasleft();
        _open(2);
        assertLt(gasBefore - gasleft(), 1_700_000, "in one step");
        assertEq(_slot().next, end + 50_000 * uint256(PERIOD));
        assertEq(_window().scheduledAt, end + 50_001 * uint256(PERIOD));
    }

    function test_ATopUpByAStrangerMovesNobodyElse() external {
        _open(2);
        _open(stranger, owner, 2 * PRICE);
        uint64 end = _expiresAt();
        _topUp(stranger, agent, 1);
        _topUp(stranger, agent, PRICE - 1);
        assertEq(_window().periodsFunded, 2);
        assertEq(_window(owner).periodsFunded, 1);
        _passTo(end + PERIOD);
        assertEq(access.books().earnedTinybar, 5 * PRICE);
        assertFalse(_window(owner).isOpen);
        assertTrue(_window().isOpen);
    }
}
