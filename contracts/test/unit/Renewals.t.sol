// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {IScheduleService} from "../../src/interfaces/IScheduleService.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice The call that the network makes at the end of a window, and what it finds there.
contract RenewalsTest is AccessWindowTest {
    // --------------------------------------------------------------------------------------------------- renew

    function test_Renew_ByTheNetworkRenewsThoughTheTimestampIsEarly() external {
        _open(4);
        uint64 expiresAt = _expiresAt();
        assertEq(_passTo(expiresAt), 1);
        assertEq(lastStatus, STATUS_SUCCESS);
        assertLt(block.timestamp, expiresAt, "a check of block.timestamp would have ended the chain here");
        assertEq(_expiresAt(), expiresAt, "shown from its start");
        vm.warp(expiresAt);
        assertEq(_expiresAt(), expiresAt + PERIOD);
        assertEq(_window().balanceTinybar, 2 * PRICE);
        assertEq(_window().scheduledAt, expiresAt + PERIOD, "its successor is armed");
    }

    function test_Renew_BooksTheGasFromTheLockAndFreesTheRest() external {
        _open(4);
        uint256 reserve = access.books().reserveTinybar;
        _passTo(_expiresAt());
        uint256 spent = reserve - access.books().reserveTinybar;
        assertGe(spent, lastGasUsed * gasPrice, "never less than the network billed");
        assertLe(spent, (lastGasUsed + 12_000) * gasPrice, "and little more");
        assertEq(access.books().lockedTinybar, _lock());
        _assertSolvent();
    }

    function test_Renew_DoesNotDriftOver1000Periods() external {
        _setOffer(HBAR, 60, 5);
        _armAlways();
        _open(stranger, agent, 1_001 * HBAR);
        vm.deal(address(this), 3_000 * HBAR);
        access.fundReserve{value: 3_000 * HBAR}();
        uint64 first = _expiresAt();
        uint256 count = _passTo(first + 999 * 60);
        assertEq(count, 1_000);
        assertEq(_window(agent).expiresAt, first + 1_000 * 60);
        assertEq(_window(agent).balanceTinybar, 0);
        _assertSolvent();
    }

    function test_Renew_ChargesAllThatWasMissedAtOnce() external {
        _open(10);
        uint64 expiresAt = _expiresAt();
        _stallTo(expiresAt + 3 * PERIOD + 5);
        assertTrue(_window().isOpen, "nobody lost access");
        assertEq(_window().balanceTinybar, 5 * PRICE);
        _passTo(expiresAt + 3 * PERIOD + 5);
        assertEq(_window(agent).expiresAt, expiresAt + 4 * PERIOD);
        assertEq(_window(agent).balanceTinybar, 5 * PRICE);
        assertEq(_slot(agent).scheduledAt, expiresAt + 4 * PERIOD);
    }

    function test_Renew_LetsTheWindowCloseWhenTheBalanceIsSpent() external {
        _open(2);
        uint64 expiresAt = _expiresAt();
        assertEq(_passTo(expiresAt + PERIOD - 1), 1);
        assertTrue(_window().isOpen);
        assertEq(_window().schedule, address(0));
        assertEq(_passTo(expiresAt + PERIOD), 0);
        assertFalse(_window().isOpen);
        assertEq(_window().periodsFunded, 0);
    }

    function test_Renew_BooksTheGasOfACallThatIsNotPending() external {
        _open(4);
        IAccessWindow.Books memory before = access.books();
        _renewAsNetwork(_slotId(), uint64(START) + 17);
        assertEq(access.books().lockedTinybar, before.lockedTinybar);
        assertLt(access.books().reserveTinybar, before.reserveTinybar);
        assertEq(_window().expiresAt, START + PERIOD, "a wrong second moves no window");
    }

    function test_Renew_RevertWhen_AnyoneCallsBeforeTheSecond() external {
        _open(4);
        uint64 expiresAt = _expiresAt();
        uint256 slotId = _slotId();
        vm.warp(expiresAt - 1);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotDue.selector, expiresAt, expiresAt - 1)
        );
        access.renew(slotId, expiresAt);
    }

    function test_Renew_ByAnyoneLeavesThePendingScheduleToItsCall() external {
        _open(4);
        uint64 expiresAt = _expiresAt();
        address schedule = _window().schedule;
        vm.warp(expiresAt);
        access.renew(_slotId(), expiresAt);
        assertEq(_window(agent).expiresAt, expiresAt + PERIOD);
        assertEq(_slot(agent).schedule, schedule);
        _passTo(expiresAt + 10);
        assertEq(_window(agent).expiresAt, expiresAt + PERIOD, "its call finds the window renewed");
        assertEq(_slot(agent).scheduledAt, expiresAt + PERIOD, "and arms the successor");
        assertEq(_window(agent).balanceTinybar, 2 * PRICE, "charged once");
    }

    function test_Renew_TakesGasBeyondTheLockFromReserveThenEarningsThenOwes() external {
        access = _deploy({reserve: _lock()});
        _open(4);
        uint256 deposits = access.books().depositsTinybar;
        assertEq(access.books().reserveTinybar, 0);
        vm.deal(address(access), 2_000 * HBAR); // the network takes gas from the whole balance
        _setGasPrice(50_000);
        _passTo(_expiresAt());
        IAccessWindow.Books memory books = access.books();
        assertEq(books.reserveTinybar, 0);
        assertEq(books.earnedTinybar, 0, "earnings pay next");
        assertGt(books.shortfallTinybar, 0);
        assertEq(books.depositsTinybar, deposits - PRICE, "deposits pay for periods only");
        _assertSolvent();

        vm.startPrank(owner);
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_ShortfallOutstanding.selector, books.shortfallTinybar
            )
        );
        access.withdrawEarnings(payable(owner), 0);
        vm.stopPrank();

        vm.deal(address(this), 2 * uint256(books.shortfallTinybar));
        access.fundReserve{value: 2 * uint256(books.shortfallTinybar)}();
        assertEq(access.books().shortfallTinybar, 0, "repaid first");
        assertEq(access.books().reserveTinybar, books.shortfallTinybar);
    }

    function test_Renew_TakesTheNextFreeSecondAmongThoseProbed() external {
        // eight schedules of 1.8 M gas fill a second of 15 M; probed are 0, 1, 2, 4, 8, 16, 32 and 64 s after the one wanted
        uint64[8] memory offsets = [uint64(0), 1, 2, 4, 8, 16, 32, 64];
        for (uint256 i; i < 8; ++i) {
            access = _deploy({reserve: 100 * HBAR});
            _open(2);
            assertEq(_window().scheduledAt, START + PERIOD + offsets[i]);
            for (uint256 j; j < 7; ++j) {
                access = _deploy({reserve: 100 * HBAR});
                _open(2);
            }
        }
        access = _deploy({reserve: 100 * HBAR});
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, 370);
        _open(2);
    }

    function test_Renew_OfALaterSecondDoesNotDrift() external {
        vm.mockCall(address(SCHEDULE_SERVICE), _capacityAt(uint64(START) + PERIOD), abi.encode(false));
        vm.mockCall(address(SCHEDULE_SERVICE), _capacityAt(uint64(START) + PERIOD + 1), abi.encode(false));
        _open(4);
        assertEq(_window().scheduledAt, START + PERIOD + 2);
        _passTo(START + PERIOD + 2);
        assertEq(_window().expiresAt, START + 2 * PERIOD);
        assertEq(_window().scheduledAt, START + 2 * PERIOD);
        _assertSolvent();
    }

    function _capacityAt(uint64 second) private pure returns (bytes memory) {
        return abi.encodeCall(IScheduleService.hasScheduleCapacity, (second, 1_824_603));
    }

    function test_Renew_GoesOnLazilyWhenEveryProbedSecondIsBusy() external {
        _configure({gasPerSecond: 1, createGas: 0, forcedCode: 0});
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, 370);
        _open(4);
        _passTo(START + PERIOD + 1);
        assertTrue(_window().isOpen);
    }

    function test_Renew_KeepsGasToFinishWhenSchedulingIsStarved() external {
        _open(4);
        _configure({gasPerSecond: 0, createGas: 14_000_000, forcedCode: 0});
        _passTo(_expiresAt());
        assertEq(lastStatus, STATUS_SUCCESS);
        assertEq(_window(agent).expiresAt, START + 2 * PERIOD);
        assertEq(_slot(agent).schedule, address(0));
        _assertSolvent();
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 0});
        access.poke(agent);
        assertEq(_slot(agent).scheduledAt, START + 2 * PERIOD);
    }

    function testFuzz_I9_RenewNeverRevertsForTheNetwork(
        uint256 slotId,
        uint64 second,
        uint8 state,
        int64 code,
        uint64 at
    ) external {
        _open(4);
        if (state & 1 != 0) _cancel(agent);
        if (state & 2 != 0) _record(agent, int32(QUOTA), _expiresAt());
        if (state & 64 == 0) _configure({gasPerSecond: 0, createGas: 0, forcedCode: code});
        if (state & 4 != 0) vm.mockCall(address(SCHEDULE_SERVICE), bytes(""), abi.encode(code, slotId));
        if (state & 8 != 0) {
            vm.mockCall(address(SCHEDULE_SERVICE), bytes(""), abi.encode(type(uint256).max, type(uint256).max));
        }
        if (state & 16 != 0) vm.mockCallRevert(address(SCHEDULE_SERVICE), bytes(""), bytes(""));
        if (state & 32 != 0) vm.mockCall(address(SCHEDULE_SERVICE), bytes(""), bytes(""));
        if (state & 128 != 0) _setGasPrice(type(uint64).max);
        vm.warp(bound(at, START, START + 100 * 365 days));
        uint256[2] memory slotIds = [slotId, _slotId()];
        uint64[3] memory seconds_ = [second, _window().expiresAt, _slot().scheduledAt];
        for (uint256 i; i < 6; ++i) {
            vm.prank(address(access), address(access));
            access.renew{gas: 1_800_000}(slotIds[i % 2], seconds_[i / 2]);
        }
    }

    function test_TwoAgentsDoNotTouchEachOther() external {
        address other = makeAddr("other");
        _open(4);
        _stallTo(_consensus() + 100);
        _open(stranger, other, 2 * PRICE);
        _record(other, 7, _window(other).expiresAt);
        _passTo(START + PERIOD + 1);
        assertEq(_window(agent).expiresAt, START + 2 * PERIOD);
        assertEq(_window(other).expiresAt, START + 100 + PERIOD);
        assertEq(_window(other).callsUsed, 7);
        _passTo(START + 100 + PERIOD);
        assertEq(_window(other).balanceTinybar, 0);
        assertEq(_window(agent).balanceTinybar, 2 * PRICE);
        _assertSolvent();
    }
}
