// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {ModelSubscription} from "./Model.sol";

/// @title What the random walk knows without asking the contract
/// @notice Sums of what came in, what was charged and what went out, the calls of each window, and each agent's
/// subscription as Model.sol has it. README.md beside this file gives the sums their letters.
abstract contract Ghosts {
    /// @dev Gas that executions burned without booking it, since the books were last compared with the balance.
    uint256 public unbookedTinybar;
    uint256 public paidTinybar;
    uint256 public chargedTinybar;
    uint256 public cancelledTinybar;
    uint256 public claimedTinybar;
    mapping(address agent => ModelSubscription model) internal _models;
    mapping(address agent => mapping(uint256 windowExpiresAt => uint256 calls)) public counted;

    function modelOf(address agent) external view returns (ModelSubscription memory) {
        return _models[agent];
    }

    /// @dev What is due is due for the model too, whether or not the contract has written it down.
    function _pass(address agent, uint256 atSeconds) internal {
        ModelSubscription memory model = _models[agent];
        chargedTinybar += model.passTo(atSeconds);
        _models[agent] = model;
    }

    function _buy(address agent, uint256 value, IAccessWindow.Offer memory offer) internal {
        ModelSubscription storage model = _models[agent];
        paidTinybar += value;
        model.balanceTinybar += value;
        bool isNew = !model.exists || model.expiresAt <= block.timestamp;
        model.exists = true;
        model.isCancelled = false;
        if (!isNew) return;
        model.expiresAt = block.timestamp + offer.periodSeconds;
        model.periodSeconds = offer.periodSeconds;
        model.priceTinybar = offer.priceTinybar;
        model.balanceTinybar -= offer.priceTinybar;
        chargedTinybar += offer.priceTinybar;
    }

    function _count(address agent, uint256 windowExpiresAt, uint256 calls) internal {
        counted[agent][windowExpiresAt] += calls;
    }
}
