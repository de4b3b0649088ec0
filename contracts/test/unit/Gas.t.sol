// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {Accounts} from "../../src/libraries/Accounts.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @title What transactions cost
/// @notice Each figure is of one whole transaction: 21,000 of intrinsic gas, calldata and refunds included, storage cold.
/// They are kept in snapshots/; scripts/test.ts fails when they drift. Slots of 60 s, opened 59 s before one ends.
contract GasTest is AccessWindowTest {
    function setUp() public override {
        super.setUp();
        _deploySlots(60);
    }

    // ----------------------------------------------------------------------------------------------- purchases

    /// forge-config: default.isolate = true
    function test_Gas_Purchases() external {
        _pay(agent, 4);
        _snapshot("openPaid, slot to arm");
        _pay(_who(1), 4);
        _snapshot("openPaid, armed slot, others end in the same second");
        _pay(_who(2), 6);
        _snapshot("openPaid, armed slot, first of its length");
        _pay(_who(3), 1);
        _snapshot("openPaid, one period");
        vm.prank(stranger);
        access.open{value: 4 * PRICE}(_who(4));
        _snapshot("open, armed slot");
        vm.warp(_window(_who(1)).expiresAt - 30);
        _pay(_who(5), 4);
        _snapshot("openPaid, armed slot, first of its cycle");
        _pay(_who(1), 4);
        _snapshot("openPaid for an open window");
        vm.warp(block.timestamp + 10 * PERIOD);
        _pay(_who(3), 4);
        _snapshot("openPaid, slot 10 periods behind, reaped and armed");
    }

    // ------------------------------------------------------------------------------------------------ renewals

    /// forge-config: default.isolate = true
    function test_Gas_RenewalOfOne() external {
        _snapshotRenewal(1);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RenewalOf5() external {
        _snapshotRenewal(5);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RenewalOf20() external {
        _snapshotRenewal(20);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RenewalOf200() external {
        _snapshotRenewal(200);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RenewalOf1000() external {
        _snapshotRenewal(1_000);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RenewalsInBetweenAndLast() external {
        _pay(agent, 4);
        uint64 end = _window(agent).expiresAt;
        _renew(end, "renew by the network, agents: 1");
        _renew(end + PERIOD, "renew by the network, in between");
        _renew(end + 2 * PERIOD, "renew by the network, nothing left to arm");
    }

    /// forge-config: default.isolate = true
    function test_Gas_AtAThirdOfTheGasPrice() external {
        // whole transactions of forge show no gas price: the last one seen counts, and what scheduling takes is set
        Accounts memory accounts = access.accounts();
        accounts.gasPriceHintTinybar = 36;
        access.keepAccounts(accounts);
        gasPrice = 36;
        _configure({gasPerSecond: 0, createGas: 4_262_000, forcedCode: 0});
        _pay(agent, 4);
        _snapshot("gas price a third: openPaid, slot to arm");
        _renew(_window(agent).expiresAt, "gas price a third: renew by the network");
    }

    // ------------------------------------------------------------------------------------------------ metering

    /// forge-config: default.isolate = true
    function test_Gas_RecordUsage() external {
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        uint64 end = _window(agent).expiresAt;
        _count(1, end);
        _snapshot("recordUsage, current window");
        _count(50, end);
        _snapshot("recordUsage, 50 calls");
        _count(-9, end);
        _snapshot("recordUsage, calls given back");
        vm.warp(end + 1);
        _count(1, end + PERIOD);
        _snapshot("recordUsage, first of the next window");
        _count(1, end);
        _snapshot("recordUsage, previous window");
    }

    /// forge-config: default.isolate = true
    function test_Gas_RecordUsageBatch() external {
        bytes32[] memory usages = new bytes32[](50);
        bytes32[] memory next = new bytes32[](50);
        for (uint256 i; i < 50; ++i) {
            _openPaid(_purchase(_who(i), 1), 4 * PRICE);
            uint256 entry = uint256(uint160(_who(i))) << 96 | 3 << 64;
            usages[i] = bytes32(entry | _window(_who(i)).expiresAt);
            next[i] = bytes32(entry | _window(_who(i)).expiresAt + PERIOD);
        }
        vm.prank(recorder);
        access.recordUsageBatch(usages);
        vm.snapshotValue("AccessWindow", "recordUsageBatch of 50, each", vm.lastCallGas().gasTotalUsed / 50);
        vm.warp(_window(_who(0)).expiresAt + 1);
        vm.prank(recorder);
        access.recordUsageBatch(next);
        vm.snapshotValue(
            "AccessWindow", "recordUsageBatch of 50, next window, each", vm.lastCallGas().gasTotalUsed / 50
        );
    }

    // -------------------------------------------------------------------------------------------------- others

    /// forge-config: default.isolate = true
    function test_Gas_Others() external {
        _pay(agent, 4);
        _pay(_who(1), 4);
        uint64 end = _window(agent).expiresAt;
        vm.warp(end + 1);
        access.poke(agent);
        vm.prank(stranger);
        access.topUp{value: PRICE}(agent);
        _snapshot("topUp, one period");
        vm.prank(stranger);
        access.topUp{value: PRICE / 2}(agent);
        _snapshot("topUp, half a period");
        vm.prank(agent);
        access.cancel();
        _snapshot("cancel");
        vm.prank(agent);
        access.claimRefund(payable(agent));
        _snapshot("claimRefund");
        vm.prank(agent);
        access.setGuard(agent, true, "");
        _snapshot("setGuard by the agent");
        vm.prank(_who(1));
        access.cancel();
        _snapshot("cancel, first in a second of the calendar");
    }

    // ----------------------------------------------------------------------------------------- a neglected slot

    function test_A26_WhatANeglectedSlotEarnsPaysForBookingIt() external {
        _setOffer(PRICE_MIN, 10, QUOTA); // which earns too little to be armed
        _open(stranger, agent, PRICE_MIN);
        _topUp(stranger, agent, 270_000 * uint256(PRICE_MIN));
        vm.warp(block.timestamp + 30 days);
        uint256 earned = access.books().earnedTinybar;
        uint256 gasBefore = gasleft();
        access.poke{gas: 15_000_000}(agent);
        uint256 cost = (gasBefore - gasleft() + 22_000) * 109;
        assertGt(access.books().earnedTinybar - earned, cost);
        assertLt(access.books().earnedTinybar - earned, cost * 11 / 10, "the price is no higher than it has to be");
    }

    // -------------------------------------------------------------------------------------------------- inside

    function _snapshotRenewal(uint256 agents) private {
        for (uint256 i; i < agents; ++i) {
            _pay(_who(i), 4);
        }
        uint64 end = _window(_who(0)).expiresAt;
        _renew(end, string.concat("renew by the network, agents: ", vm.toString(agents)));
        assertEq(access.books().earnedTinybar, 2 * agents * PRICE);
    }

    /// @dev The network's call for that second. Refunds of storage that it frees are unknown to it.
    function _renew(uint64 second, string memory name) private {
        uint256 held = access.books().reserveTinybar + access.books().lockedTinybar;
        uint256 slotId = _slotId(_who(0));
        if (slotId == 0) slotId = _slotId();
        vm.warp(second - 2);
        vm.prank(address(access), address(access));
        access.renew(slotId, second);
        _snapshot(name);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        uint256 bookedGas = (held - access.books().reserveTinybar - access.books().lockedTinybar) / gasPrice;
        // a change of the gas price, which isolated calls do not show, stores a second word of the books for 2,800 more
        assertGe(bookedGas, gas + 2_800, "the books never charge less than the network bills");
        assertLe(bookedGas, gas + 20_000, "nor much more");
    }

    function _pay(address who, uint256 periods) private {
        IAccessWindow.Purchase memory purchase = _purchase(who, 1);
        vm.prank(forwarder);
        access.openPaid{value: periods * PRICE}(purchase);
    }

    function _count(int32 calls, uint64 named) private {
        vm.prank(recorder);
        access.recordUsage(agent, calls, named);
    }

    function _snapshot(string memory name) private {
        vm.snapshotValue("AccessWindow", name, vm.lastCallGas().gasTotalUsed);
    }
}
