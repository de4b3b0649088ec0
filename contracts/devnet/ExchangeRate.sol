// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Hedera's exchange-rate system contract (HIP-475) for local ledgers
/// @notice Lives at 0x168; runtime code without constructor or immutables. A tinycent is 1e-8 US cent, a tinybar 1e-8
/// HBAR, so that the rate is cents per HBAR.
contract ExchangeRate {
    /// @notice The only account that may set the rate: 0.0.98.
    address public constant NETWORK = 0x0000000000000000000000000000000000000062;
    /// @notice HBAR side of the default rate: 30,000 HBAR ...
    uint32 public constant DEFAULT_HBAR_EQUIVALENT = 30_000;
    /// @notice ... are 234,500 cents: 7.82 cents per HBAR, at which gas costs the 109 tinybar that the ledger charges.
    uint32 public constant DEFAULT_CENT_EQUIVALENT = 234_500;

    uint32 internal _hbarEquivalent;
    uint32 internal _centEquivalent;

    event RateSet(uint32 hbarEquivalent, uint32 centEquivalent);

    error ExchangeRate_NotNetwork(address caller);
    error ExchangeRate_InvalidRate(uint32 hbarEquivalent, uint32 centEquivalent);

    /// @notice What that many tinycents are worth, tinybar, rounded down.
    function tinycentsToTinybars(uint256 tinycents) external view returns (uint256 tinybars) {
        (uint32 hbarEquivalent, uint32 centEquivalent) = rate();
        return tinycents * hbarEquivalent / centEquivalent;
    }

    /// @notice What that many tinybar are worth, tinycents, rounded down.
    function tinybarsToTinycents(uint256 tinybars) external view returns (uint256 tinycents) {
        (uint32 hbarEquivalent, uint32 centEquivalent) = rate();
        return tinybars * centEquivalent / hbarEquivalent;
    }

    /// @notice The rate in force: so many HBAR are worth so many cents.
    function rate() public view returns (uint32 hbarEquivalent, uint32 centEquivalent) {
        if (_centEquivalent == 0) return (DEFAULT_HBAR_EQUIVALENT, DEFAULT_CENT_EQUIVALENT);
        return (_hbarEquivalent, _centEquivalent);
    }

    /// @notice Sets the rate. Network only; both sides are positive.
    function setRate(uint32 hbarEquivalent, uint32 centEquivalent) external {
        if (msg.sender != NETWORK) revert ExchangeRate_NotNetwork(msg.sender);
        if (hbarEquivalent == 0 || centEquivalent == 0) {
            revert ExchangeRate_InvalidRate(hbarEquivalent, centEquivalent);
        }
        (_hbarEquivalent, _centEquivalent) = (hbarEquivalent, centEquivalent);
        emit RateSet(hbarEquivalent, centEquivalent);
    }
}
