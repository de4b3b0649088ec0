// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice How much gas is kept for arming while missed seconds are booked, by the network's call and by anyone's, and what a
/// slot costs that nobody has booked for long.
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

    // ------------------------------------------------------------------------------------ a slot long neglected

    function test_A26_AnUnarmedSlotOfAPeriodOf10SAYearBehindCostsABuyerWhatItCostsElsewhere() external {
        uint256 elsewhere = _gasToBuyInto(_unarmedSlot(_who(1)), _who(2));
        uint256 yearAgo = block.timestamp;
        for (uint256 month; month < 12; ++month) {
            vm.prank(stranger);
            access.topUp{value: 270_000 * uint256(PRICE_MIN), gas: 2_100_000}(_who(1));
            vm.warp(block.timestamp + 30 days);
        }
        assertLt(_slot(_who(1)).next, yearAgo + 20_000, "hardly any second is booked");
        assertLt(_gasToBuyInto(_slotId(_who(1)), _who(3)), elsewhere * 103 / 100);
    }

    function test_A26_ABuyerBooksSixteenMissedSecondsAndNoneOfMore() external {
        vm.warp(end + 15 * PERIOD);
        uint256 state = vm.snapshotState();
        _topUp(stranger, agent, PRICE);
        assertEq(_slot().next, end + 16 * PERIOD);
        vm.revertToState(state);
        vm.warp(end + 16 * PERIOD);
        _expectNotArmed(slotId, end, -3);
        _topUp(stranger, agent, PRICE);
        assertEq(_slot().next, end);
        access.poke(agent);
        assertEq(_slot().next, end + 17 * PERIOD);
    }

    /// @dev A slot of 10 s at the least price, which earns too little to be armed.
    function _unarmedSlot(address who) private returns (uint256) {
        _setOffer(PRICE_MIN, 10, QUOTA);
        _open(stranger, who, 4 * uint256(PRICE_MIN));
        return _slotId(who);
    }

    /// @dev In a window that ends in the slot's seconds; the slot is cold, as in a transaction of its own.
    function _gasToBuyInto(uint256 slotId_, address who) private returns (uint256 gas) {
        vm.warp(block.timestamp + 10 - (block.timestamp + 10 - slotId_ % 2 ** 40) % 10);
        IAccessWindow.Purchase memory purchase = _purchase(who, 1);
        vm.cool(address(access));
        vm.prank(forwarder);
        uint256 gasBefore = gasleft();
        access.openPaid{value: 4 * uint256(PRICE_MIN), gas: 2_100_000}(purchase);
        gas = gasBefore - gasleft();
        _newTransaction();
        assertEq(_slotId(who), slotId_);
    }

    // --------------------------------------------------------------------------------------------------- inside

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
