// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Whoever serves one agent serves its slot: `poke`, `reap` and purchases book what was missed and arm for all.
contract SlotServiceTest is AccessWindowTest {
    function setUp() public override {
        super.setUp();
        _deploySlots(60);
    }

    function test_A7_OnePokeServesTheSlot() external {
        int64[7] memory codes = [int64(210), 306, 307, 370, 373, 9_999, 7];
        for (uint256 i; i < codes.length; ++i) {
            _configure({gasPerSecond: 0, createGas: 0, forcedCode: codes[i]});
            _open(stranger, _who(i), 4 * PRICE);
            assertEq(_window(_who(i)).schedule, address(0));
            assertTrue(access.hasAccess(_who(i), uint64(block.timestamp + 4 * PERIOD - 1)));
        }
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 0});
        access.poke(_who(3));
        for (uint256 i; i < codes.length; ++i) {
            assertNotEq(_window(_who(i)).schedule, address(0));
        }
    }

    function test_A7_AnyMemberReapsForAll() external {
        for (uint256 i; i < 5; ++i) {
            _open(stranger, _who(i), 4 * PRICE);
        }
        uint64 end = _window(_who(0)).expiresAt;
        uint256 held = address(access).balance;
        vm.deal(address(access), 1);
        _passTo(end);
        assertEq(lastStatus, STATUS_INSUFFICIENT_PAYER_BALANCE);
        assertEq(_window(_who(4)).balanceTinybar, 2 * PRICE, "projected");
        vm.deal(address(access), held);
        _stallTo(end + 33);
        access.reap(_who(2));
        assertEq(access.books().earnedTinybar, 10 * PRICE);
        assertEq(_window(_who(1)).scheduledAt, end + PERIOD);
        _assertSolvent();
    }

    function test_APurchaseReapsItsSlot() external {
        _open(4);
        uint64 end = _expiresAt();
        _stallTo(end + 33);
        address lost = _slot().schedule;
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalReaped(_slotId(), lost, end);
        _topUp(stranger, agent, PRICE);
        assertEq(_slot().scheduledAt, end + PERIOD);
        _assertSolvent();
    }

    function test_ABacklogIsBookedInPagesAndCodeSaysSo() external {
        vm.prank(owner);
        access.setOffer(PRICE_MIN, 10, 10, 1);
        _open(stranger, agent, uint256(PRICE_MIN) * 6_000); // below the floor: never armed
        uint64 end = _expiresAt();
        _stallTo(end + 50_000);
        vm.expectEmit(true, false, false, false, address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotId(), 0, 0);
        access.poke{gas: 5_000_000}(agent);
        uint256 pages = 1;
        while (_slot().next <= block.timestamp) {
            uint256 next = _slot().next;
            access.poke{gas: 5_000_000}(agent);
            assertGt(_slot().next, next);
            assertLt(++pages, 20);
        }
        assertGt(pages, 1);
        assertEq(access.books().earnedTinybar, PRICE_MIN * (uint256(_slot().next - end) / 10 + 1));
        assertEq(access.windowOf(agent, uint64(block.timestamp)).balanceTinybar, access.books().depositsTinybar);
    }

    function test_TheFirstEightSecondsAreBookedWhateverGasIsLeft() external {
        _configure({gasPerSecond: 1, createGas: 0, forcedCode: 0});
        _open(20);
        uint64 end = _expiresAt();
        _stallTo(end + 12 * PERIOD + 40);
        uint256 slotId = _slotId();
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(slotId, end + 7 * PERIOD, 8, 1, 7 * PRICE, true);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(slotId, end + 7 * PERIOD, -3);
        vm.prank(address(access), address(access));
        access.renew{gas: 1_000_000}(slotId, 0);
        assertEq(_slot().next, end + 7 * PERIOD);
    }

    function test_ASecondOfNowThatTheGasDoesNotBookIsBehind() external {
        _configure({gasPerSecond: 1, createGas: 0, forcedCode: 0});
        _open(20);
        uint64 end = _expiresAt();
        vm.warp(end + 7 * PERIOD); // the ninth second of the slot since it was opened
        uint256 slotId = _slotId();
        _expectNotArmed(slotId, end + 7 * PERIOD, -3);
        vm.recordLogs();
        vm.prank(address(access), address(access));
        access.renew{gas: 1_000_000}(slotId, 0);
        assertEq(vm.getRecordedLogs().length, 3, "what was booked, that it is behind, and the gas");
    }

    // -------------------------------------------------------------------------------------------------- views

    function test_SlotAt_SaysItsNextSecondItsAgentsAndItsPendingCall() external {
        _assertSlotAt(_slotAt(START), 0, 0, address(0), 0);
        _open(4);
        _open(stranger, owner, 2 * PRICE);
        _open(stranger, recorder, PRICE);
        uint64 end = _expiresAt();
        uint256 slotId = _slotId();
        _assertSlotAt(slotId, end - PERIOD, 2, address(0x100000), end);
        _passTo(end);
        _assertSlotAt(slotId, end + PERIOD, 2, address(0x100001), end + PERIOD);
        _passTo(end + PERIOD);
        _assertSlotAt(slotId, end + 2 * PERIOD, 1, address(0x100002), end + 2 * PERIOD);
        _cancel(agent);
        _passTo(end + 2 * PERIOD);
        _assertSlotAt(slotId, end + 3 * PERIOD, 0, address(0), 0);
    }

    // -------------------------------------------------------------------------------------------------- inside

    function _assertSlotAt(uint256 slotId, uint64 nextSecond, uint32 agents, address schedule, uint64 scheduledAt)
        private
        view
    {
        bytes memory expected = abi.encode(nextSecond, agents, schedule, scheduledAt);
        (bool isAnswered, bytes memory answer) =
            address(access).staticcall(abi.encodeCall(IAccessWindow.slotAt, (slotId)));
        assertTrue(isAnswered);
        assertEq(answer, expected);
    }
}
