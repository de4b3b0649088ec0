// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {Offers} from "./Offers.sol";
import {Slot, Slots} from "./Slots.sol";
import {State} from "./State.sol";
import {Subscription} from "./Subscriptions.sol";

/// @title What a reader sees
/// @notice Windows are not stored: every read projects them to the second that it asks for, at a cost that does not grow
/// with the number of periods.
library Windows {
    using Offers for IAccessWindow.Offer[];

    /// @notice The agent's subscription as it stands at that second; without one, the terms of a purchase made now.
    function windowOf(State storage state, address agent, uint256 atSeconds)
        internal
        view
        returns (IAccessWindow.Window memory window)
    {
        Subscription memory subscription = state.subscriptions.load(agent);
        window.isGuarded = subscription.isGuarded;
        window.guardNonce = subscription.guardNonce;
        if (subscription.fundedUntil == 0) {
            (, IAccessWindow.Offer memory offer) = state.offers.current();
            window.periodSeconds = offer.periodSeconds;
            window.priceTinybar = offer.priceTinybar;
            window.callsAllowed = offer.callsAllowed;
            return window;
        }
        uint256 end = subscription.endAt(atSeconds);
        window.exists = true;
        window.isOpen = atSeconds < end;
        window.isCancelled = subscription.isCancelled;
        window.expiresAt = uint64(end);
        window.periodSeconds = subscription.periodSeconds;
        window.callsUsed = subscription.callsUsedIn(end);
        window.callsAllowed = subscription.callsAllowed;
        Slot memory slot = state.slots.load(Slots.idOf(subscription.periodSeconds, subscription.fundedUntil));
        window.slotId = slot.id;
        window.priceTinybar = state.offers[subscription.offerId].priceTinybar;
        window.periodsFunded = uint64(subscription.periodsAhead(atSeconds, slot.next));
        window.balanceTinybar = window.periodsFunded * window.priceTinybar + state.purses.load(agent).changeTinybar;
        if (subscription.fundedUntil > end) {
            (window.schedule, window.scheduledAt) = (slot.schedule, slot.scheduledAt);
        }
    }

    /// @notice The slot of the agent's subscription; one that nobody is ever in without a subscription.
    function slotOf(State storage state, address agent) internal view returns (Slot memory slot) {
        Subscription memory subscription = state.subscriptions.load(agent);
        if (subscription.fundedUntil == 0) return slot;
        return state.slots.load(Slots.idOf(subscription.periodSeconds, subscription.fundedUntil));
    }

    /// @notice A slot as it was booked last: what its next call finds, who is in it, and the pending call.
    function slotAt(State storage state, uint256 slotId)
        internal
        view
        returns (uint64 nextSecond, uint32 agents, address schedule, uint64 scheduledAt)
    {
        Slot memory slot = state.slots.load(slotId);
        return (slot.next, slot.live, slot.schedule, slot.scheduledAt);
    }
}
