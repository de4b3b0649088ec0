// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {IScheduleService} from "../interfaces/IScheduleService.sol";
import {Accounts} from "../libraries/PackedAccounts.sol";
import {Subscription} from "../libraries/PackedSubscription.sol";
import {Subscriptions} from "./Subscriptions.sol";

/// @title Renewals that the network makes
/// @notice A funded subscription has one scheduled call pending, for the end of its window. The network makes it as this
/// contract, which pays for it from a lock on the seller's reserve; the call writes the window down and schedules its
/// successor. A call that is late, unpaid, starved or lost costs nobody access, because windows are projected.
/// @dev `renew` as the network must never revert: its gas is billed either way, while the bookkeeping would be undone.
/// Nothing that it runs compares the balance with the books: `_dropOverdue` does, in calls by anyone else.
abstract contract Renewals is IAccessWindow, Subscriptions {
    /// @notice How long after its second a schedule counts as lost, seconds: the network executes within one second,
    /// and `block.timestamp` may be 2 s early.
    uint256 public constant OVERDUE_SECONDS = 30;
    /// @notice Gas given to `scheduleCall`: it was measured at 1,410,574 to 1,443,888, and eats what it is given when
    /// that is too little.
    uint256 public constant SCHEDULE_GAS = 1_550_000;
    /// @notice Gas of a scheduled renewal that it cannot measure itself: 21,000 intrinsic, at most 1,088 of calldata, and
    /// what follows its own measurement.
    uint256 public constant SETTLEMENT_GAS = 32_000;
    /// @dev Gas kept for the rest of the transaction when `scheduleCall` eats all that it was given: the books and the
    /// subscription, three events.
    uint256 private constant FINISH_GAS = 60_000;
    /// @dev Gas left that makes both possible: a frame passes on at most 63/64 of what it has.
    uint256 private constant ARM_GAS = SCHEDULE_GAS * 64 / 63 + FINISH_GAS;
    /// @dev Gas given to one `hasScheduleCapacity`, measured at about 2,600.
    uint256 private constant PROBE_GAS = 20_000;
    /// @dev Seconds probed for room: the end of the window, then 1, 2, 4 ... 64 s after it. Eight schedules of this size
    /// fill a second of the whole network, and a renewal that comes late costs nobody access.
    uint256 private constant PROBES = 8;

    IScheduleService private constant SCHEDULE_SERVICE = IScheduleService(address(0x16b));
    int256 private constant SUCCESS = 22;
    int64 private constant SCHEDULE_EXPIRY_IS_BUSY = 370;
    int64 private constant RESERVE_TOO_SMALL = 0;
    int64 private constant SERVICE_FAILED = -1;

    // ----------------------------------------------------------------------------------------------- entrances

    /// @inheritdoc IAccessWindow
    function renew(address agent, uint64 expirySecond) external {
        if (msg.sender == address(this)) return _renewAsNetwork(agent, expirySecond);
        if (block.timestamp < expirySecond) revert AccessWindow_NotDue(expirySecond, block.timestamp);
        _renewAsAnyone(agent);
    }

    /// @inheritdoc IAccessWindow
    function poke(address agent) external {
        _renewAsAnyone(agent);
    }

    /// @inheritdoc IAccessWindow
    function reap(address agent) external {
        Subscription memory subscription = _subscriptions[agent].load();
        Accounts memory accounts = _load();
        if (!_isOverdue(subscription)) {
            revert AccessWindow_NotOverdue(subscription.scheduledAt, block.timestamp);
        }
        _renewAndRearm(agent, subscription, accounts);
    }

    // ------------------------------------------------------------------------------------------------ renewing

    /// @dev The scheduled call. `expirySecond` is the second for which it was scheduled: that it has come is known from
    /// the call itself, while `block.timestamp` may be early. A call that is not this agent's pending one (given up as
    /// overdue, then late) changes no schedule; its gas is booked all the same.
    function _renewAsNetwork(address agent, uint256 expirySecond) private {
        uint256 gasAtStart = gasleft();
        Subscription memory subscription = _subscriptions[agent].load();
        Accounts memory accounts = _load();
        uint256 nowSeconds = block.timestamp;
        uint64 lockTinybar;
        if (subscription.schedule != address(0) && subscription.scheduledAt == expirySecond) {
            lockTinybar = subscription.gasLockTinybar;
            _clearSchedule(subscription);
            if (expirySecond > nowSeconds) nowSeconds = expirySecond;
        }
        _materialise(agent, subscription, accounts, nowSeconds, true);
        _armIfFunded(agent, subscription, accounts, false);
        _subscriptions[agent].keep(subscription);
        uint256 gasPrice = _gasPrice(accounts);
        uint256 gasSpent = gasAtStart - gasleft() + SETTLEMENT_GAS;
        _settleGas(accounts, lockTinybar, _uncheckedProduct(gasSpent, gasPrice));
        _keep(accounts);
    }

    function _renewAsAnyone(address agent) private {
        _renewAndRearm(agent, _subscriptions[agent].load(), _load());
    }

    function _renewAndRearm(address agent, Subscription memory subscription, Accounts memory accounts) private {
        _materialise(agent, subscription, accounts, block.timestamp, false);
        _rearm(agent, subscription, accounts, true);
        _keepBoth(agent, subscription, accounts);
    }

    // -------------------------------------------------------------------------------------------------- arming

    /// @dev Arms the next renewal, in place of a schedule that was lost as well. Not in a scheduled call: see
    /// `_reconcile`.
    function _rearm(address agent, Subscription memory subscription, Accounts memory accounts, bool isGasRequired)
        internal
    {
        if (_isOverdue(subscription)) _dropOverdue(agent, subscription, accounts);
        _armIfFunded(agent, subscription, accounts, isGasRequired);
    }

    /// @dev Arms the next renewal if there is something to renew with and none is pending. This is the one place that
    /// decides which scheduled call serves an agent.
    /// @param isGasRequired whether too little gas reverts; otherwise the window goes on lazily
    function _armIfFunded(address agent, Subscription memory subscription, Accounts memory accounts, bool isGasRequired)
        internal
    {
        if (subscription.schedule != address(0) || _periodsFunded(subscription) == 0) return;
        if (subscription.expiresAt <= block.timestamp) return;
        uint256 lockTinybar = _lockFor(_gasPrice(accounts));
        if (lockTinybar > accounts.reserveTinybar || lockTinybar > type(uint56).max) {
            emit RenewalNotArmed(agent, subscription.expiresAt, RESERVE_TOO_SMALL);
            return;
        }
        if (isGasRequired && gasleft() < ARM_GAS) revert AccessWindow_InsufficientGas(gasleft(), ARM_GAS);
        (int64 responseCode, address schedule, uint256 second) = _schedule(agent, subscription.expiresAt);
        if (schedule == address(0)) {
            emit RenewalNotArmed(agent, subscription.expiresAt, responseCode);
            return;
        }
        accounts.reserveTinybar -= uint64(lockTinybar);
        accounts.lockedTinybar += uint64(lockTinybar);
        subscription.schedule = schedule;
        subscription.scheduledAt = uint40(second);
        subscription.gasLockTinybar = uint56(lockTinybar);
        emit RenewalArmed(agent, schedule, uint64(second), uint64(lockTinybar));
    }

    /// @dev Schedules `renew` for the first free second from the end of the window. One attempt: the network fails a whole
    /// transaction that schedules twice. Never reverts, whatever the service answers.
    function _schedule(address agent, uint256 expiresAt)
        private
        returns (int64 responseCode, address schedule, uint256 second)
    {
        second = _freeSecond(expiresAt);
        if (second == 0) return (SCHEDULE_EXPIRY_IS_BUSY, address(0), 0);
        if (gasleft() < ARM_GAS) return (SERVICE_FAILED, address(0), 0);
        bytes memory callData = abi.encodeCall(IAccessWindow.renew, (agent, uint64(second)));
        (bool isAnswered, bytes memory answer) = address(SCHEDULE_SERVICE).call{gas: SCHEDULE_GAS}(
            abi.encodeCall(IScheduleService.scheduleCall, (address(this), second, RENEW_GAS, 0, callData))
        );
        if (!isAnswered || answer.length < 64) return (SERVICE_FAILED, address(0), 0);
        (int256 code, uint256 entity) = abi.decode(answer, (int256, uint256)); // cannot revert on odd bits
        if (code != SUCCESS) return (int64(code), address(0), 0); // 210 also returns an address: that of the twin
        if (entity > type(uint64).max) return (SERVICE_FAILED, address(0), 0); // not of shard 0, realm 0
        return (0, address(uint160(entity)), second);
    }

    /// @dev The first second with room among those probed; 0 when all are busy. A service that does not answer the probe
    /// is asked to schedule at the end of the window.
    function _freeSecond(uint256 expiresAt) private view returns (uint256 second) {
        second = expiresAt;
        for (uint256 i; i < PROBES; ++i) {
            if (gasleft() < ARM_GAS) return expiresAt; // too little is left to schedule at all: the caller says so
            (bool isAnswered, bytes memory answer) = address(SCHEDULE_SERVICE).staticcall{gas: PROBE_GAS}(
                abi.encodeCall(IScheduleService.hasScheduleCapacity, (second, RENEW_GAS))
            );
            if (!isAnswered || answer.length < 32) return expiresAt;
            if (abi.decode(answer, (uint256)) != 0) return second;
            second = expiresAt + (1 << i);
        }
        return 0;
    }

    // -------------------------------------------------------------------------------------------- pending schedules

    /// @dev Deletes the pending schedule and frees its lock. If the network does not delete it, all stays: the leftover
    /// call settles the lock, or `reap` does.
    function _deleteSchedule(Subscription memory subscription, Accounts memory accounts) internal {
        if (subscription.schedule == address(0)) return;
        (bool isAnswered, bytes memory answer) =
            address(SCHEDULE_SERVICE).call(abi.encodeCall(IScheduleService.deleteSchedule, (subscription.schedule)));
        if (!isAnswered || answer.length < 32 || abi.decode(answer, (int256)) != SUCCESS) return;
        _settleGas(accounts, subscription.gasLockTinybar, 0);
        _clearSchedule(subscription);
    }

    function _isOverdue(Subscription memory subscription) private view returns (bool) {
        return subscription.schedule != address(0) && block.timestamp > subscription.scheduledAt + OVERDUE_SECONDS;
    }

    /// @dev Gives an overdue schedule up. If the network executed it and it reverted, its gas left the balance unbooked:
    /// the lock pays for that first. The balance is at rest here.
    function _dropOverdue(address agent, Subscription memory subscription, Accounts memory accounts) private {
        _reconcile(accounts, subscription.gasLockTinybar);
        emit RenewalReaped(agent, subscription.schedule, subscription.scheduledAt);
        _clearSchedule(subscription);
    }

    function _clearSchedule(Subscription memory subscription) private pure {
        subscription.schedule = address(0);
        subscription.scheduledAt = 0;
        subscription.gasLockTinybar = 0;
    }

    function _uncheckedProduct(uint256 left, uint256 right) private pure returns (uint256 product) {
        unchecked {
            product = left * right; // gas below 2^64 and a price below 2^64: cannot wrap
        }
    }
}
