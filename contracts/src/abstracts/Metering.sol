// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {Accounts} from "../libraries/PackedAccounts.sol";
import {Subscription} from "../libraries/PackedSubscription.sol";
import {Subscriptions} from "./Subscriptions.sol";

/// @title Metering
/// @notice Counts the calls that the service served, in the window that each names. The usual case, the current window,
/// touches one slot.
abstract contract Metering is IAccessWindow, Subscriptions {
    /// @notice How long after its end a window still takes calls, seconds: a transaction may wait, or be sent again.
    uint256 public constant LATE_USAGE_SECONDS = 60;
    /// @notice How long before its start a funded window takes calls, seconds: the service's clock runs ahead of
    /// `block.timestamp`.
    uint256 public constant EARLY_USAGE_SECONDS = 10;

    /// @inheritdoc IAccessWindow
    function recordUsage(address agent, uint32 calls, uint64 windowExpiresAt) external onlyRecorder {
        _record(agent, calls, windowExpiresAt);
    }

    /// @inheritdoc IAccessWindow
    function recordUsageBatch(bytes32[] calldata usages) external onlyRecorder {
        for (uint256 i; i < usages.length; ++i) {
            uint256 usage = uint256(usages[i]);
            // forge-lint: disable-next-line(unsafe-typecast)
            _record(address(uint160(usage >> 96)), uint32(usage >> 64), uint64(usage));
        }
    }

    function _record(address agent, uint32 calls, uint64 windowExpiresAt) private {
        if (_isLate(windowExpiresAt)) return _recordElsewhere(agent, calls, windowExpiresAt);
        (bool isCurrent, bool isCounted, uint256 callsUsed) = _subscriptions[agent].count(calls, windowExpiresAt);
        if (!isCurrent) return _recordElsewhere(agent, calls, windowExpiresAt);
        if (isCounted) emit UsageRecorded(agent, windowExpiresAt, uint32(callsUsed));
        else emit UsageRefused(agent, windowExpiresAt, calls);
    }

    /// @dev Calls that do not belong to the window as stored: of the previous one, of one that is projected, or of none.
    function _recordElsewhere(address agent, uint32 calls, uint64 windowExpiresAt) private {
        Subscription memory subscription = _subscriptions[agent].load();
        if (subscription.expiresAt == 0) {
            emit UsageRefused(agent, windowExpiresAt, calls);
        } else if (_isLate(windowExpiresAt)) {
            emit UsageLate(agent, windowExpiresAt, calls);
        } else if (windowExpiresAt == subscription.previousExpiresAt) {
            _recordPrevious(agent, subscription, calls);
        } else if (_isWindowAhead(subscription, windowExpiresAt)) {
            _recordAhead(agent, subscription, calls, windowExpiresAt);
        } else if (windowExpiresAt < subscription.expiresAt) {
            emit UsageLate(agent, windowExpiresAt, calls);
        } else {
            emit UsageRefused(agent, windowExpiresAt, calls);
        }
    }

    function _recordPrevious(address agent, Subscription memory subscription, uint32 calls) private {
        uint256 callsUsed = uint256(subscription.callsUsedPrevious) + calls;
        if (callsUsed > subscription.callsAllowedPrevious) {
            emit UsageRefused(agent, subscription.previousExpiresAt, calls);
            return;
        }
        subscription.callsUsedPrevious = uint32(callsUsed);
        _subscriptions[agent].keep(subscription);
        emit UsageRecorded(agent, subscription.previousExpiresAt, uint32(callsUsed));
    }

    /// @dev Materialises the window that was named, without arming: the call that is pending for the old end still comes,
    /// finds the window renewed, and arms its successor.
    function _recordAhead(address agent, Subscription memory subscription, uint32 calls, uint64 windowExpiresAt)
        private
    {
        Accounts memory accounts = _load();
        uint256 periods = (windowExpiresAt - subscription.expiresAt) / subscription.periodSeconds;
        _advance(subscription, accounts, periods);
        emit WindowRenewed(agent, windowExpiresAt, uint32(periods), subscription.balanceTinybar, false);
        if (calls > subscription.callsAllowed) {
            emit UsageRefused(agent, windowExpiresAt, calls);
        } else {
            subscription.callsUsed = calls;
            emit UsageRecorded(agent, windowExpiresAt, calls);
        }
        _keepBoth(agent, subscription, accounts);
    }

    /// @dev Whether that second ends a funded window after the stored one that begins within the next 10 s, or began.
    function _isWindowAhead(Subscription memory subscription, uint256 windowExpiresAt) private view returns (bool) {
        if (windowExpiresAt <= subscription.expiresAt) return false;
        uint256 ahead = windowExpiresAt - subscription.expiresAt;
        return ahead % subscription.periodSeconds == 0
            && ahead / subscription.periodSeconds <= _periodsFunded(subscription)
            && windowExpiresAt - subscription.periodSeconds <= block.timestamp + EARLY_USAGE_SECONDS;
    }

    function _isLate(uint256 windowExpiresAt) private view returns (bool) {
        return block.timestamp > windowExpiresAt + LATE_USAGE_SECONDS;
    }
}
