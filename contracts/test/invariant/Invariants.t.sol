// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {StdInvariant} from "forge-std/StdInvariant.sol";
import {Test} from "forge-std/Test.sol";
import {ScheduleBook} from "../../devnet/ScheduleBook.sol";
import {ScheduleService} from "../../devnet/ScheduleService.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {Subscription} from "../../src/libraries/PackedSubscription.sol";
import {AccessWindowHarness} from "../AccessWindowHarness.sol";
import {AccessHandler} from "./AccessHandler.sol";
import {ModelSubscription} from "./Model.sol";

/// @title I1 to I11, held under a random walk: see README.md beside this file
contract AccessWindowInvariantTest is StdInvariant, Test {
    ScheduleService internal constant SCHEDULE_SERVICE = ScheduleService(address(0x16b));

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
        uint256 deposits;
        uint256 locked;
        uint256 refunds;
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            Subscription memory stored = access.stored(agent);
            deposits += stored.balanceTinybar;
            locked += stored.gasLockTinybar;
            refunds += access.refundOf(agent);
        }
        IAccessWindow.Books memory books = access.books();
        assertEq(books.depositsTinybar, deposits, "deposits");
        assertEq(books.lockedTinybar, locked, "locked");
        assertEq(books.refundsTinybar, refunds, "refunds");
    }

    function invariant_I3_UsageStaysWithinTheQuota() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            Subscription memory stored = access.stored(agent);
            assertLe(stored.callsUsed, stored.callsAllowed, "current");
            assertLe(stored.callsUsedPrevious, stored.callsAllowedPrevious, "previous");
            assertEq(stored.callsUsed, handler.counted(agent, stored.expiresAt), "what was reported, no more");
            assertEq(stored.callsUsedPrevious, handler.counted(agent, stored.previousExpiresAt), "there as well");
        }
    }

    function invariant_I4_WindowsMoveByWholePeriods() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            ModelSubscription memory model = handler.modelOf(agent);
            model.passTo(block.timestamp);
            assertEq(_endAt(agent, block.timestamp), _expectedEnd(model, block.timestamp), "no drift");
        }
    }

    function invariant_I5_WhatWasPaidIsDepositedChargedOrRefunded() external view {
        uint256 dueButUnwritten;
        for (uint256 i; i < handler.agentCount(); ++i) {
            ModelSubscription memory model = handler.modelOf(handler.agents(i));
            uint256 balance = access.stored(handler.agents(i)).balanceTinybar;
            dueButUnwritten += balance - model.balanceTinybar;
        }
        assertEq(
            access.books().depositsTinybar - dueButUnwritten + handler.chargedTinybar() + handler.cancelledTinybar(),
            handler.paidTinybar()
        );
    }

    function invariant_I6_AtMostOnePendingScheduleForEachAgent() external view {
        uint256 known;
        for (uint256 i; i < handler.agentCount(); ++i) {
            Subscription memory stored = access.stored(handler.agents(i));
            assertEq(stored.schedule == address(0), stored.gasLockTinybar == 0, "locked if and only if armed");
            assertEq(stored.schedule == address(0), stored.scheduledAt == 0);
            if (stored.schedule == address(0)) continue;
            ScheduleBook.Schedule memory schedule = SCHEDULE_SERVICE.scheduleAt(stored.schedule);
            assertEq(schedule.expirySecond, stored.scheduledAt);
            assertTrue(schedule.state != ScheduleBook.State.Deleted, "a deleted schedule is forgotten");
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
            for (uint256 ahead; ahead < 5_000; ahead += 613) {
                ModelSubscription memory model = handler.modelOf(agent);
                model.passTo(block.timestamp + ahead);
                if (!model.exists || block.timestamp + ahead >= model.expiresAt) continue;
                assertTrue(access.hasAccess(agent, uint64(block.timestamp + ahead)));
            }
        }
    }

    function invariant_I8_TheUnfundedHaveNone() external view {
        for (uint256 i; i < handler.agentCount(); ++i) {
            address agent = handler.agents(i);
            for (uint256 ahead; ahead < 5_000; ahead += 613) {
                ModelSubscription memory model = handler.modelOf(agent);
                model.passTo(block.timestamp + ahead);
                if (model.exists && block.timestamp + ahead < model.expiresAt) continue;
                assertFalse(access.hasAccess(agent, uint64(block.timestamp + ahead)));
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
                access.windowOf(agent, uint64(block.timestamp)).balanceTinybar,
                model.balanceTinybar,
                "balances are whole"
            );
        }
        if (books.shortfallTinybar != 0) {
            assertEq(books.reserveTinybar + books.earnedTinybar, 0, "the seller pays first");
        }
    }

    /// @dev The end of the window as the contract shows it.
    function _endAt(address agent, uint256 atSeconds) private view returns (uint256) {
        return access.windowOf(agent, uint64(atSeconds)).expiresAt;
    }

    /// @dev A window that was materialised up to 10 s early shows from its start.
    function _expectedEnd(ModelSubscription memory model, uint256 atSeconds) private view returns (uint256) {
        if (!model.exists || atSeconds + model.periodSeconds >= model.expiresAt) return model.expiresAt;
        return model.expiresAt - model.periodSeconds;
    }
}
