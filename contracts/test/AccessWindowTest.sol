// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessWindow} from "../src/AccessWindow.sol";
import {IAccessWindow} from "../src/interfaces/IAccessWindow.sol";
import {AccessWindowDeployer} from "./AccessWindowDeployer.sol";
import {AccessWindowHarness} from "./AccessWindowHarness.sol";
import {ScheduleNetwork} from "./ScheduleNetwork.sol";

/// @title A deployed contract and its people, for tests
/// @notice Terms: 3 HBAR, 3,600 s, 1,000 calls; reserve 100 HBAR.
abstract contract AccessWindowTest is ScheduleNetwork, AccessWindowDeployer {
    uint64 internal constant HBAR = 1e8;
    uint64 internal constant PRICE = 3 * HBAR;
    uint32 internal constant PERIOD = 3_600;
    uint32 internal constant QUOTA = 1_000;
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
                callsAllowed: QUOTA
            }),
            reserve
        );
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

    function _record(address who, uint32 calls, uint64 windowExpiresAt) internal {
        vm.prank(recorder);
        access.recordUsage(who, calls, windowExpiresAt);
        _newTransaction();
    }

    function _setOffer(uint64 price, uint32 period, uint32 quota) internal {
        vm.prank(owner);
        access.setOffer(price, period, quota);
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

    function _lock() internal view returns (uint64) {
        return uint64(access.RENEW_GAS() * access.LOCK_SAFETY() * gasPrice);
    }

    // -------------------------------------------------------------------------------------------------- checks

    /// @dev I1: the contract holds what it owes, except for gas it could not pay.
    function _assertSolvent() internal view {
        IAccessWindow.Books memory books = access.books();
        uint256 owed = uint256(books.depositsTinybar) + books.earnedTinybar + books.reserveTinybar + books.lockedTinybar
            + books.refundsTinybar;
        assertGe(address(access).balance + books.shortfallTinybar, owed, "I1");
    }
}
