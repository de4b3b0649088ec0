// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IAccessWindow} from "./interfaces/IAccessWindow.sol";
import {Accounts} from "./libraries/Accounts.sol";
import {Funding, Order} from "./libraries/Funding.sol";
import {Guards} from "./libraries/Guards.sol";
import {Metering} from "./libraries/Metering.sol";
import {Offers} from "./libraries/Offers.sol";
import {Renewals} from "./libraries/Renewals.sol";
import {Slot} from "./libraries/Slots.sol";
import {Payment, State} from "./libraries/State.sol";
import {Treasury} from "./libraries/Treasury.sol";
import {Windows} from "./libraries/Windows.sol";

/// @title Pay-once access with windows that renew themselves
/// @notice Here are the entrances, and who may use which. Windows are arithmetic (Subscriptions); the money of renewals moves
/// slot by slot (Slots), in a call that the network makes when the slot's windows end (Renewals, Network); Accounts says
/// whose every tinybar is. Everything that others call is described in IAccessWindow.
/// @dev Immutable on purpose: a schedule made from a DELEGATECALL frame fires and then fails on Hedera, so that a contract
/// behind a proxy cannot renew itself.
contract AccessWindow is IAccessWindow, Ownable2Step {
    using Funding for State;
    using Guards for State;
    using Metering for State;
    using Renewals for State;
    using Treasury for State;
    using Windows for State;
    using Offers for Offer;
    using Offers for Offer[];

    /// @notice How a contract begins. The value sent along is its first gas reserve.
    /// @param owner sets terms and takes earnings
    /// @param forwarder passes settled payments on; none if zero
    /// @param recorders count calls
    /// @param priceTinybar price of one period, tinybar
    /// @param periodSeconds length of one period, seconds
    /// @param callsAllowed metered calls of one period
    /// @param slotSeconds windows end in seconds this far apart; divides the period
    struct Deployment {
        address owner;
        address forwarder;
        address[] recorders;
        uint64 priceTinybar;
        uint32 periodSeconds;
        uint32 callsAllowed;
        uint32 slotSeconds;
    }

    State internal _state;

    modifier onlyForwarder() {
        if (!_state.forwarders[msg.sender]) revert AccessWindow_NotForwarder(msg.sender);
        _;
    }

    modifier onlyRecorder() {
        if (!_state.recorders[msg.sender]) revert AccessWindow_NotRecorder(msg.sender);
        _;
    }

    constructor(Deployment memory terms) payable Ownable(terms.owner) {
        _state.offers.set(Offer(terms.priceTinybar, terms.periodSeconds, terms.callsAllowed, 0, terms.slotSeconds, 0));
        if (terms.forwarder != address(0)) _state.setForwarder(terms.forwarder, true);
        for (uint256 i; i < terms.recorders.length; ++i) {
            _state.setRecorder(terms.recorders[i], true);
        }
        _state.begin();
        _state.fundReserve();
    }

    // ----------------------------------------------------------------------------------------------- purchases

    /// @inheritdoc IAccessWindow
    function open(address agent) external payable {
        Accounts memory accounts = _state.accounts.load();
        if (accounts.areSalesPaused) revert AccessWindow_SalesPaused();
        (uint32 offerId, Offer memory offer) = _state.offers.current();
        offer.requireWholePeriods(msg.value);
        offer.requireOnSale(offerId, type(uint256).max);
        _state.buy(accounts, Funding.orderNow(agent, offerId), offer);
    }

    /// @inheritdoc IAccessWindow
    function openPaid(Purchase calldata purchase) external payable onlyForwarder {
        bytes32 paymentReference = purchase.paymentReference;
        if (_state.payments[paymentReference].isUsed) revert AccessWindow_PaymentAlreadyUsed(paymentReference);
        Offer memory offer = _state.offers.forPayment(purchase.offerId, purchase.paidAtSeconds);
        offer.requireWholePeriods(msg.value);
        _state.payments[paymentReference] = Payment({agent: purchase.agent, isUsed: true});
        emit PaymentConsumed(paymentReference, purchase.agent, uint64(msg.value));
        uint256 periods = msg.value / offer.priceTinybar;
        Order memory order = Order(
            purchase.agent, purchase.offerId, purchase.calls, periods, purchase.paidAtSeconds, false, Funding.MISSED_MAX
        );
        _state.buy(_state.accounts.load(), order, offer);
    }

    /// @inheritdoc IAccessWindow
    function topUp(address agent) external payable {
        _state.topUp(agent);
    }

    /// @inheritdoc IAccessWindow
    function cancel() external {
        _state.cancel();
    }

    /// @inheritdoc IAccessWindow
    function claimRefund(address payable to) external {
        uint64 amountTinybar = _state.takeRefund();
        emit RefundClaimed(msg.sender, to, amountTinybar);
        _send(to, amountTinybar);
    }

    /// @inheritdoc IAccessWindow
    function setGuard(address agent, bool isGuarded, bytes calldata signature) external {
        _state.set(agent, isGuarded, signature);
    }

    // --------------------------------------------------------------------------------------------- renewals

    /// @inheritdoc IAccessWindow
    function renew(uint256 slotId, uint64 second) external {
        if (msg.sender == address(this)) return _state.renewAsNetwork(slotId, second);
        if (block.timestamp < second) revert AccessWindow_NotDue(second, block.timestamp);
        _state.renewAsAnyone(_state.slots.load(slotId));
    }

    /// @inheritdoc IAccessWindow
    function poke(address agent) external {
        _state.poke(agent);
    }

    /// @inheritdoc IAccessWindow
    function reap(address agent) external {
        Slot memory slot = _state.slotOf(agent);
        if (!slot.isOverdue()) revert AccessWindow_NotOverdue(slot.scheduledAt, block.timestamp);
        _state.renewAsAnyone(slot);
    }

    // --------------------------------------------------------------------------------------------- metering

    /// @inheritdoc IAccessWindow
    function recordUsage(address agent, int32 calls, uint64 windowExpiresAt) external onlyRecorder {
        _state.record(agent, calls, windowExpiresAt);
    }

    /// @inheritdoc IAccessWindow
    function recordUsageBatch(bytes32[] calldata usages) external onlyRecorder {
        for (uint256 i; i < usages.length; ++i) {
            uint256 usage = uint256(usages[i]);
            // forge-lint: disable-next-line(unsafe-typecast)
            _state.record(address(uint160(usage >> 96)), int32(uint32(usage >> 64)), uint64(usage));
        }
    }

    // ------------------------------------------------------------------------------------------------ seller

    /// @inheritdoc IAccessWindow
    function setOffer(uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed, uint32 slotSeconds)
        external
        onlyOwner
    {
        _state.offers.set(Offer(priceTinybar, periodSeconds, callsAllowed, 0, slotSeconds, 0));
    }

    /// @inheritdoc IAccessWindow
    function retireOffer(uint32 offerId) external onlyOwner {
        _state.offers.retire(offerId);
    }

    /// @inheritdoc IAccessWindow
    function setArming(uint16 scheduleCost, uint16 armingFloor) external onlyOwner {
        _state.setArming(scheduleCost, armingFloor);
    }

    /// @inheritdoc IAccessWindow
    function pauseSales(bool isPaused) external onlyOwner {
        _state.pauseSales(isPaused);
    }

    /// @inheritdoc IAccessWindow
    function setForwarder(address forwarder, bool isAllowed) external onlyOwner {
        _state.setForwarder(forwarder, isAllowed);
    }

    /// @inheritdoc IAccessWindow
    function setRecorder(address recorder, bool isAllowed) external onlyOwner {
        _state.setRecorder(recorder, isAllowed);
    }

    /// @notice Always reverts with OwnerRequired.
    function renounceOwnership() public view override onlyOwner {
        revert AccessWindow_OwnerRequired();
    }

    /// @inheritdoc IAccessWindow
    function fundReserve() external payable {
        _state.fundReserve();
    }

    /// @inheritdoc IAccessWindow
    function withdrawReserve(address payable to, uint64 amountTinybar) external onlyOwner {
        _state.takeReserve(to, amountTinybar);
        _send(to, amountTinybar);
    }

    /// @inheritdoc IAccessWindow
    function withdrawEarnings(address payable to, uint64 amountTinybar) external onlyOwner {
        _state.takeEarnings(to, amountTinybar);
        _send(to, amountTinybar);
    }

    /// @inheritdoc IAccessWindow
    function skim() external {
        _state.skim();
    }

    // ------------------------------------------------------------------------------------------------- views

    /// @inheritdoc IAccessWindow
    function windowOf(address agent, uint64 atSeconds) external view returns (Window memory) {
        return _state.windowOf(agent, atSeconds);
    }

    /// @inheritdoc IAccessWindow
    function hasAccess(address agent, uint64 atSeconds) external view returns (bool) {
        return atSeconds < _state.subscriptions.load(agent).fundedUntil;
    }

    /// @inheritdoc IAccessWindow
    function refundOf(address agent) external view returns (uint64 amountTinybar) {
        return _state.purses.load(agent).refundTinybar;
    }

    /// @inheritdoc IAccessWindow
    function paymentOf(bytes32 paymentReference) external view returns (bool isUsed, address agent) {
        Payment memory payment = _state.payments[paymentReference];
        return (payment.isUsed, payment.agent);
    }

    /// @inheritdoc IAccessWindow
    function currentOffer() external view returns (uint32 offerId, Offer memory offer) {
        return _state.offers.current();
    }

    /// @inheritdoc IAccessWindow
    function offerAt(uint32 offerId) external view returns (Offer memory) {
        return _state.offers.at(offerId);
    }

    /// @inheritdoc IAccessWindow
    function offerCount() external view returns (uint32) {
        return uint32(_state.offers.length);
    }

    /// @inheritdoc IAccessWindow
    function renewalsReserveCanArm() external view returns (uint64) {
        return _state.renewalsReserveCanArm();
    }

    /// @inheritdoc IAccessWindow
    function armingGas() external view returns (uint64 transactionGas, uint64 scheduledGas) {
        return _state.armingGas();
    }

    /// @inheritdoc IAccessWindow
    function arming() external view returns (uint16 scheduleCost, uint16 armingFloor) {
        return _state.arming();
    }

    /// @inheritdoc IAccessWindow
    function slotAt(uint256 slotId) external view returns (uint64, uint32, address, uint64) {
        return _state.slotAt(slotId);
    }

    /// @inheritdoc IAccessWindow
    function books() external view returns (Books memory) {
        return _state.books();
    }

    /// @inheritdoc IAccessWindow
    function salesPaused() external view returns (bool) {
        return _state.accounts.load().areSalesPaused;
    }

    /// @inheritdoc IAccessWindow
    function isForwarder(address account) external view returns (bool) {
        return _state.forwarders[account];
    }

    /// @inheritdoc IAccessWindow
    function isRecorder(address account) external view returns (bool) {
        return _state.recorders[account];
    }

    // ----------------------------------------------------------------------------------------------------- inside

    function _send(address payable to, uint256 amountTinybar) private {
        bool isSent;
        if (to != address(0)) (isSent,) = to.call{value: amountTinybar}("");
        if (!isSent) revert AccessWindow_TransferFailed(to, amountTinybar);
    }
}
