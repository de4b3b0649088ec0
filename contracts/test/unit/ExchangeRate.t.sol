// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LeanTest} from "../LeanTest.sol";
import {ExchangeRate} from "../../devnet/ExchangeRate.sol";

contract ExchangeRateTest is LeanTest {
    ExchangeRate private constant RATE = ExchangeRate(address(0x168));

    function setUp() external {
        vm.etch(address(RATE), type(ExchangeRate).runtimeCode);
    }

    function test_ItHasTheNetworksSelectors() external pure {
        assertEq(ExchangeRate.tinycentsToTinybars.selector, bytes4(0x2e3cff6a));
        assertEq(ExchangeRate.tinybarsToTinycents.selector, bytes4(0x43a88229));
    }

    function test_TheDefaultRateFitsTheGasPriceOfTheLedger() external view {
        assertEq(RATE.tinycentsToTinybars(852), 108, "852 tinycents per gas");
        assertEq(RATE.tinybarsToTinycents(1e8), 781_666_666, "7.82 cents per HBAR");
    }

    function test_SetRate_TakesTheNetworksRateOnly() external {
        vm.expectRevert(abi.encodeWithSelector(ExchangeRate.ExchangeRate_NotNetwork.selector, address(this)));
        RATE.setRate(1, 12);
        vm.startPrank(address(0x62));
        vm.expectRevert(abi.encodeWithSelector(ExchangeRate.ExchangeRate_InvalidRate.selector, 1, 0));
        RATE.setRate(1, 0);
        RATE.setRate(1, 12);
        assertEq(RATE.tinybarsToTinycents(1e8), 12e8);
    }
}
