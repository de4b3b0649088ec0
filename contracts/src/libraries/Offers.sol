// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";

/// @title The terms on offer
/// @notice Every offer that ever held is kept, so that a payment challenged at a price that has since been replaced can
/// still be honoured, and anyone can see what was offered when.
library Offers {
    /// @notice How long a replaced offer still takes payments that were challenged at its price, seconds: longer than a
    /// signed Hedera transfer is valid (180 s), with room for the clocks of all involved.
    uint256 internal constant REPLACED_OFFER_SECONDS = 600;
    /// @notice How old a payment may be that is forwarded, seconds: 31 days, longer than the 30 that the service looks back. It
    /// bounds which replaced offers a stolen forwarder key reaches.
    uint256 internal constant PAID_AGO_SECONDS_MAX = 2_678_400;
    /// @notice How far ahead of `block.timestamp` a payment may become valid, seconds: clocks differ.
    uint256 internal constant PAID_AHEAD_SECONDS_MAX = 300;
    /// @notice Shortest period, seconds: calls are counted up to 10 s before their window begins, and never two ahead.
    uint256 internal constant PERIOD_SECONDS_MIN = 10;
    /// @notice Least price of a period, tinybar: booking one missed second takes 2,700 gas, 294,300 tinybar at 109 tinybar per
    /// gas, so that what a neglected slot earns pays for booking it.
    uint256 internal constant PRICE_TINYBAR_MIN = 300_000;
    /// @notice Longest a renewal may lie ahead, seconds: the network schedules 5,356,800 s ahead, less room to probe for a
    /// free second.
    uint256 internal constant AHEAD_SECONDS_MAX = 5_356_000;

    /// @notice Makes new purchases have these terms.
    /// @param terms without `startsAt`, which is now
    function set(IAccessWindow.Offer[] storage offers, IAccessWindow.Offer memory terms) internal {
        if (
            terms.priceTinybar < PRICE_TINYBAR_MIN || terms.periodSeconds < PERIOD_SECONDS_MIN
                || terms.callsAllowed == 0 || terms.callsAllowed > uint32(type(int32).max) || terms.slotSeconds == 0
                || terms.periodSeconds % terms.slotSeconds != 0
                || uint256(terms.periodSeconds) + terms.slotSeconds - 1 > AHEAD_SECONDS_MAX
        ) {
            revert IAccessWindowEvents.AccessWindow_InvalidOffer(
                terms.priceTinybar, terms.periodSeconds, terms.callsAllowed, terms.slotSeconds
            );
        }
        terms.startsAt = uint48(block.timestamp);
        emit IAccessWindowEvents.OfferSet(
            uint32(offers.length),
            terms.priceTinybar,
            terms.periodSeconds,
            terms.callsAllowed,
            terms.startsAt,
            terms.slotSeconds
        );
        offers.push(terms);
    }

    /// @notice Ends an offer, if it has not ended.
    function retire(IAccessWindow.Offer[] storage offers, uint32 offerId) internal {
        if (at(offers, offerId).retiredAt != 0) return;
        offers[offerId].retiredAt = uint48(block.timestamp);
        emit IAccessWindowEvents.OfferRetired(offerId, uint64(block.timestamp));
    }

    /// @notice The terms of a purchase made now, and their index.
    function current(IAccessWindow.Offer[] storage offers)
        internal
        view
        returns (uint32 offerId, IAccessWindow.Offer memory)
    {
        offerId = uint32(offers.length - 1);
        return (offerId, at(offers, offerId));
    }

    /// @notice The offer with that index.
    function at(IAccessWindow.Offer[] storage offers, uint32 offerId)
        internal
        view
        returns (IAccessWindow.Offer memory)
    {
        if (offerId >= offers.length) {
            revert IAccessWindowEvents.AccessWindow_UnknownOffer(offerId);
        }
        return offers[offerId];
    }

    /// @notice The offer, if a payment that became valid at `paidAtSeconds` may have been challenged at its price.
    function forPayment(IAccessWindow.Offer[] storage offers, uint32 offerId, uint256 paidAtSeconds)
        internal
        view
        returns (IAccessWindow.Offer memory offer)
    {
        if (
            paidAtSeconds + PAID_AGO_SECONDS_MAX < block.timestamp
                || paidAtSeconds > block.timestamp + PAID_AHEAD_SECONDS_MAX
        ) revert IAccessWindowEvents.AccessWindow_PaidAtOutOfRange(paidAtSeconds, block.timestamp);
        offer = at(offers, offerId);
        requireOnSale(offer, offerId, paidAtSeconds);
        if (offerId + 1 == offers.length) return offer;
        uint256 replacedAt = offers[offerId + 1].startsAt;
        if (paidAtSeconds > replacedAt + REPLACED_OFFER_SECONDS) {
            revert IAccessWindowEvents.AccessWindow_OfferReplaced(offerId, replacedAt, paidAtSeconds);
        }
    }

    /// @notice Reverts if the offer was retired when a payment that became valid at `paidAtSeconds` was challenged at its price.
    function requireOnSale(IAccessWindow.Offer memory offer, uint32 offerId, uint256 paidAtSeconds) internal pure {
        if (offer.retiredAt != 0 && paidAtSeconds > offer.retiredAt + REPLACED_OFFER_SECONDS) {
            revert IAccessWindowEvents.AccessWindow_OfferRetired(offerId, offer.retiredAt);
        }
    }

    /// @notice Whether nobody who had the other terms loses by having these.
    function isNoWorseThan(IAccessWindow.Offer memory offer, IAccessWindow.Offer memory other)
        internal
        pure
        returns (bool)
    {
        return offer.priceTinybar <= other.priceTinybar && offer.periodSeconds >= other.periodSeconds
            && offer.callsAllowed >= other.callsAllowed;
    }

    /// @notice Reverts unless the value is a whole positive number of periods.
    function requireWholePeriods(IAccessWindow.Offer memory offer, uint256 valueTinybar) internal pure {
        if (valueTinybar == 0 || valueTinybar % offer.priceTinybar != 0) {
            revert IAccessWindowEvents.AccessWindow_WrongValue(valueTinybar, offer.priceTinybar);
        }
    }
}
