// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice The bounds between which the gas for `scheduleCall` follows its price, to the gas.
contract SchedulePriceTest is AccessWindowTest {
    function setUp() public override {
        super.setUp();
        _armAlways();
        vm.deal(address(this), 1_000 * HBAR);
        access.fundReserve{value: 1_000 * HBAR}();
    }

    function test_A20_TheMostGasThatATransactionHoldsIsStillGiven() external {
        _setTinybar(1_387_272_728); // a tenth more is 1,526,000,000: 14,000,000 gas at 109 tinybar
        _open(2);
        uint256 limit = uint256(14_000_000) * 64 / 63 + 250_000;
        assertEq(access.books().lockedTinybar, limit * 2 * 109);
        (uint64 transactionGas, uint64 scheduledGas) = access.armingGas();
        assertEq(scheduledGas, limit);
        assertEq(transactionGas, limit + 250_000);
    }

    function test_A20_OneMoreIsNot() external {
        _setTinybar(1_387_272_827); // 1,526,000,109: 14,000,001 gas
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, -1);
        _open(2);
        assertEq(access.renewalsReserveCanArm(), 0);
    }

    function test_A20_TheLeastIsGivenUpToItsPrice() external {
        uint64[3] memory gas = [uint64(1_549_999), 1_550_000, 1_550_001];
        for (uint256 i; i < 3; ++i) {
            _setTinybar((uint256(gas[i]) * 109 * 10 + 10) / 11);
            (, uint64 scheduledGas) = access.armingGas();
            assertEq(scheduledGas, uint256(i == 0 ? 1_550_000 : gas[i]) * 64 / 63 + 250_000);
        }
    }

    function test_A20_ATinybarForTheGasBuysNoneOfIt() external {
        _setGasPrice(1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, -1);
        _open(2);
    }

    function test_A20_AServiceThatCannotBeGivenEnoughIsNotAsked() external {
        _setTinybar(1_387_272_827);
        vm.expectCall(address(SCHEDULE_SERVICE), bytes(""), 0);
        _expectNotArmed(_slotAt(START), uint64(START) + PERIOD, -1);
        vm.prank(stranger);
        access.open{value: 2 * PRICE}(agent);
    }

    function test_A20_AnEmptyReserveIsSaidBeforeAServiceThatCannotBeGivenEnough() external {
        access = _deploy({reserve: 0});
        _armAlways();
        _setTinybar(1_387_272_827);
        _expectNotArmed(_slotAt(START), uint64(START) + PERIOD, 0);
        _open(2);
    }

    function _setTinybar(uint256 tinybar) private {
        vm.mockCall(address(0x168), bytes(""), abi.encode(tinybar));
    }
}
