// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice What a subscription should be, by the plainest arithmetic: one period at a time.
struct ModelSubscription {
    bool exists;
    bool isCancelled;
    uint256 expiresAt;
    uint256 periodSeconds;
    uint256 priceTinybar;
    uint256 callsAllowed;
    uint256 balanceTinybar;
}

using ModelArithmetic for ModelSubscription global;

/// @title A reference for windows and balances
/// @dev Shares no code with the contract: where that divides once, this loops.
library ModelArithmetic {
    /// @dev Charges every period that begins up to `atSeconds` while the balance lasts; returns what was charged.
    function passTo(ModelSubscription memory model, uint256 atSeconds) internal pure returns (uint256 charged) {
        while (
            model.exists && !model.isCancelled && atSeconds >= model.expiresAt
                && model.balanceTinybar >= model.priceTinybar
        ) {
            model.balanceTinybar -= model.priceTinybar;
            model.expiresAt += model.periodSeconds;
            charged += model.priceTinybar;
        }
    }
}
