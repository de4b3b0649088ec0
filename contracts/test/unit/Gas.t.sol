// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @title What transactions cost
/// @notice Each test is one whole transaction: 21,000 of intrinsic gas, calldata and refunds included, slots cold. The
/// figures are kept in snapshots/; scripts/test.ts fails when they drift.
contract GasTest is AccessWindowTest {
    /// @dev What the schedule service itself takes in one renewal: scheduleCall and one probe.
    uint256 private constant SYSTEM_CONTRACT_GAS = 1_411_000 + 5_200;

    function _snapshot(string memory name, uint256 gas) private {
        vm.snapshotValue("AccessWindow", name, gas);
    }

    /// forge-config: default.isolate = true
    function test_Gas_OpenPaid() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.prank(forwarder);
        access.openPaid{value: 4 * PRICE}(purchase);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("openPaid, new agent, with arming", gas);
        assertLe(gas, 1_620_000);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RecordUsage() external {
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        uint64 expiresAt = _window().expiresAt;
        vm.prank(recorder);
        access.recordUsage(agent, 1, expiresAt);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("recordUsage, current window", gas);
        // our code does not decide 30,473 of it: 21,000 intrinsic, 736 calldata, two cold slots (the recorder's right
        // and the counter) at 2,100 and 5,000, 1,637 for the event
        assertLe(gas, 31_900);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RecordUsageBatch() external {
        bytes32[] memory usages = new bytes32[](50);
        for (uint256 i; i < 50; ++i) {
            address who = address(uint160(uint256(keccak256(abi.encode(i)))));
            _openPaid(_purchase(who, 1), PRICE);
            usages[i] = bytes32(uint256(uint160(who)) << 96 | 3 << 64 | _window(who).expiresAt);
        }
        vm.prank(recorder);
        access.recordUsageBatch(usages);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("recordUsageBatch, per agent of 50", gas / 50);
        assertLe(gas / 50, 9_000);
    }

    /// forge-config: default.isolate = true
    function test_Gas_Renew() external {
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        uint64 expiresAt = _window().expiresAt;
        uint256 reserve = access.books().reserveTinybar;
        vm.warp(expiresAt - 2);
        vm.prank(address(access), address(access));
        access.renew(agent, expiresAt);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("renew by the network, with arming", gas);
        _snapshot("renew by the network, own gas", gas - SYSTEM_CONTRACT_GAS);
        assertLe(gas - SYSTEM_CONTRACT_GAS, 60_000);

        uint256 bookedGas = (reserve - access.books().reserveTinybar) / gasPrice;
        assertGe(bookedGas, gas, "the books never charge less than the network bills");
        assertLe(bookedGas, gas + 5_000, "nor much more");
    }

    /// forge-config: default.isolate = true
    function test_Gas_LastRenew() external {
        _openPaid(_purchase(agent, 1), 2 * PRICE);
        uint64 expiresAt = _window().expiresAt;
        vm.prank(address(access), address(access));
        access.renew(agent, expiresAt);
        _snapshot("renew by the network, nothing left to arm", vm.lastCallGas().gasTotalUsed);
    }

    /// forge-config: default.isolate = true
    function test_Gas_TopUpAndCancel() external {
        _openPaid(_purchase(agent, 1), 2 * PRICE);
        vm.prank(stranger);
        access.topUp{value: PRICE}(agent);
        _snapshot("topUp of an armed subscription", vm.lastCallGas().gasTotalUsed);
        vm.prank(agent);
        access.cancel();
        _snapshot("cancel, with the schedule deleted", vm.lastCallGas().gasTotalUsed);
        vm.prank(agent);
        access.claimRefund(payable(agent));
        _snapshot("claimRefund", vm.lastCallGas().gasTotalUsed);
    }
}
