// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice How far ahead money buys periods at pinned terms, and what becomes of money beyond that (A26).
contract ReachTest is AccessWindowTest {
    uint256 private constant REACH = 31 days;
    /// @dev Periods from the end of a first window, opened at START, to the reach.
    uint256 private constant AHEAD = REACH / PERIOD - 1;
    uint256 private constant YEAR = 365 days / PERIOD;

    // ------------------------------------------------------------------------------------------------- mistakes

    function test_A26_SetOfferOf3TinybarByMistakeIsRefused() external {
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_InvalidOffer.selector, 3, PERIOD, QUOTA, 1)
        );
        _setOffer(3, PERIOD, QUOTA);
    }

    function test_A26_AnOfferSetByMistakeEndsThoughOneOpenedOnIt() external {
        _setOffer(PRICE_MIN, PERIOD, QUOTA);
        _open(stranger, agent, PRICE_MIN);
        _setOffer(PRICE, PERIOD, QUOTA);
        _topUp(agent, agent, 10 * YEAR * PRICE_MIN);
        assertTrue(access.hasAccess(agent, uint64(START + REACH - 1)));
        assertFalse(access.hasAccess(agent, uint64(START + REACH)));
        assertEq(_window().periodsFunded, AHEAD);
        vm.warp(START + 10 days);
        access.poke(agent);
        assertEq(access.stored(agent).fundedUntil, START + REACH, "what waits buys nothing at replaced terms");
        vm.warp(START + REACH);
        access.poke(agent);
        assertFalse(_window().isOpen, "nor at dearer ones, unless the agent says so");
        assertEq(_window().balanceTinybar, (10 * YEAR - AHEAD) * PRICE_MIN, "it waits");
        _cancel(agent);
        assertEq(access.refundOf(agent), (10 * YEAR - AHEAD) * PRICE_MIN, "and is the agent's");
    }

    function test_A26_NobodyFundsYearsAtTodaysPrice() external {
        _open(2 * YEAR);
        _topUp(stranger, agent, YEAR * PRICE + 1);
        assertEq(_window().periodsFunded, AHEAD);
        assertEq(_window().balanceTinybar, (3 * YEAR - 1) * PRICE + 1);
        assertEq(access.stored(agent).fundedUntil, START + REACH);
        _cancel(agent);
        assertEq(access.refundOf(agent), (3 * YEAR - 1) * PRICE + 1);
        assertEq(access.books().depositsTinybar, 0);
    }

    // ------------------------------------------------------------------------------------------ longer than that

    function test_A26_OnePurchaseIsWholeHoweverLongItsPeriodsAre() external {
        _setOffer(PRICE, 20 days, QUOTA);
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        assertEq(_window().periodsFunded, 3);
        assertEq(_window().balanceTinybar, 3 * PRICE);
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        assertEq(_window().periodsFunded, 4, "from the end of what is charged");
        assertEq(_window().balanceTinybar, 7 * PRICE);
        _topUp(stranger, agent, PRICE);
        assertEq(_window().periodsFunded, 4, "which a top-up does not extend");
        vm.warp(START + 20 days);
        access.poke(agent);
        assertEq(_window().periodsFunded, 3, "three more reach further than one and 31 days");
    }

    function test_A26_OnePurchaseAtADearerPriceBuysNoMorePeriodsThanItsOwn() external {
        _setOffer(PRICE_MIN, 20 days, QUOTA);
        _open(stranger, agent, PRICE_MIN);
        _setOffer(PRICE, PERIOD, QUOTA);
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        assertEq(_window().periodsFunded, 4);
        assertEq(_window().balanceTinybar, 4 * PRICE);
    }

    function test_A26_OnePeriodFurtherIsAlwaysPaidFor() external {
        _setOffer(PRICE, 40 days, QUOTA);
        _open(stranger, agent, 3 * PRICE);
        assertEq(_window().periodsFunded, 1);
        vm.warp(START + 40 days);
        assertTrue(_window().isOpen);
        assertEq(_window().periodsFunded, 0);
        access.poke(agent);
        assertEq(_window().periodsFunded, 1, "and so is the next");
        assertEq(_window().expiresAt, START + 80 days);
    }

    // ---------------------------------------------------------------------------------------------- what waits

    function test_A26_WhatWaitsBecomesPeriodsAsTimePassesWhileTheOfferIsTheCurrentOne() external {
        _open(2 * YEAR);
        vm.warp(START + PERIOD - 1);
        access.poke(agent);
        assertEq(access.stored(agent).fundedUntil, START + REACH, "a period that does not end within the reach");
        vm.warp(START + PERIOD);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionToppedUp(agent, stranger, 0, uint64((2 * YEAR - 2) * PRICE));
        vm.prank(stranger);
        access.poke(agent);
        assertEq(access.stored(agent).fundedUntil, START + REACH + PERIOD);
        vm.warp(START + 3 * PERIOD);
        _topUp(stranger, agent, 1);
        assertEq(access.stored(agent).fundedUntil, START + REACH + 3 * PERIOD);
        assertEq(_window().balanceTinybar, (2 * YEAR - 4) * PRICE + 1);
        _assertSolvent();
    }

    function test_A26_WhatWaitsGoesOnWhereANewOfferHasTheSameTerms() external {
        _open(2 * YEAR);
        vm.prank(owner);
        access.setOffer(PRICE, PERIOD, QUOTA, 60);
        vm.warp(START + PERIOD);
        access.poke(agent);
        assertEq(access.stored(agent).fundedUntil, START + REACH + PERIOD);
        uint64[3] memory prices = [PRICE + 1, PRICE, PRICE];
        uint32[3] memory periods = [PERIOD, PERIOD - 1, PERIOD];
        uint32[3] memory quotas = [QUOTA, QUOTA, QUOTA + 1];
        for (uint256 i; i < 3; ++i) {
            _setOffer(prices[i], periods[i], quotas[i]);
            vm.warp(START + (i + 2) * PERIOD);
            access.poke(agent);
            assertEq(access.stored(agent).fundedUntil, START + REACH + PERIOD, "these are others");
        }
    }

    function test_A26_WhatWaitsOpensAWindowOnTheCurrentOfferOnceTheLastHasClosed() external {
        uint256 left = _closeWithSomethingWaiting();
        _setOffer(PRICE / 2, PERIOD, QUOTA + 1);
        vm.expectEmit(true, true, false, false, address(access));
        emit IAccessWindowEvents.SubscriptionOpened(agent, stranger, 0, 1, 0, 0, address(0), 0);
        vm.prank(stranger);
        access.poke(agent);
        IAccessWindow.Window memory window = _window();
        assertTrue(window.isOpen);
        assertEq(window.expiresAt, block.timestamp + PERIOD);
        assertEq(window.priceTinybar, PRICE / 2);
        assertEq(window.balanceTinybar, left - PRICE / 2);
        assertEq(window.periodsFunded, AHEAD);
        _assertSolvent();
    }

    function test_A26_WhatWaitsBuysWorseTermsOnlyForTheAgentItself() external {
        uint256 left = _closeWithSomethingWaiting();
        uint64[3] memory prices = [PRICE + 1, PRICE, PRICE];
        uint32[3] memory periods = [PERIOD, PERIOD - 1, PERIOD];
        uint32[3] memory quotas = [QUOTA, QUOTA, QUOTA - 1];
        for (uint256 i; i < 3; ++i) {
            _setOffer(prices[i], periods[i], quotas[i]);
            vm.prank(owner);
            access.poke(agent);
            assertFalse(_window().isOpen, "or the owner could spend every balance by a new offer");
        }
        vm.prank(agent);
        access.poke(agent);
        assertTrue(_window().isOpen);
        assertEq(_window().balanceTinybar, left - PRICE);
    }

    function test_A26_WhatWaitsIsClaimableWhereAnotherBuysOnWorseTerms() external {
        uint256 left = _closeWithSomethingWaiting();
        _setOffer(2 * PRICE, PERIOD, QUOTA);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionCancelled(agent, uint64(left));
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        assertEq(access.refundOf(agent), left);
        assertEq(access.books().refundsTinybar, left);
        assertEq(_window().balanceTinybar, 2 * PRICE);
        assertFalse(_window().isCancelled);
        _assertSolvent();
    }

    function test_A26_WhatWaitsIsAddedWhereTheAgentBuysOnWorseTerms() external {
        uint256 left = _closeWithSomethingWaiting();
        _setOffer(2 * PRICE, PERIOD, QUOTA);
        _open(agent, agent, 2 * PRICE);
        assertEq(access.refundOf(agent), 0);
        assertEq(_window().balanceTinybar, left);
    }

    function test_A26_WhatWaitsOpensNothingWhileNothingIsSold() external {
        _closeWithSomethingWaiting();
        vm.startPrank(owner);
        access.pauseSales(true);
        access.poke(agent);
        assertFalse(_window().isOpen);
        access.pauseSales(false);
        access.retireOffer(0);
        access.poke(agent);
        assertFalse(_window().isOpen);
        access.setOffer(PRICE, PERIOD, QUOTA, 1);
        access.poke(agent);
        assertTrue(_window().isOpen);
    }

    function test_A26_WhatWaitsOpensNothingWhereItDoesNotPayForAPeriod() external {
        _open(1);
        _topUp(stranger, agent, PRICE - 1);
        vm.warp(START + PERIOD);
        access.poke(agent);
        assertFalse(_window().isOpen);
        _setOffer(PRICE - 1, PERIOD, QUOTA);
        access.poke(agent);
        assertTrue(_window().isOpen);
        assertEq(_window().balanceTinybar, 0);
    }

    // --------------------------------------------------------------------------------------------------- inside

    /// @dev A closed window on the first offer, and a year's money that waits.
    function _closeWithSomethingWaiting() private returns (uint256 leftTinybar) {
        _open(YEAR);
        vm.warp(START + REACH);
        leftTinybar = _window().balanceTinybar;
        assertEq(leftTinybar, (YEAR - 1 - AHEAD) * PRICE);
        assertFalse(_window().isOpen);
    }
}
