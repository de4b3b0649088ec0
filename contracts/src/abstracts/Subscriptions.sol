// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {Accounts} from "../libraries/PackedAccounts.sol";
import {PackedSubscription, Subscription} from "../libraries/PackedSubscription.sol";
import {Offers} from "./Offers.sol";

/// @title Subscriptions and their windows
/// @notice A window is lazy and pushed: `windowOf` projects the periods that the balance pays for, at any second and at a
/// cost that does not grow with their number; materialising them (`_materialise`) only writes down what was already so.
abstract contract Subscriptions is IAccessWindow, Offers {
    mapping(address agent => PackedSubscription packed) internal _subscriptions;

    // ------------------------------------------------------------------------------------------------- views

    /// @inheritdoc IAccessWindow
    function windowOf(address agent, uint64 atSeconds) public view returns (Window memory window) {
        Subscription memory subscription = _subscriptions[agent].load();
        if (subscription.expiresAt == 0) return _windowOnOffer();
        window = Window({
            exists: true,
            isOpen: false,
            isCancelled: subscription.isCancelled,
            expiresAt: subscription.expiresAt,
            periodSeconds: subscription.periodSeconds,
            priceTinybar: subscription.priceTinybar,
            balanceTinybar: subscription.balanceTinybar,
            periodsFunded: 0,
            callsUsed: subscription.callsUsed,
            callsAllowed: subscription.callsAllowed,
            schedule: subscription.schedule,
            scheduledAt: subscription.scheduledAt
        });
        _project(window, subscription, atSeconds);
        window.periodsFunded = window.balanceTinybar / window.priceTinybar;
        window.isOpen = atSeconds < window.expiresAt;
    }

    /// @inheritdoc IAccessWindow
    function hasAccess(address agent, uint64 atSeconds) external view returns (bool) {
        return windowOf(agent, atSeconds).isOpen;
    }

    // ---------------------------------------------------------------------------------------------- projection

    /// @dev How many further periods are due at `atSeconds` and paid for.
    function _periodsDue(Subscription memory subscription, uint256 atSeconds) internal pure returns (uint256) {
        if (atSeconds < subscription.expiresAt) return 0;
        uint256 funded = _periodsFunded(subscription);
        if (funded == 0) return 0;
        uint256 due = (atSeconds - subscription.expiresAt) / subscription.periodSeconds + 1;
        return due < funded ? due : funded;
    }

    /// @dev How many periods the balance pays for; 0 for an unknown subscription, whose price is 0, and for a cancelled one,
    /// whose balance is 0 (`cancel` takes it, and what adds to it revives).
    function _periodsFunded(Subscription memory subscription) internal pure returns (uint256) {
        if (subscription.balanceTinybar == 0) return 0;
        return subscription.balanceTinybar / subscription.priceTinybar;
    }

    /// @dev Charges that many periods, which the balance holds, and moves the window on by them: whole periods from its
    /// old end, whatever the time is.
    function _advance(Subscription memory subscription, Accounts memory accounts, uint256 periods) internal pure {
        uint64 charge = uint64(periods * subscription.priceTinybar);
        subscription.balanceTinybar -= charge;
        accounts.depositsTinybar -= charge;
        accounts.earnedTinybar += charge;
        uint256 expiresAt = subscription.expiresAt + periods * subscription.periodSeconds;
        subscription.expiresAt = uint40(expiresAt);
        subscription.previousExpiresAt = uint40(expiresAt - subscription.periodSeconds);
        subscription.callsAllowedPrevious = subscription.callsAllowed;
        subscription.callsUsedPrevious = periods == 1 ? subscription.callsUsed : 0;
        subscription.callsUsed = 0;
    }

    /// @dev Writes down, in memory, the periods that are due at `atSeconds`.
    function _materialise(
        address agent,
        Subscription memory subscription,
        Accounts memory accounts,
        uint256 atSeconds,
        bool byNetwork
    ) internal {
        uint256 periods = _periodsDue(subscription, atSeconds);
        if (periods == 0) return;
        _advance(subscription, accounts, periods);
        emit WindowRenewed(agent, subscription.expiresAt, uint32(periods), subscription.balanceTinybar, byNetwork);
    }

    function _keepBoth(address agent, Subscription memory subscription, Accounts memory accounts) internal {
        _subscriptions[agent].keep(subscription);
        _keep(accounts);
    }

    // ----------------------------------------------------------------------------------------------------- inside

    /// @dev Moves the window to where it stands at `atSeconds`. Forward by the periods due; back to the previous window
    /// if the current one was materialised early (see `recordUsage`) and has not begun.
    function _project(Window memory window, Subscription memory subscription, uint256 atSeconds) private pure {
        uint256 periods = _periodsDue(subscription, atSeconds);
        if (periods != 0) {
            window.expiresAt += uint64(periods * subscription.periodSeconds);
            window.balanceTinybar -= uint64(periods * subscription.priceTinybar);
            window.callsUsed = 0;
        } else if (
            atSeconds < subscription.previousExpiresAt
                && uint256(subscription.previousExpiresAt) + subscription.periodSeconds == subscription.expiresAt
        ) {
            window.expiresAt = subscription.previousExpiresAt;
            window.callsUsed = subscription.callsUsedPrevious;
        }
    }

    /// @dev What a stranger sees: the terms of a purchase made now.
    function _windowOnOffer() private view returns (Window memory window) {
        (, Offer memory offer) = currentOffer();
        window.periodSeconds = offer.periodSeconds;
        window.priceTinybar = offer.priceTinybar;
        window.callsAllowed = offer.callsAllowed;
    }
}
