// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {Ledger} from "./Ledger.sol";

/// @title The terms on offer
/// @notice Every offer that ever held is kept, so that a payment challenged at a price that has since been replaced can
/// still be honoured, and anyone can see what was offered when.
abstract contract Offers is IAccessWindow, Ledger {
    /// @notice How long a replaced offer still takes payments that were challenged at its price, seconds: longer than a
    /// signed Hedera transfer is valid (180 s), with room for the clocks of all involved.
    uint256 public constant REPLACED_OFFER_SECONDS = 600;
    /// @notice Longest period, seconds: the network schedules 5,356,800 s ahead, less room to probe for a free second.
    uint256 public constant PERIOD_SECONDS_MAX = 5_356_000;

    Offer[] private _offers;

    /// @inheritdoc IAccessWindow
    function setOffer(uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed) external onlyOwner {
        _setOffer(priceTinybar, periodSeconds, callsAllowed);
    }

    /// @inheritdoc IAccessWindow
    function currentOffer() public view returns (uint32 offerId, Offer memory offer) {
        offerId = uint32(_offers.length - 1);
        offer = _offers[offerId];
    }

    /// @inheritdoc IAccessWindow
    function offerAt(uint32 offerId) public view returns (Offer memory) {
        if (offerId >= _offers.length) revert AccessWindow_UnknownOffer(offerId);
        return _offers[offerId];
    }

    /// @inheritdoc IAccessWindow
    function offerCount() external view returns (uint32) {
        return uint32(_offers.length);
    }

    function _setOffer(uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed) internal {
        if (priceTinybar == 0 || periodSeconds == 0 || periodSeconds > PERIOD_SECONDS_MAX || callsAllowed == 0) {
            revert AccessWindow_InvalidOffer(priceTinybar, periodSeconds, callsAllowed);
        }
        uint32 offerId = uint32(_offers.length);
        uint64 startsAt = uint64(block.timestamp);
        _offers.push(Offer(priceTinybar, periodSeconds, callsAllowed, startsAt));
        emit OfferSet(offerId, priceTinybar, periodSeconds, callsAllowed, startsAt);
    }

    /// @dev The offer, if a payment that became valid at `paidAtSeconds` may have been challenged at its price.
    function _offerFor(uint32 offerId, uint256 paidAtSeconds) internal view returns (Offer memory offer) {
        offer = offerAt(offerId);
        if (offerId + 1 == _offers.length) return offer;
        uint256 replacedAt = _offers[offerId + 1].startsAt;
        if (paidAtSeconds > replacedAt + REPLACED_OFFER_SECONDS) {
            revert AccessWindow_OfferReplaced(offerId, replacedAt, paidAtSeconds);
        }
    }

    /// @dev Reverts unless the value is a whole positive number of periods.
    function _requireWholePeriods(uint256 valueTinybar, uint256 priceTinybar) internal pure {
        if (valueTinybar == 0 || valueTinybar % priceTinybar != 0) {
            revert AccessWindow_WrongValue(valueTinybar, priceTinybar);
        }
    }
}
