// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessWindow} from "../src/AccessWindow.sol";
import {IAccessWindow} from "../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../src/interfaces/IAccessWindowEvents.sol";
import {Slot, Slots} from "../src/libraries/Slots.sol";
import {AccessWindowDeployer} from "./AccessWindowDeployer.sol";
import {AccessWindowHarness} from "./AccessWindowHarness.sol";
import {ScheduleNetwork} from "./ScheduleNetwork.sol";

/// @title A deployed contract and its people, for tests
/// @notice Terms: 3 HBAR, 3,600 s, 1,000 calls, slots of 1 s, so that windows end a period after they open; reserve
/// 100 HBAR.
abstract contract AccessWindowTest is ScheduleNetwork, AccessWindowDeployer {
    uint64 internal constant HBAR = 1e8;
    uint64 internal constant PRICE = 3 * HBAR;
    /// @dev The least price that the contract takes, tinybar.
    uint64 internal constant PRICE_MIN = 300_000;
    uint32 internal constant PERIOD = 3_600;
    uint32 internal constant QUOTA = 1_000;
    /// @dev Gas that a lock covers while the gas price is 109 tinybar: twice the limit of a scheduled call.
    uint256 internal constant LOCKED_GAS = 3_649_206;
    uint256 internal constant START = 1_795_000_000;

    address internal owner = makeAddr("owner");
    address internal forwarder = makeAddr("forwarder");
    address internal recorder = makeAddr("recorder");
    address internal agent = makeAddr("agent");
    address internal stranger = makeAddr("stranger");

    AccessWindowHarness internal access;
    uint256 private _references;

    function setUp() public virtual {
        vm.warp(START);
        _installNetwork();
        access = _deploy({reserve: 100 * HBAR});
        vm.deal(forwarder, 1_000_000 * HBAR);
        vm.deal(stranger, 1_000_000 * HBAR);
        vm.deal(agent, 1_000_000 * HBAR);
    }

    function _deploy(uint256 reserve) internal returns (AccessWindowHarness) {
        return _deploy(reserve, 1);
    }

    function _deploy(uint256 reserve, uint32 slotSeconds) internal returns (AccessWindowHarness) {
        address[] memory recorders = new address[](1);
        recorders[0] = recorder;
        vm.deal(address(this), reserve);
        return _deployAccessWindow(
            AccessWindow.Deployment({
                owner: owner,
                forwarder: forwarder,
                recorders: recorders,
                priceTinybar: PRICE,
                periodSeconds: PERIOD,
                callsAllowed: QUOTA,
                slotSeconds: slotSeconds
            }),
            reserve
        );
    }

    /// @dev A contract with slots of that width, in the second after one ended.
    function _deploySlots(uint32 slotSeconds) internal {
        access = _deploy(100 * HBAR, slotSeconds);
        vm.warp(START + slotSeconds - (START + uint160(address(access))) % slotSeconds + 1);
    }

    // ------------------------------------------------------------------------------------------- transactions

    function _open(address payer, address who, uint256 value) internal {
        vm.prank(payer);
        access.open{value: value}(who);
        _newTransaction();
    }

    function _open(uint256 periods) internal {
        _open(stranger, agent, periods * PRICE);
    }

    function _purchase(address who, uint32 calls) internal returns (IAccessWindow.Purchase memory) {
        (uint32 offerId,) = access.currentOffer();
        return IAccessWindow.Purchase({
            agent: who,
            offerId: offerId,
            paidAtSeconds: uint64(block.timestamp),
            calls: calls,
            paymentReference: keccak256(abi.encode("reference", ++_references))
        });
    }

    function _openPaid(IAccessWindow.Purchase memory purchase, uint256 value) internal {
        vm.prank(forwarder);
        access.openPaid{value: value}(purchase);
        _newTransaction();
    }

    function _topUp(address payer, address who, uint256 value) internal {
        vm.prank(payer);
        access.topUp{value: value}(who);
        _newTransaction();
    }

    function _cancel(address who) internal {
        vm.prank(who);
        access.cancel();
        _newTransaction();
    }

    function _record(address who, int32 calls, uint64 windowExpiresAt) internal {
        vm.prank(recorder);
        access.recordUsage(who, calls, windowExpiresAt);
        _newTransaction();
    }

    /// @dev The network's call, for any second at any time.
    function _renewAsNetwork(uint256 slotId, uint64 second) internal {
        vm.prank(address(access), address(access));
        access.renew(slotId, second);
        _newTransaction();
    }

    function _setOffer(uint64 price, uint32 period, uint32 quota) internal {
        vm.prank(owner);
        access.setOffer(price, period, quota, 1);
    }

    function _retire(uint32 offerId) internal {
        vm.prank(owner);
        access.retireOffer(offerId);
    }

    /// @dev Arms whatever earns at all.
    function _armAlways() internal {
        vm.prank(owner);
        access.setArming(1_200, 0);
    }

    // --------------------------------------------------------------------------------------------------- reads

    function _window(address who) internal view returns (IAccessWindow.Window memory) {
        return access.windowOf(who, uint64(_consensus()));
    }

    function _window() internal view returns (IAccessWindow.Window memory) {
        return _window(agent);
    }

    function _expiresAt() internal view returns (uint64) {
        return access.windowOf(agent, uint64(block.timestamp)).expiresAt;
    }

    function _slotId(address who) internal view returns (uint256) {
        return access.windowOf(who, 0).slotId;
    }

    function _slotId() internal view returns (uint256) {
        return _slotId(agent);
    }

    /// @dev The slot of windows of 3,600 s that end in that second.
    function _slotAt(uint256 second) internal pure returns (uint256) {
        return Slots.idOf(PERIOD, second);
    }

    function _slot() internal view returns (Slot memory) {
        return access.slot(_slotId());
    }

    function _slot(address who) internal view returns (Slot memory) {
        return access.slot(_slotId(who));
    }

    function _lock() internal pure returns (uint64) {
        return uint64(LOCKED_GAS * 109);
    }

    function _who(uint256 i) internal pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode(i)))));
    }

    // -------------------------------------------------------------------------------------------------- checks

    function _expectRecorded(address who, uint64 windowExpiresAt, uint32 callsUsed) internal {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRecorded(who, windowExpiresAt, callsUsed);
    }

    function _expectRefused(address who, uint64 windowExpiresAt, int32 calls) internal {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageRefused(who, windowExpiresAt, calls);
    }

    function _expectLate(address who, uint64 windowExpiresAt, int32 calls) internal {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.UsageLate(who, windowExpiresAt, calls);
    }

    function _expectNotArmed(uint256 slotId, uint64 second, int64 code) internal {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(slotId, second, code);
    }

    /// @dev I1: the contract holds what it owes, except for gas it could not pay.
    function _assertSolvent() internal view {
        IAccessWindow.Books memory books = access.books();
        uint256 owed = uint256(books.depositsTinybar) + books.earnedTinybar + books.reserveTinybar + books.lockedTinybar
            + books.refundsTinybar;
        assertGe(address(access).balance + books.shortfallTinybar, owed, "I1");
    }
}
