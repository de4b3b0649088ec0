// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice The last second that a subscription's word holds, in the year 4147: what one purchase pays for beyond it waits.
contract FurthestTest is AccessWindowTest {
    uint256 private constant LAST = 2 ** 36 - 1;
    uint32 private constant LONG = 5_356_000;
    /// @dev Whole periods from the end of the first window to the last second.
    uint256 private constant ROOM = (LAST - START - LONG) / LONG;

    function setUp() public override {
        super.setUp();
        _setOffer(PRICE_MIN, LONG, 1);
    }

    function test_Furthest_FundsUpToTheLastSecondAndKeepsTheRest() external {
        _openPaid(_purchase(agent, 0), 20_000 * uint256(PRICE_MIN));
        assertEq(access.stored(agent).fundedUntil, START + LONG + ROOM * LONG);
        assertEq(access.purseOf(agent).changeTinybar, (20_000 - 1 - ROOM) * PRICE_MIN);
        IAccessWindow.Window memory window = _window();
        assertEq(window.balanceTinybar, 19_999 * PRICE_MIN);
        assertEq(window.periodsFunded, ROOM);
        _topUp(stranger, agent, 5);
        assertEq(access.purseOf(agent).changeTinybar, (19_999 - ROOM) * PRICE_MIN + 5);
        _cancel(agent);
        assertEq(access.refundOf(agent), 19_999 * PRICE_MIN + 5);
        assertEq(access.books().depositsTinybar, 0);
        assertEq(_slot().live, 0);
    }

    function test_Furthest_FundsTheLastPeriodThatFits() external {
        _openPaid(_purchase(agent, 0), (ROOM + 1) * PRICE_MIN);
        assertEq(access.stored(agent).fundedUntil, START + LONG + ROOM * LONG);
        assertEq(access.purseOf(agent).changeTinybar, 0);
        _topUp(stranger, agent, PRICE_MIN);
        assertEq(access.purseOf(agent).changeTinybar, PRICE_MIN);
        assertTrue(access.hasAccess(agent, uint64(START + LONG + ROOM * LONG - 1)));
        assertFalse(access.hasAccess(agent, uint64(START + LONG + ROOM * LONG)));
    }
}
