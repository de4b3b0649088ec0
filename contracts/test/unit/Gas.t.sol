// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @title What transactions cost
/// @notice Each test is one whole transaction: 21,000 of intrinsic gas, calldata and refunds included, slots cold. The
/// figures are kept in snapshots/; scripts/test.ts fails when they drift.
contract GasTest is AccessWindowTest {
    uint256 private constant SCHEDULE_CALL = 1_410_000;

    function _snapshot(string memory name, uint256 gas) private {
        vm.snapshotValue("AccessWindow", name, gas);
    }

    /// forge-config: default.isolate = true
    function test_Gas_OpenPaid() external {
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("openPaid, new agent, with arming", gas);
        assertLe(gas, 1_620_000);
    }

    /// forge-config: default.isolate = true
    function test_Gas_RecordUsage() external {
        _openPaid(_purchase(agent, 1), 4 * PRICE);
        uint64 e = _window().expiresAt;
        vm.prank(recorder);
        access.recordUsage(agent, 1, e);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("recordUsage, current window", gas);
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
        uint64 e = _window().expiresAt;
        vm.warp(e - 2);
        vm.prank(address(access), address(access));
        access.renew(agent, e);
        uint256 gas = vm.lastCallGas().gasTotalUsed;
        _snapshot("renew by the network, with arming", gas);
        _snapshot("renew by the network, own gas", gas - SCHEDULE_CALL);
        assertLe(gas - SCHEDULE_CALL, 60_000);
    }
}
