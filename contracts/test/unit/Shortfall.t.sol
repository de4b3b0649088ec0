// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Gas beyond a lock, to the tinybar.
contract ShortfallTest is AccessWindowTest {
    function test_Shortfall_IsWhatTheLockDoesNotCover() external {
        _open(10);
        _stallTo(_expiresAt() + 33);
        vm.deal(address(access), address(access).balance - _lock() - 5 * HBAR); // an execution that reverted
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(_lock() + 5 * HBAR, 0);
        access.reap(agent);
        IAccessWindow.Books memory books = access.books();
        assertEq(books.lockedTinybar, _lock(), "of the next renewal");
        assertEq(books.reserveTinybar, 100 * HBAR - 2 * _lock() - 5 * HBAR);
        _assertSolvent();
    }

    function test_Shortfall_IsNoneWhereTheLockCoversAllToTheTinybar() external {
        _open(10);
        _stallTo(_expiresAt() + 33);
        vm.deal(address(access), address(access).balance - _lock());
        access.reap(agent);
        assertEq(access.books().reserveTinybar, 100 * HBAR - 2 * _lock());
    }

    function test_Shortfall_ThatIsNotBookedYetBlocksAWithdrawal() external {
        access = _deploy({reserve: 0});
        _open(2);
        vm.prank(owner);
        access.withdrawEarnings(payable(owner), PRICE);
        vm.deal(address(access), address(access).balance - 3);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_ShortfallOutstanding.selector, 3));
        vm.prank(owner);
        access.withdrawEarnings(payable(owner), 0);
    }

    function test_Shortfall_OfAnAbsurdGasPriceIsSaidAsTheLargestAmount() external {
        _open(4);
        _setGasPrice(type(uint64).max);
        uint64 reserve = access.books().reserveTinybar;
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GasCharged(type(uint64).max, type(uint64).max - reserve - PRICE);
        _renewAsNetwork(_slotId(), 0);
    }
}
