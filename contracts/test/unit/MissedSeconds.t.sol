// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice How much gas is kept for arming while missed seconds are booked: by the network's call, and by anyone's.
contract MissedSecondsTest is AccessWindowTest {
    /// @dev 1,550,000 × 64 / 63 for the frame, and 60,000 to finish.
    uint256 private constant ARMING_GAS = 1_634_603;
    /// @dev What follows the last look at the gas: one second, two events, the slot and the books.
    uint256 private constant REST_GAS_MIN = 10_000;
    uint256 private constant REST_GAS_MAX = 35_000;
    uint64 private end;
    uint256 private slotId;

    /// @dev A slot whose twelve missed seconds nobody has booked, of a seller whose reserve arms nothing.
    function setUp() public override {
        super.setUp();
        access = _deploy({reserve: 0});
        _open(40);
        end = _expiresAt();
        slotId = _slotId();
        vm.warp(end + 11 * PERIOD);
    }

    function test_TheNetworkBooksWhileTheGasToArmAndARestAreLeft() external {
        _assertKept(true, 30_000);
    }

    function test_AnyoneBooksWhileTheGasToArmAndToKeepASubscriptionAreLeft() external {
        _assertKept(false, 150_000);
    }

    /// @dev Looks for the least gas with which all is booked. It exceeds what is used by what is kept.
    function _assertKept(bool byNetwork, uint256 keptGas) private {
        (bool isBooked, uint256 usedGas) = _book(byNetwork, 4_000_000);
        assertTrue(isBooked);
        (uint256 tooLittle, uint256 enough) = (usedGas, uint256(4_000_000));
        while (enough - tooLittle > 1) {
            uint256 gas = (tooLittle + enough) / 2;
            (isBooked,) = _book(byNetwork, gas);
            if (isBooked) enough = gas;
            else tooLittle = gas;
        }
        assertLe(enough, usedGas + ARMING_GAS + keptGas - REST_GAS_MIN);
        assertGe(enough, usedGas + ARMING_GAS + keptGas - REST_GAS_MAX);
    }

    function _book(bool byNetwork, uint256 gas) private returns (bool isBooked, uint256 usedGas) {
        uint256 state = vm.snapshotState();
        if (byNetwork) vm.prank(address(access), address(access));
        uint256 gasBefore = gasleft();
        (bool isSuccess,) = address(access).call{gas: gas}(abi.encodeCall(access.renew, (slotId, end)));
        usedGas = gasBefore - gasleft();
        assertTrue(isSuccess);
        isBooked = _slot().next > block.timestamp;
        vm.revertToState(state);
    }
}
