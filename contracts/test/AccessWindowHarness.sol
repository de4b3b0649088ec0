// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessWindow} from "../src/AccessWindow.sol";
import {Subscription} from "../src/libraries/PackedSubscription.sol";

/// @title AccessWindow with its storage in view, for tests
contract AccessWindowHarness is AccessWindow {
    constructor(Deployment memory deployment) payable AccessWindow(deployment) {}

    /// @notice The subscription as stored, nothing projected.
    function stored(address agent) external view returns (Subscription memory) {
        return _subscriptions[agent].load();
    }
}
