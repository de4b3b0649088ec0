// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {Metering} from "../../src/libraries/Metering.sol";
import {Network} from "../../src/libraries/Network.sol";
import {Offers} from "../../src/libraries/Offers.sol";
import {Renewals} from "../../src/libraries/Renewals.sol";
import {Slots} from "../../src/libraries/Slots.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice The seller's accounts at their limits, and the price of gas that locks are made of.
contract BooksTest is AccessWindowTest {
    // ------------------------------------------------------------------------------------------------- limits

    function test_Credit_TakesUpToWhatTheBooksHoldAndNoTinybarMore() external {
        uint256 room = type(uint64).max - 100 * HBAR;
        vm.deal(stranger, type(uint128).max);
        vm.startPrank(stranger);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_AmountTooLarge.selector, room + 1));
        access.fundReserve{value: room + 1}();
        access.fundReserve{value: room}();
        assertEq(access.books().reserveTinybar, type(uint64).max);
    }

    function test_Credit_CountsEveryAccount() external {
        _open(3);
        _open(stranger, stranger, 2 * PRICE);
        _cancel(stranger);
        IAccessWindow.Books memory books = access.books();
        assertGt(books.depositsTinybar, 0);
        assertGt(books.earnedTinybar, 0);
        assertGt(books.reserveTinybar, 0);
        assertGt(books.lockedTinybar, 0);
        assertGt(books.refundsTinybar, 0);
        uint256 room = type(uint64).max - address(access).balance;
        vm.deal(stranger, type(uint128).max);
        vm.startPrank(stranger);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_AmountTooLarge.selector, room + 1));
        access.fundReserve{value: room + 1}();
        access.fundReserve{value: room}();
    }

    // ---------------------------------------------------------------------------------------------- shortfall

    function test_Shortfall_IsRepaidFromTheReserveThenFromEarnings() external {
        uint64 lock = _lock();
        access = _deploy({reserve: lock + HBAR});
        _open(2);
        vm.deal(address(access), address(access).balance - 2 * HBAR); // gas of executions that reverted
        access.skim();
        IAccessWindow.Books memory books = access.books();
        assertEq(books.reserveTinybar, 0);
        assertEq(books.earnedTinybar, PRICE - HBAR);
        assertEq(books.lockedTinybar, lock);
        assertEq(books.shortfallTinybar, 0);

        vm.deal(address(access), address(access).balance - 3 * HBAR);
        access.skim();
        books = access.books();
        assertEq(books.earnedTinybar, 0);
        assertEq(books.shortfallTinybar, HBAR);

        vm.deal(address(this), HBAR);
        access.fundReserve{value: HBAR / 4}();
        books = access.books();
        assertEq(books.reserveTinybar, 0);
        assertEq(books.shortfallTinybar, 3 * HBAR / 4);
        access.fundReserve{value: 3 * HBAR / 4}();
        assertEq(access.books().shortfallTinybar, 0);
        _assertSolvent();
        vm.prank(owner);
        access.withdrawReserve(payable(owner), 0);
    }

    function test_Shortfall_BeyondAllTheBooksLeavesNothingOwed() external {
        _open(4);
        _setGasPrice(type(uint64).max);
        _renewAsNetwork(_slotId(), 0);
        IAccessWindow.Books memory books = access.books();
        assertEq(books.reserveTinybar, 0);
        assertEq(books.earnedTinybar, 0);
        uint64 repaid = 100 * HBAR - _lockAt(109) + PRICE;
        assertEq(books.shortfallTinybar, type(uint64).max - repaid, "as much as the books can hold");
        _setGasPrice(109);
        uint256 held = address(access).balance;
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.Skimmed(uint64(held));
        access.skim();
        assertEq(access.books().shortfallTinybar, type(uint64).max - repaid - held);
    }

    // ---------------------------------------------------------------------------------------- price of gas

    function test_GasPrice_Is109UntilATransactionShowsOne() external {
        _setGasPrice(0);
        access = _deploy({reserve: 100 * HBAR});
        assertEq(access.renewalsReserveCanArm(), 100 * HBAR / (LOCKED_GAS * 109));
        _open(2);
        assertEq(access.books().lockedTinybar, LOCKED_GAS * 109);
    }

    function test_GasPrice_OfASimulationChangesNothing() external {
        _setGasPrice(200);
        access.skim();
        _setGasPrice(0);
        access.skim();
        assertEq(access.renewalsReserveCanArm(), 100 * HBAR / (LOCKED_GAS * 200));
        vm.deal(address(this), HBAR);
        access.fundReserve{value: HBAR}();
        assertEq(access.renewalsReserveCanArm(), 101 * HBAR / (LOCKED_GAS * 200), "what was seen stays");
    }

    function test_GasPrice_IsNotedWhenTheBooksAreStored() external {
        _setGasPrice(218);
        vm.prank(owner);
        access.pauseSales(false);
        assertEq(access.renewalsReserveCanArm(), 100 * HBAR / (LOCKED_GAS * 218));
    }

    function test_GasPrice_DecidesTheLockToTheTinybar() external {
        access = _deploy({reserve: LOCKED_GAS * 109 - 1});
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, 0);
        _open(2);
        access = _deploy({reserve: LOCKED_GAS * 109});
        _open(2);
        assertEq(access.books().lockedTinybar, LOCKED_GAS * 109);
        assertEq(access.books().reserveTinybar, 0);
    }

    function test_GasPrice_ThatNoLockCanHoldArmsNothing() external {
        vm.deal(stranger, type(uint128).max);
        vm.prank(stranger);
        access.fundReserve{value: type(uint64).max / 2}();
        _armAlways();
        uint256 highest = type(uint48).max / LOCKED_GAS;
        _setGasPrice(highest + 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, 0);
        _open(2);
        _setGasPrice(highest);
        access.poke(agent);
        assertEq(_slot(agent).lockTinybar, LOCKED_GAS * highest);
    }

    // ---------------------------------------------------------------------------------------------- constants

    function test_Constants_AreWhatTheDocumentsSay() external pure {
        assertEq(Network.LOCK_SAFETY, 2);
        assertEq(Network.SCHEDULE_GAS_MIN, 1_550_000);
        assertEq(Network.SCHEDULE_GAS_MAX, 14_000_000);
        assertEq(Slots.OVERDUE_SECONDS, 30);
        assertEq(Renewals.SETTLEMENT_GAS, 36_000);
        assertEq(Metering.LATE_USAGE_SECONDS, 60);
        assertEq(Metering.EARLY_USAGE_SECONDS, 10);
        assertEq(Offers.REPLACED_OFFER_SECONDS, 600);
        assertEq(Offers.PERIOD_SECONDS_MIN, 10);
        assertEq(Offers.AHEAD_SECONDS_MAX, 5_356_000);
    }

    // ------------------------------------------------------------------------------------------------- inside

    function _lockAt(uint256 price) private pure returns (uint64) {
        return uint64(LOCKED_GAS * price);
    }
}
