// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Vm} from "forge-std/Vm.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Whether a renewal is worth its call, and what the call is given when gas, the dollar or the service change.
contract ArmingTest is AccessWindowTest {
    /// @dev 12 US cents at 7.82 cents per HBAR, and 60,000 gas at 109 tinybar.
    uint256 private constant COST = 153_518_123 + 60_000 * 109;
    int64 private constant NONE = type(int64).max;

    // -------------------------------------------------------------------------------------------------- floor

    function test_A19_ASlotArmsWhenItsNextCallEarnsTheFloorToTheTinybar() external {
        _sell(uint64(COST - 1), 2);
        assertEq(_code(), -2);
        assertEq(_window().schedule, address(0));
        assertTrue(access.hasAccess(agent, uint64(START) + 2 * PERIOD - 1), "windows go on lazily");
        _open(stranger, stranger, 2 * (COST - 1));
        assertNotEq(_window().schedule, address(0), "two small ones pay together");
        access = _deploy({reserve: 100 * HBAR});
        _sell(uint64(COST), 2);
        assertNotEq(_window().schedule, address(0));
    }

    function test_A19_TheFloorIsThePercentageThatTheOwnerSet() external {
        uint16[5] memory floors = [uint16(0), 50, 100, 150, 10_000];
        for (uint256 i; i < floors.length; ++i) {
            access = _deploy({reserve: 100 * HBAR});
            vm.prank(owner);
            access.setArming(1_200, floors[i]);
            uint256 floor = COST * floors[i] / 100;
            if (floor > PRICE_MIN) {
                _sell(uint64(floor - 1), 2);
                assertEq(_code(), -2);
            }
            access = _deploy({reserve: 100 * HBAR});
            vm.prank(owner);
            access.setArming(1_200, floors[i]);
            _sell(uint64(floor < PRICE_MIN ? PRICE_MIN : floor), 2);
            assertNotEq(_window().schedule, address(0));
        }
    }

    function test_A19_ASlotBelowTheFloorIsNamedWithItsNextSecond() external {
        vm.prank(owner);
        access.setOffer(HBAR, PERIOD, QUOTA, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, -2);
        _open(stranger, agent, 2 * HBAR);
    }

    function test_A19_LateJoinersPayForTheSecondAfterTheNext() external {
        _deploySlots(60);
        vm.prank(owner);
        access.setOffer(HBAR, PERIOD, QUOTA, 60);
        _open(stranger, agent, 5 * HBAR);
        uint64 end = _expiresAt();
        assertEq(_window().schedule, address(0));
        vm.warp(end - 30);
        _open(stranger, stranger, 2 * HBAR);
        assertEq(_window().scheduledAt, end + PERIOD, "at the next second one pays, at the one after it both");
        _passTo(end + PERIOD);
        assertEq(access.books().earnedTinybar, 2 * HBAR + 3 * HBAR);
    }

    function test_A19_LateJoinersAreCountedToTheTinybar() external {
        _deploySlots(60);
        vm.startPrank(owner);
        access.setArming(1_200, 200);
        access.setOffer(uint64(COST), PERIOD, QUOTA, 60);
        vm.stopPrank();
        _open(stranger, agent, 5 * COST);
        uint64 end = _expiresAt();
        vm.warp(end - 30);
        _open(stranger, stranger, 2 * COST);
        assertEq(_window().scheduledAt, end + PERIOD, "two prices are just the floor");
    }

    function test_A19_AFloorOfNoneArmsNothingThatEarnsNothing() external {
        _armAlways();
        _open(2);
        vm.recordLogs();
        _passTo(_expiresAt());
        assertEq(_slot().live, 1, "its last window is open");
        assertEq(_slot().schedule, address(0));
        assertEq(_code(), NONE, "there is nothing to arm, and nothing to say");
        assertEq(access.books().lockedTinybar, 0);
    }

    function test_A19_SellersOfDustArmOnceTheyAreManyEnough() external {
        vm.prank(owner);
        access.setOffer(HBAR / 100, 60, 10, 60);
        for (uint256 i; i < 200; ++i) {
            vm.recordLogs();
            _open(stranger, _who(i), HBAR / 10);
            bool isPaid = (i + 1) * HBAR / 100 >= COST;
            assertEq(_code(), isPaid ? NONE : int64(-2));
            assertEq(_window(_who(i)).schedule != address(0), isPaid);
        }
        IAccessWindow.Books memory before = access.books();
        _passTo(block.timestamp + 300);
        IAccessWindow.Books memory books = access.books();
        assertGt(
            books.earnedTinybar + books.reserveTinybar + books.lockedTinybar,
            before.earnedTinybar + before.reserveTinybar + before.lockedTinybar,
            "renewals earn more than they cost"
        );
        _assertSolvent();
    }

    function test_A19_RenewalsEndWhereTheyNoLongerPay() external {
        vm.prank(owner);
        access.setOffer(HBAR, PERIOD, QUOTA, 1);
        _open(stranger, agent, 2 * HBAR);
        _open(stranger, stranger, 5 * HBAR);
        uint64 end = _expiresAt();
        vm.recordLogs();
        _passTo(end);
        assertEq(_code(), -2, "one of two is left");
        assertEq(_slot().schedule, address(0));
        _passTo(end + 3 * PERIOD + 1);
        assertTrue(_window(stranger).isOpen);
        access.poke(stranger);
        assertEq(access.books().earnedTinybar, 2 * HBAR + 4 * HBAR);
    }

    // ------------------------------------------------------------------------------------------ price of gas

    function test_A20_AThirdOfTheGasPriceGoesOnArming() external {
        _setSchedulePrice(12);
        _setGasPrice(36);
        _open(4);
        uint64 end = _expiresAt();
        assertEq(_window().scheduledAt, end);
        uint256 scheduleGas = uint256(153_518_123) * 11 / 10 / 36;
        uint256 limit = scheduleGas * 64 / 63 + 60_000 + 190_000;
        assertEq(access.books().lockedTinybar, limit * 2 * 36);
        assertEq(SCHEDULE_SERVICE.scheduleAt(_window().schedule).gasLimit, limit);
        (uint64 transactionGas, uint64 scheduledGas) = access.armingGas();
        assertEq(scheduledGas, limit);
        assertEq(transactionGas, limit + 250_000);
        _passTo(end);
        assertEq(lastStatus, STATUS_SUCCESS);
        assertGt(lastGasUsed, 4_000_000);
        assertEq(_window().scheduledAt, end + PERIOD, "armed again");
        _assertSolvent();
    }

    function test_A20_ACallArmedBeforeTheChangeRenewsAndOnePokeArmsAnew() external {
        _setSchedulePrice(12);
        _open(4);
        uint64 end = _expiresAt();
        _setGasPrice(36);
        vm.recordLogs();
        _passTo(end);
        assertEq(lastStatus, STATUS_SUCCESS);
        assertEq(_code(), -1);
        assertLt(lastGasUsed, 110_000, "nothing is burned");
        assertEq(access.books().earnedTinybar, 2 * PRICE, "renewed all the same");
        access.poke(agent);
        _newTransaction();
        assertEq(_window().scheduledAt, end + PERIOD);
        _passTo(end + PERIOD);
        assertEq(lastStatus, STATUS_SUCCESS);
        assertEq(_window().scheduledAt, end + 2 * PERIOD);
        _assertSolvent();
    }

    function test_A20_AGasPriceSoLowThatNoTransactionSchedulesArmsNothing() external {
        _setGasPrice(12); // 153,518,123 × 1.1 / 12 is over 14 M
        _armAlways();
        vm.recordLogs();
        _open(4);
        assertEq(_code(), -1);
        assertEq(access.renewalsReserveCanArm(), 0);
        assertTrue(_window().isOpen);
        _setGasPrice(13);
        access.poke(agent);
        assertNotEq(_window().schedule, address(0), "12.99 M");
        assertGt(access.renewalsReserveCanArm(), 0);
    }

    function test_A20_ARisingGasPriceNeverGivesLessThanWasMeasured() external {
        _setGasPrice(400);
        _armAlways();
        _open(4);
        assertEq(access.books().lockedTinybar, LOCKED_GAS * 400);
    }

    // --------------------------------------------------------------------------------------- price in dollars

    function test_A20_ADearerScheduleServiceIsMetBySetArming() external {
        _setSchedulePrice(24);
        vm.recordLogs();
        _open(4);
        assertEq(_code(), -1);
        assertEq(access.books().lockedTinybar, 0);
        vm.prank(owner);
        access.setArming(2_400, 50);
        access.poke(agent);
        _newTransaction();
        assertNotEq(_window().schedule, address(0));
        _passTo(_expiresAt());
        assertEq(lastStatus, STATUS_SUCCESS);
        assertEq(_window().scheduledAt, _window().expiresAt);
    }

    function test_A20_AnExchangeRateThatDoesNotAnswerFallsBackOnWhatWasMeasured() external {
        address rate = address(0x168);
        bytes[3] memory answers = [abi.encode(uint256(type(uint64).max) + 1), new bytes(31), abi.encode(uint256(0))];
        for (uint256 i; i < 3; ++i) {
            vm.mockCall(rate, bytes(""), answers[i]);
            _assertArmsAsMeasured();
        }
        vm.mockCallRevert(rate, bytes(""), abi.encode(uint256(1e9)));
        _assertArmsAsMeasured();
        vm.clearMockedCalls();
        vm.etch(rate, "");
        _assertArmsAsMeasured();
    }

    function test_A20_TheLargestPlausibleAnswerOfTheRateIsBelieved() external {
        vm.mockCall(address(0x168), bytes(""), abi.encode(uint256(type(uint64).max)));
        vm.recordLogs();
        _open(4);
        assertEq(_code(), -2, "no window pays for such a call");
    }

    function test_A20_AFailingServiceIsNotAskedTwice() external {
        _setSchedulePrice(24);
        _open(4);
        vm.recordLogs();
        access.poke(agent);
        assertEq(_code(), -1);
        assertEq(access.books().reserveTinybar, 100 * HBAR);
    }

    // -------------------------------------------------------------------------------------------------- inside

    function _sell(uint64 price, uint256 periods) private {
        vm.prank(owner);
        access.setOffer(price, PERIOD, QUOTA, 1);
        vm.recordLogs();
        _open(stranger, agent, periods * price);
    }

    /// @dev What the call costs is then 1,410,000 and 60,000 gas.
    function _assertArmsAsMeasured() private {
        uint64 cost = 1_470_000 * 109;
        access = _deploy({reserve: 100 * HBAR});
        _sell(cost - 1, 2);
        assertEq(_code(), -2);
        access = _deploy({reserve: 100 * HBAR});
        _sell(cost, 2);
        uint256 limit = uint256(1_551_000) * 64 / 63 + 250_000;
        assertEq(access.books().lockedTinybar, limit * 2 * 109);
    }

    /// @dev Code of the last RenewalNotArmed since `vm.recordLogs`.
    function _code() private returns (int64 code) {
        code = NONE;
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] != IAccessWindowEvents.RenewalNotArmed.selector) continue;
            (, code) = abi.decode(logs[i].data, (uint64, int64));
        }
    }
}
