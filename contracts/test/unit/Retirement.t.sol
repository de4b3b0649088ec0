// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice An offer at whose terms no new money comes in (A26).
contract RetirementTest is AccessWindowTest {
    bytes private refusal = abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_OfferRetired.selector, 0, START);

    function test_A26_RetireOffer_SaysSinceWhenOnce() external {
        vm.warp(START + 7);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.OfferRetired(0, uint64(START + 7));
        _retire(0);
        vm.warp(START + 8);
        vm.recordLogs();
        _retire(0);
        assertEq(vm.getRecordedLogs().length, 0);
        assertEq(access.offerAt(0).retiredAt, START + 7);
        (, IAccessWindow.Offer memory offer) = access.currentOffer();
        assertEq(offer.retiredAt, START + 7);
        assertEq(offer.priceTinybar, PRICE, "its terms stay");
        assertEq(offer.startsAt, START);
    }

    function test_A26_RetireOffer_RevertWhen_TheOfferDoesNotExist() external {
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_UnknownOffer.selector, 1));
        _retire(1);
    }

    function test_A26_RetireOffer_TakesNoNewMoneyAtItsTermsWhileWindowsGoOn() external {
        _open(4);
        _retire(0);
        vm.expectRevert(refusal);
        vm.prank(stranger);
        access.topUp{value: PRICE}(agent);
        vm.expectRevert(refusal);
        vm.prank(stranger);
        access.open{value: PRICE}(agent);
        vm.expectRevert(refusal);
        vm.prank(stranger);
        access.open{value: PRICE}(stranger);
        _passTo(START + 3 * PERIOD + 3);
        assertTrue(_window().isOpen, "what was paid for is given");
        assertEq(access.books().earnedTinybar, 4 * PRICE);
        _cancel(agent);
        assertEq(_window().expiresAt, START + 4 * PERIOD);
    }

    function test_A26_RetireOffer_EndsAsANewOfferIsSet() external {
        _open(4);
        _retire(0);
        _setOffer(PRICE, PERIOD, QUOTA);
        _open(stranger, stranger, PRICE);
        vm.expectRevert(refusal);
        vm.prank(stranger);
        access.open{value: PRICE}(agent);
        vm.warp(START + 4 * PERIOD);
        _open(1);
        assertTrue(_window().isOpen, "on the new one");
        _topUp(stranger, agent, PRICE);
        assertEq(_window().periodsFunded, 1);
    }

    function test_A26_RetireOffer_LeavesWhatWaitsWaiting() external {
        _open(2_000);
        _setOffer(PRICE, PERIOD, QUOTA);
        _retire(0);
        vm.warp(START + PERIOD);
        access.poke(agent);
        assertEq(access.stored(agent).fundedUntil, START + 31 days);
        vm.warp(START + 31 days);
        access.poke(agent);
        assertTrue(_window().isOpen, "until the current offer has it");
        assertEq(access.stored(agent).offerId, 1);
    }

    // ------------------------------------------------------------------------------------------------ openPaid

    function test_I11_OpenPaidSucceedsForPaymentsChallengedBeforeARetirement() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        purchase.paidAtSeconds = uint64(START + 600);
        IAccessWindow.Purchase memory late = _purchase(stranger, 1);
        late.paidAtSeconds = uint64(START + 601);
        _retire(0);
        vm.warp(START + 1 days);
        _openPaid(purchase, 4 * PRICE);
        assertEq(_window().periodsFunded, 3, "on the terms that were challenged");
        vm.expectRevert(refusal);
        vm.prank(forwarder);
        access.openPaid{value: 4 * PRICE}(late);
    }

    function test_I11_OpenPaidIntoAnOpenWindowOfARetiredOfferWaits() external {
        _open(2);
        _cancel(agent);
        _setOffer(2 * PRICE, PERIOD, QUOTA);
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        purchase.paidAtSeconds = uint64(START + 600);
        IAccessWindow.Purchase memory late = _purchase(agent, 1);
        late.paidAtSeconds = uint64(START + 601);
        _retire(0);
        vm.warp(START + 700);
        _openPaid(purchase, 8 * PRICE);
        assertEq(_window().periodsFunded, 0, "nobody gets new periods at retired terms");
        assertEq(_window().balanceTinybar, 8 * PRICE);
        assertEq(_window().callsUsed, 1);
        vm.expectRevert(refusal);
        vm.prank(forwarder);
        access.openPaid{value: 8 * PRICE}(late);
        _cancel(agent);
        assertEq(access.refundOf(agent), 9 * PRICE, "and nobody loses money");
        vm.warp(START + PERIOD);
        _openPaid(late, 8 * PRICE);
        assertEq(_window().periodsFunded, 3, "once it has closed, the terms challenged");
        assertEq(_window().priceTinybar, 2 * PRICE);
    }
}
