// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";
import {Accounts} from "./Accounts.sol";
import {Fees, Network} from "./Network.sol";
import {Slot} from "./Slots.sol";
import {State} from "./State.sol";

/// @notice One look at a slot, by the network or by anyone.
/// @param slot the slot, which changes
/// @param accounts the books, which change
/// @param fees what a scheduled call needs and costs now
/// @param nowSeconds second up to which it is booked, Unix seconds
/// @param byNetwork whether it is a scheduled call
/// @param isGasRequired whether too little gas to arm reverts; otherwise windows go on lazily
struct Renewal {
    Slot slot;
    Accounts accounts;
    Fees fees;
    uint256 nowSeconds;
    bool byNetwork;
    bool isGasRequired;
}

/// @title Renewals that the network makes
/// @notice A slot whose next renewal earns enough has one scheduled call pending. The network makes it as this contract,
/// which pays for it from a lock on the seller's reserve; the call books the second, which moves the price of every renewed
/// window from deposits to earnings, and schedules its successor. A call that is late, unpaid, starved or lost costs nobody
/// access, because windows are arithmetic.
/// @dev `renew` as the network must never revert: its gas is billed either way, while the bookkeeping would be undone.
/// Nothing that it runs compares the balance with the books: `_dropOverdue` does, in calls by anyone else.
library Renewals {
    /// @notice Gas of a scheduled renewal that it cannot measure itself: 21,000 intrinsic, at most 1,088 of calldata, and
    /// what precedes and follows its own measurement.
    uint256 internal constant SETTLEMENT_GAS = 36_000;
    /// @dev Gas kept, beyond what arming needs, while seconds are booked: by the network, and by anyone, whose transaction
    /// also keeps a subscription.
    uint256 private constant GAS_TO_KEEP = 30_000;
    uint256 private constant CATCH_UP_GAS_TO_KEEP = 150_000;
    int64 private constant RESERVE_TOO_SMALL = 0;
    int64 private constant BELOW_FLOOR = -2;
    int64 private constant BEHIND = -3;

    // ------------------------------------------------------------------------------------------------ renewing

    /// @notice The scheduled call. That its second has come is known from the call, while `block.timestamp` may be early. A
    /// call that is not the slot's pending one (given up as overdue, then late) changes no schedule; its gas is booked all
    /// the same.
    function renewAsNetwork(State storage state, uint256 slotId, uint256 second) internal {
        uint256 gasAtStart = gasleft();
        Slot memory slot = state.slots.load(slotId);
        Accounts memory accounts = state.accounts.load();
        uint256 nowSeconds = block.timestamp;
        uint64 lockTinybar;
        if (slot.schedule != address(0) && slot.scheduledAt == second) {
            lockTinybar = slot.lockTinybar;
            slot.clearSchedule();
            if (second > nowSeconds) nowSeconds = second;
        }
        uint256 gasPrice = accounts.gasPrice();
        Fees memory fees = Network.fees(accounts.scheduleCost, gasPrice);
        Renewal memory renewal = Renewal(slot, accounts, fees, nowSeconds, true, false);
        _book(state, renewal, GAS_TO_KEEP);
        _arm(state, renewal);
        state.slots.keep(slot);
        uint256 gasSpent = gasAtStart - gasleft() + SETTLEMENT_GAS;
        unchecked {
            accounts.settleGas(lockTinybar, gasSpent * gasPrice); // both below 2^64
        }
        state.accounts.keep(accounts);
    }

    /// @notice Brings a slot to the present and arms it, for anyone.
    function renewAsAnyone(State storage state, Slot memory slot) internal {
        Accounts memory accounts = state.accounts.load();
        catchUp(state, slot, accounts, true, type(uint256).max);
        state.slots.keep(slot);
        state.accounts.keep(accounts);
    }

    /// @notice Gives an overdue schedule up, books the seconds that have passed, and arms the next. Not in a scheduled call,
    /// in which the balance is not at rest.
    /// @param isGasRequired whether too little gas to arm reverts
    /// @param missedMax a slot that missed more seconds is left behind
    function catchUp(
        State storage state,
        Slot memory slot,
        Accounts memory accounts,
        bool isGasRequired,
        uint256 missedMax
    ) internal {
        if (slot.isOverdue()) _dropOverdue(slot, accounts);
        Fees memory fees = Network.fees(accounts.scheduleCost, accounts.gasPrice());
        Renewal memory renewal = Renewal(slot, accounts, fees, block.timestamp, false, isGasRequired);
        if (slot.missedSeconds() <= missedMax) _book(state, renewal, CATCH_UP_GAS_TO_KEEP);
        _arm(state, renewal);
    }

    // --------------------------------------------------------------------------------------- booking and arming

    function _book(State storage state, Renewal memory renewal, uint256 gasToKeep) private {
        Slot memory slot = renewal.slot;
        (uint256 periods, uint256 chargedTinybar) =
            state.slots.bookUpTo(slot, renewal.nowSeconds, renewal.fees.armingGas + gasToKeep);
        if (periods == 0) return;
        renewal.accounts.charge(chargedTinybar);
        emit IAccessWindowEvents.SlotRenewed(
            slot.id, slot.next, uint32(periods), slot.live, uint64(chargedTinybar), renewal.byNetwork
        );
    }

    /// @dev Arms the slot's next renewal if it has one to make and none is pending. This is the one place that decides which
    /// scheduled call serves an agent.
    function _arm(State storage state, Renewal memory renewal) private {
        Slot memory slot = renewal.slot;
        if (slot.schedule != address(0) || slot.live == 0) return;
        if (slot.next <= renewal.nowSeconds) {
            emit IAccessWindowEvents.RenewalNotArmed(slot.id, slot.next, BEHIND);
            return;
        }
        (bool isWorthIt, uint256 second) = _nextWorthIt(state, renewal);
        if (second == 0) return;
        int64 responseCode = BELOW_FLOOR;
        if (isWorthIt) responseCode = _schedule(renewal, second);
        if (slot.schedule == address(0)) {
            emit IAccessWindowEvents.RenewalNotArmed(slot.id, uint64(second), responseCode);
        } else {
            emit IAccessWindowEvents.RenewalArmed(slot.id, slot.schedule, slot.scheduledAt, slot.lockTinybar);
        }
    }

    /// @dev The second of the slot's next renewal that earns what arming asks for. Whoever joined in the last `slotSeconds`
    /// before the slot's next second renews a period after it, so that a slot which earns nothing at the next may at the one
    /// after it.
    /// @return isWorthIt whether it earns enough
    /// @return second 0 when neither has anything to renew, Unix seconds
    function _nextWorthIt(State storage state, Renewal memory renewal)
        private
        view
        returns (bool isWorthIt, uint256 second)
    {
        Slot memory slot = renewal.slot;
        uint256 floorTinybar = renewal.fees.costTinybar * renewal.accounts.armingFloor / 100;
        if (floorTinybar == 0) floorTinybar = 1;
        second = slot.next;
        uint256 revenue = state.slots.revenueAt(slot, second, slot.rateTinybar);
        if (revenue >= floorTinybar) return (true, second);
        uint256 secondAfter = second + slot.periodOf();
        uint256 revenueAfter = state.slots.revenueAt(slot, secondAfter, revenue);
        if (revenueAfter >= floorTinybar) return (true, secondAfter);
        return (false, revenue + revenueAfter == 0 ? 0 : second);
    }

    /// @dev Puts the schedule and its lock into the slot, or returns the code that says why not.
    function _schedule(Renewal memory renewal, uint256 second) private returns (int64 responseCode) {
        (Slot memory slot, Fees memory fees) = (renewal.slot, renewal.fees);
        if (fees.lockTinybar > renewal.accounts.reserveTinybar || fees.lockTinybar > type(uint48).max) {
            return RESERVE_TOO_SMALL;
        }
        if (fees.scheduleGas == 0) return Network.SERVICE_FAILED;
        if (renewal.isGasRequired && gasleft() < fees.armingGas) {
            revert IAccessWindowEvents.AccessWindow_InsufficientGas(gasleft(), fees.armingGas);
        }
        uint256 scheduledAt;
        (responseCode, slot.schedule, scheduledAt) = Network.scheduleRenewal(fees, slot.id, second);
        if (slot.schedule == address(0)) return responseCode;
        slot.scheduledAt = uint40(scheduledAt);
        slot.lockTinybar = uint48(fees.lockTinybar);
        renewal.accounts.lock(fees.lockTinybar);
    }

    /// @dev If the network executed the schedule and it reverted, its gas left the balance unbooked: the lock pays for that
    /// first. The balance is at rest here.
    function _dropOverdue(Slot memory slot, Accounts memory accounts) private {
        accounts.reconcile(slot.lockTinybar);
        emit IAccessWindowEvents.RenewalReaped(slot.id, slot.schedule, slot.scheduledAt);
        slot.clearSchedule();
    }
}
