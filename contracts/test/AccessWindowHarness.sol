// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessWindow} from "../src/AccessWindow.sol";
import {Accounts} from "../src/libraries/Accounts.sol";
import {Purse} from "../src/libraries/Purses.sol";
import {Slot} from "../src/libraries/Slots.sol";
import {Subscription} from "../src/libraries/Subscriptions.sol";

/// @title AccessWindow with its storage in view, for tests
contract AccessWindowHarness is AccessWindow {
    constructor(Deployment memory deployment) payable AccessWindow(deployment) {}

    /// @notice The subscription as stored, nothing projected.
    function stored(address agent) external view returns (Subscription memory) {
        return _state.subscriptions.load(agent);
    }

    /// @notice The second word of the agent.
    function purseOf(address agent) external view returns (Purse memory) {
        return _state.purses.load(agent);
    }

    /// @notice The slot as stored.
    function slot(uint256 slotId) external view returns (Slot memory) {
        return _state.slots.load(slotId);
    }

    /// @notice The books, and what is kept beside them.
    function accounts() external view returns (Accounts memory) {
        return _state.accounts.load();
    }

    /// @notice One entry of the calendar, packed.
    function calendarAt(uint256 periodSeconds, uint256 second) external view returns (int256) {
        return _state.slots.calendar[periodSeconds << 40 | second];
    }

    // ------------------------------------------------------------------------------- the packed words alone

    /// @notice Stores the books, gas price and shortfall as `keep` leaves them, and returns them as stored.
    function keepAccounts(Accounts calldata accounts_) external returns (Accounts memory) {
        _state.accounts.keep(accounts_);
        return _state.accounts.load();
    }

    /// @notice Stores a subscription and returns it as stored.
    function keepSubscription(address agent, Subscription calldata subscription)
        external
        returns (Subscription memory)
    {
        _state.subscriptions.keep(agent, subscription);
        return _state.subscriptions.load(agent);
    }

    /// @notice Stores a purse and returns it as stored.
    function keepPurse(address agent, Purse calldata purse) external returns (Purse memory) {
        _state.purses.keep(agent, purse);
        return _state.purses.load(agent);
    }

    /// @notice Stores a slot and returns it as stored.
    function keepSlot(Slot calldata slot_) external returns (Slot memory) {
        _state.slots.keep(slot_);
        return _state.slots.load(slot_.id);
    }

    /// @notice Counts calls in the agent's counted window, if that is the one named.
    function count(address agent, int32 calls, uint64 named)
        external
        returns (bool isCurrent, bool isCounted, uint32 callsUsed)
    {
        return _state.subscriptions.count(agent, calls, named);
    }
}
