// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";
import {ScheduleService} from "../devnet/ScheduleService.sol";

/// @title The network, for tests
/// @notice Places the emulated schedule service at 0x16b and makes its scheduled calls: at their second, as the payer
/// contract, with the price of the gas limit held back from its balance and the gas used billed to it, intrinsic gas
/// included. Time is consensus time; `block.timestamp` trails it by `lagSeconds`.
/// @dev A forge test is one EVM transaction. `_newTransaction` ends the schedule service's one-per-transaction rule;
/// slots stay warm, so that gas measured here is less than the network's (see Gas.t.sol for whole transactions).
abstract contract ScheduleNetwork is Test {
    ScheduleService internal constant SCHEDULE_SERVICE = ScheduleService(address(0x16b));
    address internal constant NETWORK = 0x0000000000000000000000000000000000000062;

    uint16 internal constant STATUS_SUCCESS = 22;
    uint16 internal constant STATUS_INSUFFICIENT_PAYER_BALANCE = 10;
    uint16 internal constant STATUS_REVERTED = 33;

    uint64 internal lagSeconds = 2;
    uint256 internal gasPrice = 109;
    /// @dev Gas that an execution really gets, to make it run out; 0 for all that it asked for.
    uint256 internal executionGasCap;

    uint16 internal lastStatus;
    uint256 internal lastGasUsed;
    uint256 internal executions;

    function _installNetwork() internal {
        vm.etch(address(SCHEDULE_SERVICE), type(ScheduleService).runtimeCode);
        vm.txGasPrice(gasPrice);
        _configure({gasPerSecond: 0, createGas: 0, forcedCode: 0});
    }

    function _configure(uint64 gasPerSecond, uint64 createGas, int64 forcedCode) internal {
        vm.prank(NETWORK);
        SCHEDULE_SERVICE.configure(lagSeconds, gasPerSecond, createGas, forcedCode);
    }

    function _setGasPrice(uint256 price) internal {
        gasPrice = price;
        vm.txGasPrice(price);
    }

    function _newTransaction() internal {
        vm.prank(NETWORK);
        SCHEDULE_SERVICE.newTransaction();
    }

    function _consensus() internal view returns (uint256) {
        return block.timestamp + lagSeconds;
    }

    /// @dev Lets consensus time pass to `second`, making the calls that fall due on the way.
    function _passTo(uint256 second) internal returns (uint256 count) {
        while (true) {
            (address schedule, ScheduleService.Schedule memory call) = SCHEDULE_SERVICE.nextDue(second);
            if (schedule == address(0)) break;
            if (call.expirySecond > _consensus()) vm.warp(call.expirySecond - lagSeconds);
            _execute(schedule, call);
            ++count;
        }
        if (second > _consensus()) vm.warp(second - lagSeconds);
        _newTransaction();
    }

    /// @dev Lets consensus time pass to `second` while the network makes no call at all.
    function _stallTo(uint256 second) internal {
        if (second > _consensus()) vm.warp(second - lagSeconds);
        _newTransaction();
    }

    function _execute(address schedule, ScheduleService.Schedule memory call) internal virtual {
        uint256 hold = uint256(call.gasLimit) * gasPrice;
        if (call.payer.balance < hold + call.valueTinybar) {
            lastStatus = STATUS_INSUFFICIENT_PAYER_BALANCE; // never reaches the EVM, bills nothing
        } else {
            vm.deal(call.payer, call.payer.balance - hold);
            lastStatus = _call(call) ? STATUS_SUCCESS : STATUS_REVERTED;
            vm.deal(call.payer, call.payer.balance + hold - lastGasUsed * gasPrice);
        }
        _markExecuted(schedule, lastStatus);
    }

    function _markExecuted(address schedule, uint16 status) internal {
        lastStatus = status;
        ++executions;
        vm.prank(NETWORK);
        SCHEDULE_SERVICE.markExecuted(schedule, status);
    }

    function _call(ScheduleService.Schedule memory call) private returns (bool isSuccess) {
        uint256 intrinsic = 21_000 + _calldataGas(call.callData);
        uint256 gasGiven = call.gasLimit - intrinsic;
        if (executionGasCap != 0 && executionGasCap < gasGiven) gasGiven = executionGasCap;
        _newTransaction();
        vm.prank(call.payer, call.payer);
        uint256 gasBefore = gasleft();
        (isSuccess,) = call.to.call{gas: gasGiven, value: call.valueTinybar}(call.callData);
        uint256 gasUsed = gasBefore - gasleft();
        if (gasUsed > gasGiven) gasUsed = gasGiven;
        lastGasUsed = gasUsed + intrinsic;
    }

    function _calldataGas(bytes memory data) private pure returns (uint256 gas) {
        for (uint256 i; i < data.length; ++i) {
            gas += data[i] == 0 ? 4 : 16;
        }
    }
}
