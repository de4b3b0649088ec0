// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// @title The part of Hedera's exchange rate that AccessWindow calls
/// @notice System contract 0x168 (HIP-475). A tinycent is 1e-8 US cent, a tinybar 1e-8 HBAR.
interface IExchangeRate {
    /// @notice What an amount of dollars is worth at the network's rate.
    /// @param tinycents amount, tinycent
    /// @return tinybars its worth, tinybar, rounded down
    function tinycentsToTinybars(uint256 tinycents) external returns (uint256 tinybars);
}
