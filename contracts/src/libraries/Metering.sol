// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";
import {Purse} from "./Purses.sol";
import {State} from "./State.sol";
import {Subscription, Subscriptions} from "./Subscriptions.sol";

/// @title Metering
/// @notice Counts the calls that the service served, in the window that each names. Current, previous and next window are
/// one word, read and written once.
library Metering {
    /// @notice How long after its end a window still takes calls, seconds: a transaction may wait, or be sent again.
    uint256 internal constant LATE_USAGE_SECONDS = 60;
    /// @notice How long before its start a funded window takes calls, seconds: the service's clock runs ahead of
    /// `block.timestamp`.
    uint256 internal constant EARLY_USAGE_SECONDS = 10;

    /// @notice Counts calls in the window that ends at `named`, or says why not. A negative number gives calls back.
    function record(State storage state, address agent, int32 calls, uint64 named) internal {
        if (block.timestamp > uint256(named) + LATE_USAGE_SECONDS) {
            return _recordLate(state, agent, calls, named);
        }
        (bool isCurrent, bool isCounted, uint32 callsUsed) = state.subscriptions.count(agent, calls, named);
        if (!isCurrent) return _recordElsewhere(state, agent, calls, named);
        _report(isCounted, agent, named, callsUsed, calls);
    }

    /// @notice Counts the calls that a payment itself serves, in the window of this second.
    function countPaid(Subscription memory subscription, address agent, uint32 calls) internal {
        uint256 end = subscription.endAt(block.timestamp);
        if (end > subscription.countedUntil) subscription.moveCountTo(end);
        uint256 callsUsed = uint256(subscription.callsUsedIn(end)) + calls;
        if (callsUsed > subscription.callsAllowed) {
            emit IAccessWindowEvents.UsageRefused(agent, uint64(end), int32(calls));
            return;
        }
        if (end == subscription.countedUntil) subscription.callsUsed = uint32(callsUsed);
        else subscription.callsUsedPrevious = uint32(callsUsed);
        emit IAccessWindowEvents.UsageRecorded(agent, uint64(end), uint32(callsUsed));
    }

    function _recordLate(State storage state, address agent, int32 calls, uint64 named) private {
        if (state.subscriptions.load(agent).fundedUntil == 0) {
            emit IAccessWindowEvents.UsageRefused(agent, named, calls);
        } else {
            emit IAccessWindowEvents.UsageLate(agent, named, calls);
        }
    }

    /// @dev Calls of a window that is not the counted one: a later one, the one before, a closed one, or none.
    function _recordElsewhere(State storage state, address agent, int32 calls, uint64 named) private {
        Subscription memory subscription = state.subscriptions.load(agent);
        bool isCounted;
        uint32 callsUsed;
        if (subscription.fundedUntil == 0) {
            emit IAccessWindowEvents.UsageRefused(agent, named, calls);
            return;
        } else if (subscription.isAhead(named, EARLY_USAGE_SECONDS)) {
            (isCounted, callsUsed) = Subscriptions.sum(0, calls, subscription.callsAllowed);
            subscription.moveCountTo(named);
            subscription.callsUsed = callsUsed;
        } else if (subscription.isPrevious(named)) {
            (isCounted, callsUsed) = Subscriptions.sum(subscription.callsUsedPrevious, calls, subscription.callsAllowed);
            subscription.callsUsedPrevious = callsUsed;
        } else {
            return _recordClosed(state, agent, calls, named, named < subscription.countedUntil);
        }
        if (isCounted) state.subscriptions.keep(agent, subscription);
        _report(isCounted, agent, named, callsUsed, calls);
    }

    /// @dev Calls of the window that closed before the subscription opened anew; of one whose count is no longer kept; or
    /// of none.
    function _recordClosed(State storage state, address agent, int32 calls, uint64 named, bool isEarlier) private {
        Purse memory purse = state.purses.load(agent);
        if (purse.closedAt == named) {
            (bool isCounted, uint32 callsUsed) = Subscriptions.sum(purse.closedUsed, calls, purse.closedAllowed);
            purse.closedUsed = callsUsed;
            if (isCounted) state.purses.keep(agent, purse);
            _report(isCounted, agent, named, callsUsed, calls);
        } else if (isEarlier) {
            emit IAccessWindowEvents.UsageLate(agent, named, calls);
        } else {
            emit IAccessWindowEvents.UsageRefused(agent, named, calls);
        }
    }

    function _report(bool isCounted, address agent, uint64 named, uint32 callsUsed, int32 calls) private {
        if (isCounted) emit IAccessWindowEvents.UsageRecorded(agent, named, callsUsed);
        else emit IAccessWindowEvents.UsageRefused(agent, named, calls);
    }
}
