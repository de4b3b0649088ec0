// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {StdInvariant} from "forge-std/StdInvariant.sol";
import {LeanTest} from "../LeanTest.sol";
import {ScheduleBook} from "../../devnet/ScheduleBook.sol";
import {ScheduleService} from "../../devnet/ScheduleService.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {Purse} from "../../src/libraries/Purses.sol";
import {Slot} from "../../src/libraries/Slots.sol";
import {Subscription} from "../../src/libraries/Subscriptions.sol";
import {AccessWindowHarness} from "../AccessWindowHarness.sol";
import {AccessHandler} from "./AccessHandler.sol";
import {ModelSubscription} from "./Model.sol";

/// @title I1 to I13, held under a random walk: see README.md beside this file
contract AccessWindowInvariantTest is StdInvariant, LeanTest {
    ScheduleService internal constant SCHEDULE_SERVICE = ScheduleService(address(0x16b));
    address internal constant NETWORK = 0x0000000000000000000000000000000000000062;

    AccessHandler internal handler;
    AccessWindowHarness internal access;

    function setUp() external {
        handler = new AccessHandler();
        access = handler.access();
        targetContract(address(handler));
    }

    function invariant_I1_TheBalanceCoversTheBooks() external view {
        IAccessWindow.Books memory books = access.books();
        uint256 owed = uint256(books.depositsTinybar) + books.earnedTinybar + books.reserveTinybar + books.lockedTinybar
            + books.refundsTinybar;
        assertGe(address(access).balance + books.shortfallTinybar + handler.unbookedTinybar(), owed);
    }

    function invariant_I2_TheBooksAreTheSumsOfTheirParts() external view {
        uint256 balances;
        uint256 refunds;
        uint256 locked;
        for (uint256 i; i < handler.agentCount(); ++i) {
            balances += access.windowOf(handler.agents(i), uint64(block.timestamp)).balanceTinybar;
            refunds += access.refundOf(handler.agents(i));
        }
        for (uint256 i; i < handler.slotCount(); ++i) {
            locked += access.slot(handler.slotIds(i)).lockTinybar;
        }
        IAccessWindow.Books memory books = access.books();
        assertGe(books.depositsTinybar, balances, "deposits: equal once booked, see I12");
        assertEq(books.lockedTinybar, locked, "locked");
        assertEq(books.refundsTinybar, refunds, "refunds");
    }

    function invariant_I3_UsageStaysWithinTheQuota() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            Subscription memory stored = access.stored(agent);
            Purse memory purse = access.purseOf(agent);
            assertLe(stored.callsUsed, stored.callsAllowed, "counted window");
            assertLe(stored.callsUsedPrevious, stored.callsAllowed, "the one before");
            assertLe(purse.closedUsed, purse.closedAllowed, "the one before it opened anew");
            assertEq(stored.callsUsed, handler.counted(agent, stored.countedUntil), "what was reported, no more");
            if (!stored.isFirst && stored.countedUntil != 0) {
                uint256 previous = stored.countedUntil - stored.periodSeconds;
                assertEq(stored.callsUsedPrevious, handler.counted(agent, previous), "there as well");
            }
            assertEq(purse.closedUsed, handler.counted(agent, purse.closedAt), "and there");
        }
    }

    function invariant_I4_WindowsMoveByWholePeriods() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            ModelSubscription memory model = handler.modelOf(agent);
            model.passTo(block.timestamp);
            // a window that was charged up to 10 s early shows from its start
            bool isEarly =
                model.expiresAt != handler.firstEnd(agent) && block.timestamp + model.periodSeconds < model.expiresAt;
            uint256 expected = isEarly ? model.expiresAt - model.periodSeconds : model.expiresAt;
            assertEq(access.windowOf(agent, uint64(block.timestamp)).expiresAt, expected, "no drift");
        }
    }

    function invariant_I5_WhatWasPaidIsDepositedChargedOrRefunded() external view {
        uint256 balances;
        uint256 due;
        for (uint256 i; i < handler.agentCount(); ++i) {
            ModelSubscription memory model = handler.modelOf(handler.agents(i));
            due += model.passTo(block.timestamp);
            balances += access.windowOf(handler.agents(i), uint64(block.timestamp)).balanceTinybar;
        }
        assertEq(
            balances + handler.chargedTinybar() + due + handler.cancelledTinybar(), handler.paidTinybar(), "no tinybar"
        );
    }

    function invariant_I6_AtMostOnePendingScheduleForEachSlot() external view {
        uint256 known;
        for (uint256 i; i < handler.slotCount(); ++i) {
            Slot memory slot = access.slot(handler.slotIds(i));
            assertEq(slot.schedule == address(0), slot.lockTinybar == 0, "locked if and only if armed");
            assertEq(slot.schedule == address(0), slot.scheduledAt == 0);
            if (slot.live == 0) assertEq(slot.rateTinybar, 0, "nobody is charged where nobody is");
            if (slot.schedule == address(0)) continue;
            ScheduleBook.Schedule memory schedule = SCHEDULE_SERVICE.scheduleAt(slot.schedule);
            assertEq(schedule.expirySecond, slot.scheduledAt);
            if (schedule.state == ScheduleBook.State.Pending) ++known;
        }
        for (uint256 i; i < handler.leftoverCount(); ++i) {
            ScheduleBook.Schedule memory schedule = SCHEDULE_SERVICE.scheduleAt(handler.leftovers(i));
            if (schedule.state == ScheduleBook.State.Pending) ++known;
        }
        assertEq(SCHEDULE_SERVICE.pendingCount(), known, "the network holds none that is not accounted for");
    }

    function invariant_I7_TheFundedHaveAccess() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            ModelSubscription memory model = handler.modelOf(agent);
            for (uint256 ahead; ahead < 5_000; ahead += 1_227) {
                model.passTo(block.timestamp + ahead);
                if (!model.exists || block.timestamp + ahead >= model.expiresAt) continue;
                assertTrue(access.hasAccess(agent, uint64(block.timestamp + ahead)));
                assertTrue(access.windowOf(agent, uint64(block.timestamp + ahead)).isOpen);
            }
        }
    }

    function invariant_I8_TheUnfundedHaveNone() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            ModelSubscription memory model = handler.modelOf(agent);
            for (uint256 ahead; ahead < 5_000; ahead += 1_227) {
                model.passTo(block.timestamp + ahead);
                if (model.exists && block.timestamp + ahead < model.expiresAt) continue;
                assertFalse(access.hasAccess(agent, uint64(block.timestamp + ahead)));
                assertFalse(access.windowOf(agent, uint64(block.timestamp + ahead)).isOpen);
            }
        }
    }

    function invariant_I9_RenewNeverRevertsForTheNetwork() external view {
        assertEq(handler.unexpectedReverts(), 0);
    }

    function invariant_I10_GasIsNeverChargedToDeposits() external view {
        IAccessWindow.Books memory books = access.books();
        assertEq(
            uint256(books.refundsTinybar) + handler.claimedTinybar(), handler.cancelledTinybar(), "refunds are whole"
        );
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            ModelSubscription memory model = handler.modelOf(agent);
            model.passTo(block.timestamp);
            assertEq(
                access.windowOf(agent, uint64(block.timestamp)).balanceTinybar, model.balance(), "balances are whole"
            );
        }
        if (books.shortfallTinybar != 0) {
            assertEq(books.reserveTinybar + books.earnedTinybar, 0, "the seller pays first");
        }
    }

    /// @dev What is done here is undone afterwards: forge walks on from the state before it.
    function invariant_I12_OnceBookedDepositsAreWhatNoSecondCharged() external {
        _bookAll();
        uint256 deposits;
        for (uint256 i; i < handler.agentCount(); ++i) {
            Subscription memory stored = access.stored(handler.agents(i));
            if (stored.fundedUntil == 0) continue;
            uint256 price = access.offerAt(stored.offerId).priceTinybar;
            Slot memory slot = access.slot(access.windowOf(handler.agents(i), 0).slotId);
            uint256 end = stored.endAt(block.timestamp);
            if (end < slot.next) end = slot.next;
            if (end > stored.fundedUntil) end = stored.fundedUntil;
            deposits += (stored.fundedUntil - end) / stored.periodSeconds * price;
            deposits += access.purseOf(handler.agents(i)).changeTinybar;
        }
        assertEq(access.books().depositsTinybar, deposits);
    }

    function invariant_I13_NothingIsFundedBeyondTheReach() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            ModelSubscription memory model = handler.modelOf(agent);
            model.passTo(block.timestamp);
            assertEq(access.windowOf(agent, uint64(block.timestamp)).periodsFunded, model.periods);
            uint256 reach = block.timestamp + 31 days;
            uint256 purchase = model.expiresAt + handler.PURCHASE_PERIODS_MAX() * model.periodSeconds;
            assertLe(access.stored(agent).fundedUntil, reach > purchase ? reach : purchase);
        }
    }

    /// @dev And 12 s later, when every window in which calls were counted early has begun, they are the balances.
    function afterInvariant() external {
        vm.warp(block.timestamp + 12);
        _bookAll();
        uint256 balances;
        for (uint256 i; i < handler.agentCount(); ++i) {
            balances += access.windowOf(handler.agents(i), uint64(block.timestamp)).balanceTinybar;
        }
        assertEq(access.books().depositsTinybar, balances, "I12");
    }

    /// @dev Books every second that has passed, in pages.
    function _bookAll() private {
        for (uint256 i; i < handler.slotCount(); ++i) {
            Slot memory slot = access.slot(handler.slotIds(i));
            while (slot.live != 0 && slot.next <= block.timestamp) {
                vm.prank(NETWORK);
                SCHEDULE_SERVICE.newTransaction();
                access.renew(slot.id, 0);
                slot = access.slot(slot.id);
            }
        }
    }
}
