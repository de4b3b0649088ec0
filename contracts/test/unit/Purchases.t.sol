// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Buying: `open` by anyone, `openPaid` by a forwarder. Purchases that arm nothing are in Scheduling.t.sol.
contract PurchasesTest is AccessWindowTest {
    // ---------------------------------------------------------------------------------------------------- open

    function test_Open_RevertWhen_SalesArePaused() external {
        vm.prank(owner);
        access.pauseSales(true);
        vm.expectRevert(IAccessWindowEvents.AccessWindow_SalesPaused.selector);
        vm.prank(stranger);
        access.open{value: PRICE}(agent);
    }

    function test_Open_RevertWhen_TheValueIsNotAWholePositiveNumberOfPeriods() external {
        uint256[3] memory values = [uint256(0), PRICE - 1, 2 * PRICE + 1];
        for (uint256 i; i < values.length; ++i) {
            vm.expectRevert(
                abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_WrongValue.selector, values[i], uint256(PRICE))
            );
            vm.prank(stranger);
            access.open{value: values[i]}(agent);
        }
    }

    function test_Open_OpensNowOnTheCurrentTermsAndChargesOnePeriod() external {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SubscriptionOpened(
            agent,
            stranger,
            uint64(START) + PERIOD,
            0,
            3 * PRICE,
            _slotAt(START),
            address(0x100000),
            uint64(START) + PERIOD
        );
        _open(4);
        IAccessWindow.Window memory window = _window();
        assertTrue(window.exists);
        assertTrue(window.isOpen);
        assertEq(window.expiresAt, START + PERIOD);
        assertEq(window.balanceTinybar, 3 * PRICE);
        assertEq(window.periodsFunded, 3);
        assertEq(window.callsAllowed, QUOTA);
        assertEq(access.books().earnedTinybar, PRICE);
        assertEq(access.books().depositsTinybar, 3 * PRICE);
    }

    function test_Open_AddsWhatWasLeftOfAnOldBalance() external {
        _open(1);
        _topUp(agent, agent, PRICE / 2);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt);
        assertFalse(_window().isOpen);
        _open(2);
        assertEq(_window(agent).expiresAt, expiresAt + PERIOD);
        assertEq(_window(agent).balanceTinybar, PRICE / 2 + PRICE);
        _topUp(stranger, agent, PRICE / 2);
        assertEq(_window().periodsFunded, 2, "two halves are a period");
        assertEq(access.purseOf(agent).changeTinybar, 0);
        assertEq(access.books().depositsTinybar, 2 * PRICE);
        _assertSolvent();
    }

    function test_Open_ArmsTheRenewalWhenFurtherPeriodsArePaidFor() external {
        _open(1);
        assertEq(_window().schedule, address(0));
        _open(1);
        IAccessWindow.Window memory window = _window();
        assertEq(window.scheduledAt, window.expiresAt);
        assertEq(SCHEDULE_SERVICE.scheduleAt(window.schedule).payer, address(access));
        assertEq(access.books().lockedTinybar, _lock());
    }

    function test_Open_AddsToAnOpenWindowOnItsPinnedTerms() external {
        _open(2);
        _setOffer(7 * HBAR, 60, 5);
        _open(stranger, agent, 7 * HBAR);
        IAccessWindow.Window memory window = _window();
        assertEq(window.priceTinybar, PRICE, "a stranger's gift changes nobody's price");
        assertEq(window.periodSeconds, PERIOD);
        assertEq(window.callsAllowed, QUOTA);
        assertEq(window.balanceTinybar, PRICE + 7 * HBAR);
    }

    function test_Open_RevivesACancelledSubscription() external {
        _open(3);
        _cancel(agent);
        _open(2);
        IAccessWindow.Window memory window = _window();
        assertFalse(window.isCancelled);
        assertEq(window.balanceTinybar, 2 * PRICE);
        assertTrue(window.schedule != address(0));
        assertEq(access.refundOf(agent), 2 * PRICE, "the refund stays claimable");
    }

    function test_Open_RevertWhen_TheGasLimitCannotArm() external {
        vm.prank(stranger);
        (bool isSuccess, bytes memory answer) =
            address(access).call{gas: 1_300_000, value: 2 * PRICE}(abi.encodeCall(IAccessWindow.open, (agent)));
        assertFalse(isSuccess, "an estimate of gas must not find a limit that arms nothing");
        assertEq(bytes4(answer), IAccessWindowEvents.AccessWindow_InsufficientGas.selector);
    }

    function test_Open_BooksWhatIsDueInASlotWithoutASchedule() external {
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 370});
        _open(3);
        _open(stranger, forwarder, 3 * PRICE);
        uint64 expiresAt = _expiresAt();
        vm.warp(expiresAt);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.SlotRenewed(_slotId(), expiresAt + PERIOD, 1, 2, 2 * PRICE, false);
        _open(1);
        assertEq(access.books().earnedTinybar, 4 * PRICE);
    }

    // ------------------------------------------------------------------------------------------------ openPaid

    function test_OpenPaid_RevertWhen_TheSenderIsNotAForwarder() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotForwarder.selector, stranger));
        vm.prank(stranger);
        access.openPaid{value: PRICE}(purchase);
    }

    function test_OpenPaid_RevertWhen_TheReferenceIsKnown() external {
        IAccessWindow.Purchase memory purchase = _purchase(address(0), 1);
        _openPaid(purchase, 2 * PRICE);
        (bool isUsed, address payee) = access.paymentOf(purchase.paymentReference);
        assertTrue(isUsed);
        assertEq(payee, address(0));
        uint256 before = forwarder.balance;
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_PaymentAlreadyUsed.selector, purchase.paymentReference
            )
        );
        vm.prank(forwarder);
        access.openPaid{value: 2 * PRICE}(purchase);
        assertEq(forwarder.balance, before, "the value stays with the forwarder");
    }

    function test_OpenPaid_RevertWhen_TheOfferDoesNotExist() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        purchase.offerId = 1;
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_UnknownOffer.selector, 1));
        vm.prank(forwarder);
        access.openPaid{value: PRICE}(purchase);
        purchase.offerId = type(uint32).max;
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_UnknownOffer.selector, type(uint32).max)
        );
        vm.prank(forwarder);
        access.openPaid{value: PRICE}(purchase);
    }

    function test_OpenPaid_RevertWhen_TheValueIsNotAWholePositiveNumberOfPeriods() external {
        uint256[3] memory values = [uint256(0), PRICE - 1, 2 * PRICE + 1];
        for (uint256 i; i < values.length; ++i) {
            IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
            vm.expectRevert(
                abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_WrongValue.selector, values[i], uint256(PRICE))
            );
            vm.prank(forwarder);
            access.openPaid{value: values[i]}(purchase);
        }
    }

    function test_OpenPaid_TakesAnOfferThatWasReplacedAtMost600SecondsBeforeThePayment() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 0);
        vm.warp(START + 1_000);
        _setOffer(9 * HBAR, 60, 5);
        vm.warp(START + 30 days); // a sweep may forward it much later
        purchase.paidAtSeconds = uint64(START) + 1_601;
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_OfferReplaced.selector, 0, START + 1_000, purchase.paidAtSeconds
            )
        );
        vm.prank(forwarder);
        access.openPaid{value: PRICE}(purchase);

        purchase.paidAtSeconds = uint64(START) + 1_600;
        _openPaid(purchase, PRICE);
        assertEq(_window().periodSeconds, PERIOD, "the terms that were challenged");
        assertEq(_window().priceTinybar, PRICE);
    }

    function test_A21_OpenPaid_RevertWhen_ThePaymentIsTooOldOrTooFarAhead() external {
        vm.warp(START + 60 days);
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        uint64[2] memory times = [uint64(block.timestamp - 31 days - 1), uint64(block.timestamp + 301)];
        for (uint256 i; i < 2; ++i) {
            purchase.paidAtSeconds = times[i];
            vm.expectRevert(
                abi.encodeWithSelector(
                    IAccessWindowEvents.AccessWindow_PaidAtOutOfRange.selector, times[i], block.timestamp
                )
            );
            vm.prank(forwarder);
            access.openPaid{value: PRICE}(purchase);
        }
        purchase.paidAtSeconds = uint64(block.timestamp - 31 days);
        _openPaid(purchase, PRICE);
        purchase = _purchase(agent, 1);
        purchase.paidAtSeconds = uint64(block.timestamp + 300);
        _openPaid(purchase, PRICE);
        assertEq(_window().periodsFunded, 1);
    }

    function test_OpenPaid_IgnoresAPause() external {
        vm.prank(owner);
        access.pauseSales(true);
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        assertTrue(_window().isOpen);
    }

    function test_OpenPaid_CountsTheCallThatThePaymentServes() external {
        _openPaid(_purchase(agent, 1), 2 * PRICE);
        assertEq(_window().callsUsed, 1);
    }

    function test_OpenPaid_RefusesTheCallWhenTheQuotaIsSpent() external {
        _openPaid(_purchase(agent, 1), 2 * PRICE);
        _record(agent, int32(QUOTA) - 1, _expiresAt());
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(agent, _expiresAt(), 1);
        _openPaid(purchase, PRICE);
        assertEq(_window().callsUsed, QUOTA);
        assertEq(_window().balanceTinybar, 2 * PRICE, "the payment itself is taken");
    }

    function testFuzz_I11_OpenPaidSucceedsForEveryAddress(address who, uint8 periods, uint32 calls) external {
        uint256 count = uint256(periods) + 1;
        _openPaid(_purchase(who, calls), count * PRICE);
        IAccessWindow.Window memory window = _window(who);
        assertTrue(window.isOpen);
        assertEq(window.periodsFunded, count - 1);
        assertEq(window.schedule != address(0), count > 1);
    }

    function test_I11_OpenPaidSucceedsForTheOddestAddresses() external {
        address[8] memory odd = [
            address(0),
            address(1),
            address(10),
            address(access),
            address(SCHEDULE_SERVICE),
            forwarder,
            owner,
            address(type(uint160).max)
        ];
        for (uint256 i; i < odd.length; ++i) {
            _openPaid(_purchase(odd[i], 1), 2 * PRICE);
            assertTrue(_window(odd[i]).isOpen);
        }
    }

    function test_OpenPaid_RevertWhen_TheBooksCannotHoldTheAmount() external {
        _setOffer(type(uint64).max, PERIOD, QUOTA);
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.deal(forwarder, type(uint128).max);
        vm.expectRevert(
            abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_AmountTooLarge.selector, type(uint64).max)
        );
        vm.prank(forwarder);
        access.openPaid{value: type(uint64).max}(purchase);
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessWindowEvents.AccessWindow_AmountTooLarge.selector, 3 * uint256(type(uint64).max)
            )
        );
        vm.prank(forwarder);
        access.openPaid{value: 3 * uint256(type(uint64).max)}(purchase);
    }
}
