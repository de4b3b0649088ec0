// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ScheduleBook} from "../../devnet/ScheduleBook.sol";
import {AccessWindow} from "../../src/AccessWindow.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {Slot} from "../../src/libraries/Slots.sol";
import {Subscription} from "../../src/libraries/Subscriptions.sol";
import {AccessWindowDeployer} from "../AccessWindowDeployer.sol";
import {ScheduleNetwork} from "../ScheduleNetwork.sol";
import {Ghosts} from "./Ghosts.sol";
import {ModelSubscription} from "./Model.sol";

/// @title A random walk over agents, the seller, strangers and the network
/// @notice Every action meets its preconditions (a revert fails the campaign) and reports its result to the ghosts. The
/// network misbehaves in every way that was seen on Hedera.
contract AccessHandler is ScheduleNetwork, AccessWindowDeployer, Ghosts {
    uint256 internal constant HBAR = 1e8;
    uint256 internal constant PRICE_MIN = 300_000;
    uint256 public constant PURCHASE_PERIODS_MAX = 6;

    address[8] public agents;
    uint256 internal _references;
    uint256 public unexpectedReverts;
    /// @dev Schedules that the contract gave up while the network still held them.
    address[] public leftovers;
    mapping(uint256 slotId => address schedule) internal _schedules;
    bool internal _isNextUnpaid;

    constructor() {
        vm.warp(1_795_000_000);
        _installNetwork();
        vm.deal(address(this), 1e18);
        address[] memory recorders = new address[](1);
        recorders[0] = address(this);
        access = _deployAccessWindow(
            AccessWindow.Deployment(address(this), address(this), recorders, uint64(3 * HBAR), 600, 40, 60), 60 * HBAR
        );
        agents = [
            address(0xA1),
            address(0xA2),
            address(0),
            address(access),
            address(0xA3),
            address(0xA4),
            address(0xA5),
            address(0xA6)
        ];
    }

    receive() external payable {}

    modifier transaction(uint256 who) {
        _newTransaction();
        address agent = agents[who % agents.length];
        _pass(agent, block.timestamp);
        _;
        uint256 slotId = access.windowOf(agent, 0).slotId;
        _noteSlot(slotId);
        _noteSchedule(slotId);
    }

    // ----------------------------------------------------------------------------------------------- purchases

    function openPaid(uint256 who, uint256 periods, uint32 calls) external transaction(who) {
        address agent = agents[who % agents.length];
        (uint32 offerId, IAccessWindow.Offer memory offer) = access.currentOffer();
        periods = bound(periods, 1, PURCHASE_PERIODS_MAX);
        uint256 value = periods * offer.priceTinybar;
        uint256 paidAt = _notLaterThan(offer, block.timestamp);
        if (_isOpen(agent)) paidAt = _notLaterThan(access.offerAt(uint32(offerOf[agent])), paidAt);
        if (paidAt + 31 days < block.timestamp) return;
        IAccessWindow.Purchase memory purchase = IAccessWindow.Purchase({
            agent: agent,
            offerId: offerId,
            paidAtSeconds: uint64(paidAt),
            calls: calls % 2,
            paymentReference: bytes32(++_references)
        });
        vm.recordLogs();
        access.openPaid{value: value}(purchase);
        bool hasRecorded = _hasRecorded();
        _buy(agent, value, offer, periods, false);
        uint256 end = access.windowOf(agent, uint64(block.timestamp)).expiresAt;
        if (hasRecorded) _count(agent, end, int32(purchase.calls));
    }

    function open(uint256 who, uint256 periods) external transaction(who) {
        if (access.salesPaused()) return;
        address agent = agents[who % agents.length];
        (, IAccessWindow.Offer memory offer) = access.currentOffer();
        if (offer.retiredAt != 0 || (_isOpen(agent) && _isPinnedRetired(agent))) return;
        uint256 value = bound(periods, 1, PURCHASE_PERIODS_MAX) * offer.priceTinybar;
        access.open{value: value}(agent);
        _buy(agent, value, offer, 1, false);
    }

    function topUp(uint256 who, uint256 value) external transaction(who) {
        address agent = agents[who % agents.length];
        ModelSubscription storage model = _models[agent];
        if (!_isOpen(agent) || model.isCancelled || _isPinnedRetired(agent)) return;
        value = bound(value, 1, 10 * HBAR);
        access.topUp{value: value}(agent);
        paidTinybar += value;
        model.waitingTinybar += value;
        _fund(agent, 1);
    }

    function cancel(uint256 who) external transaction(who) {
        address agent = agents[who % agents.length];
        ModelSubscription storage model = _models[agent];
        if (!model.exists || model.isCancelled) return;
        if (model.expiresAt <= block.timestamp && model.balance() == 0) return;
        vm.prank(agent);
        access.cancel();
        cancelledTinybar += model.balance();
        model.periods = 0;
        model.waitingTinybar = 0;
        model.isCancelled = true;
    }

    function claimRefund(uint256 who) external transaction(who) {
        address agent = agents[who % agents.length];
        uint256 refund = access.refundOf(agent);
        // gas that none of the seller's accounts could pay is missing from the balance until he repays it
        if (refund == 0 || refund > address(access).balance) return;
        vm.prank(agent);
        access.claimRefund(payable(address(this)));
        claimedTinybar += refund;
    }

    function setGuard(uint256 who, bool isGuarded) external transaction(who) {
        address agent = agents[who % agents.length];
        vm.prank(agent);
        access.setGuard(agent, isGuarded, "");
    }

    // ------------------------------------------------------------------------------------------------ metering

    function recordUsage(uint256 who, uint32 calls, uint256 which) external transaction(who) {
        address agent = agents[who % agents.length];
        Subscription memory stored = access.stored(agent);
        uint256 current = access.windowOf(agent, uint64(block.timestamp)).expiresAt;
        int32 signed = int32(calls % 25);
        if (calls % 3 == 0) signed = -signed / 2;
        uint256 named = current + stored.periodSeconds;
        if (which % 8 < 4) named = current;
        else if (which % 8 == 4) named = uint256(stored.countedUntil) - stored.periodSeconds;
        else if (which % 8 == 5) named = access.purseOf(agent).closedAt;
        else if (which % 8 == 6) named = which % 2 ** 40;
        vm.recordLogs();
        access.recordUsage(agent, signed, uint64(named));
        Subscription memory afterwards = access.stored(agent);
        if (afterwards.countedUntil != stored.countedUntil) {
            _pass(agent, afterwards.countedUntil - afterwards.periodSeconds);
        }
        if (_hasRecorded()) _count(agent, named, signed);
    }

    // ------------------------------------------------------------------------------------------------- anyone

    function poke(uint256 who, bool isByAgent) external transaction(who) {
        address agent = agents[who % agents.length];
        ModelSubscription memory model = _models[agent];
        (, IAccessWindow.Offer memory offer) = access.currentOffer();
        bool isBuying = offer.retiredAt == 0 && model.waitingTinybar >= offer.priceTinybar;
        if (_isOpen(agent)) isBuying = isBuying && !_isPinnedRetired(agent) && model.isSame(offer);
        else isBuying = isBuying && !access.salesPaused() && (isByAgent || !model.isWorse(offer));
        if (isByAgent) vm.prank(agent);
        access.poke(agent);
        if (isBuying) _buy(agent, 0, offer, 1, isByAgent);
    }

    function renewAsAnyone(uint256 which, uint256 second) external {
        if (slotIds.length == 0) return;
        _newTransaction();
        uint256 slotId = slotIds[which % slotIds.length];
        access.renew(slotId, uint64(bound(second, 0, block.timestamp)));
        _noteSchedule(slotId);
    }

    function reap(uint256 who) external transaction(who) {
        address agent = agents[who % agents.length];
        Slot memory slot = access.slot(access.windowOf(agent, 0).slotId);
        if (slot.schedule == address(0) || block.timestamp <= slot.scheduledAt + 30) return;
        access.reap(agent);
        unbookedTinybar = 0;
    }

    function skim(uint256 gift) external {
        vm.deal(address(access), address(access).balance + gift % HBAR); // a native transfer runs no code
        access.skim();
        unbookedTinybar = 0;
    }

    // ------------------------------------------------------------------------------------------------- seller

    /// @dev A quarter of the offers are the same period and slots, so that agents share them; others are of days, and so cheap
    /// that a top-up exceeds the reach.
    function setOffer(uint256 price, uint256 period, uint256 quota, uint256 width) external {
        uint256 slotSeconds = price % 4 == 0 ? 60 : [uint256(1), 5, 20, 60][width % 4];
        uint256 periodSeconds = bound(period, 10, 2_000) / slotSeconds * slotSeconds;
        if (price % 4 == 0 || periodSeconds == 0) periodSeconds = 60;
        price = bound(price, PRICE_MIN, 5 * HBAR);
        if (quota % 3 == 0) (periodSeconds, price) = (1 days * (1 + period % 20), PRICE_MIN * (1 + price % 100));
        access.setOffer(uint64(price), uint32(periodSeconds), uint32(bound(quota, 1, 60)), uint32(slotSeconds));
    }

    function retireOffer(uint256 which) external {
        uint32 count = access.offerCount();
        access.retireOffer(uint32(which % 2 == 0 ? count - 1 : which / 2 % count));
    }

    function setArming(uint256 cost, uint256 floor) external {
        access.setArming(cost % 4 == 0 ? 2_400 : 1_200, uint16(floor % 3 == 0 ? 0 : floor % 300));
    }

    function pauseSales(bool isPaused) external {
        access.pauseSales(isPaused);
    }

    function fundReserve(uint256 value) external {
        access.fundReserve{value: bound(value, 1, 20 * HBAR)}();
    }

    function withdraw(uint256 amount, bool isReserve) external {
        access.skim(); // books what is missing, so that the amounts below are what can be had
        unbookedTinybar = 0;
        IAccessWindow.Books memory books = access.books();
        if (books.shortfallTinybar != 0) return;
        if (isReserve) access.withdrawReserve(payable(this), uint64(amount % (books.reserveTinybar + 1)));
        else access.withdrawEarnings(payable(this), uint64(amount % (books.earnedTinybar + 1)));
    }

    // ------------------------------------------------------------------------------------------------ network

    function pass(uint256 seconds_) external {
        _passTo(_consensus() + seconds_ % 1_000);
    }

    /// @dev To the seconds around the end of an agent's window, where the clock and the network disagree.
    function passToBoundary(uint256 who, uint256 offset) external {
        uint256 end = access.windowOf(agents[who % agents.length], uint64(block.timestamp)).expiresAt;
        if (end > _consensus() + 5_000 || end + offset % 5 <= _consensus()) return;
        _passTo(end + offset % 5);
    }

    function stallForDays(uint256 days_) external {
        _stallTo(_consensus() + days_ % 40 * 1 days);
    }

    function stall(uint256 seconds_) external {
        _stallTo(_consensus() + seconds_ % 200);
    }

    /// @dev 22, 210, 306, 307, 370, 373, an unknown code, starved gas, a full second, and back to normal.
    function misbehave(uint256 how) external {
        uint64[10] memory codes = [uint64(22), 210, 306, 307, 370, 373, 9_999, 22, 22, 22];
        how %= 10;
        uint64 createGas = how == 7 ? 14_000_000 : 0;
        uint64 gasPerSecond = how == 8 ? 1 : 0;
        _configure({gasPerSecond: gasPerSecond, createGas: createGas, forcedCode: int64(codes[how])});
    }

    /// @dev Also such that a `scheduleCall` costs what its price in dollars says.
    function setGasPrice(uint256 price, uint256 cents) external {
        _setGasPrice(bound(price, 1, 900));
        _setSchedulePrice(cents % 3 * 12);
    }

    function starveExecutions(uint256 gas) external {
        executionGasCap = gas % 3 == 0 ? bound(gas, 1, 30_000) : 0;
    }

    function leaveNextUnpaid() external {
        _isNextUnpaid = true;
    }

    function _execute(address schedule, ScheduleBook.Schedule memory call) internal override {
        for (uint256 i; i < agents.length; ++i) {
            _pass(agents[i], block.timestamp);
        }
        if (_isNextUnpaid) {
            _isNextUnpaid = false;
            _markExecuted(schedule, STATUS_INSUFFICIENT_PAYER_BALANCE);
            return;
        }
        super._execute(schedule, call);
        // only a call that was made tells the contract, whose clock may be early, that its second has come
        uint256 slotId = _slotOf(call.callData);
        for (uint256 i; i < agents.length; ++i) {
            if (_models[agents[i]].exists && _slotOf(agents[i]) == slotId) _passBooked(agents[i]);
        }
        _noteSchedule(slotId);
        if (lastStatus == STATUS_REVERTED) {
            unbookedTinybar += lastGasUsed * gasPrice;
            if (executionGasCap == 0) ++unexpectedReverts;
        }
    }

    // ------------------------------------------------------------------------------------------------- inside

    function _isOpen(address agent) internal view returns (bool) {
        return _models[agent].expiresAt > block.timestamp;
    }

    function _isPinnedRetired(address agent) internal view returns (bool) {
        return access.offerAt(uint32(offerOf[agent])).retiredAt != 0;
    }

    /// @dev The latest second in which a payment may have been challenged at that offer.
    function _notLaterThan(IAccessWindow.Offer memory offer, uint256 second) internal pure returns (uint256) {
        if (offer.retiredAt == 0 || second <= uint256(offer.retiredAt) + 600) return second;
        return uint256(offer.retiredAt) + 600;
    }

    function agentCount() external view returns (uint256) {
        return agents.length;
    }

    function leftoverCount() external view returns (uint256) {
        return leftovers.length;
    }

    /// @dev What the slot held before and the network still holds was given up as overdue.
    function _noteSchedule(uint256 slotId) internal {
        address before = _schedules[slotId];
        address schedule = access.slot(slotId).schedule;
        if (before == schedule) return;
        _schedules[slotId] = schedule;
        if (before == address(0)) return;
        if (SCHEDULE_SERVICE.scheduleAt(before).state == ScheduleBook.State.Pending) leftovers.push(before);
    }

    function _slotOf(bytes memory callData) internal pure returns (uint256 slotId) {
        assembly ("memory-safe") {
            slotId := mload(add(callData, 36))
        }
    }
}
