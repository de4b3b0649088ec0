// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice The least price, one tinybar, one call, one unit of the gas price: the smallest amount counts like any other.
contract SmallestTest is AccessWindowTest {
    function test_Smallest_OfferOfTheLeastPriceTenSecondsAndOneCall() external {
        _setOffer(PRICE_MIN, 10, 1);
        _open(stranger, agent, PRICE_MIN);
        assertEq(_expiresAt(), START + 10);
        assertEq(_window().callsAllowed, 1);
        _open(stranger, stranger, 2 * PRICE_MIN);
        assertEq(access.windowOf(stranger, uint64(START)).periodsFunded, 1);
        assertEq(access.windowOf(stranger, uint64(START) + 10).expiresAt, START + 20);
    }

    function test_Smallest_RefundIsGivenBackAlsoOfAClosedWindow() external {
        _open(1);
        _topUp(stranger, agent, 1);
        vm.warp(_expiresAt());
        _cancel(agent);
        assertEq(access.refundOf(agent), 1);
        vm.prank(agent);
        access.claimRefund(payable(makeAddr("to")));
        assertEq(makeAddr("to").balance, 1);
    }

    function test_Smallest_ChangeOfTheGasPriceIsNotedAndDecidesTheLock() external {
        _setGasPrice(110);
        access.skim();
        assertEq(access.renewalsReserveCanArm(), 100 * HBAR / (LOCKED_GAS * 110));
        _setGasPrice(0);
        vm.deal(address(this), 1);
        access.fundReserve{value: 1}();
        assertEq(access.renewalsReserveCanArm(), 100 * HBAR / (LOCKED_GAS * 110), "a simulation does not forget it");
        _setGasPrice(111);
        access.skim();
        _setGasPrice(110);
        _open(2);
        assertEq(access.books().lockedTinybar, LOCKED_GAS * 110);
    }

    function test_Smallest_AmountOfGasIsBooked() external {
        vm.deal(address(access), address(access).balance - 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(1, 0);
        access.skim();
        assertEq(access.books().reserveTinybar, 100 * HBAR - 1);
    }

    function test_Smallest_ShortfallBlocksWithdrawalsGrowsAndIsRepaid() external {
        access = _deploy({reserve: 0});
        _open(2);
        _newTransaction();
        vm.prank(owner);
        access.withdrawEarnings(payable(owner), PRICE);
        vm.deal(address(access), address(access).balance - 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(1, 1);
        access.skim();
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_ShortfallOutstanding.selector, 1));
        vm.prank(owner);
        access.withdrawReserve(payable(owner), 0);

        vm.deal(address(access), address(access).balance - 1);
        access.skim();
        assertEq(access.books().shortfallTinybar, 2);

        vm.deal(address(this), 3);
        access.fundReserve{value: 1}();
        assertEq(access.books().shortfallTinybar, 1);
        access.fundReserve{value: 2}();
        IAccessWindow.Books memory books = access.books();
        assertEq(books.shortfallTinybar, 0);
        assertEq(books.reserveTinybar, 1);
        assertEq(address(access).balance, PRICE + 1, "I1 holds to the tinybar");
    }

    function test_Smallest_SurplusIsSkimmed() external {
        vm.deal(address(access), address(access).balance + 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.Skimmed(1);
        access.skim();
        assertEq(access.books().reserveTinybar, 100 * HBAR + 1);
    }
}
