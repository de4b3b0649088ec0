// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {Purse} from "../../src/libraries/Purses.sol";
import {Subscription} from "../../src/libraries/Subscriptions.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Windows as `test/vectors/windows.json` has them at each second. The service's projection is held to the same
/// file (services/access/src/domain/access-window.test.ts).
contract VectorsTest is AccessWindowTest {
    string private json;

    function test_A6_WindowsAreProjectedAsTheVectorsSay() external {
        json = vm.readFile("test/vectors/windows.json");
        assertEq(vm.parseJsonUint(json, ".priceTinybar"), PRICE);
        uint256 cases;
        for (string memory path = _path(0); vm.keyExistsJson(json, path); path = _path(++cases)) {
            _keep(path);
            uint256 states;
            string memory state = string.concat(path, ".states[0]");
            while (vm.keyExistsJson(json, state)) {
                _assertState(state, path);
                state = string.concat(path, ".states[", vm.toString(++states), "]");
            }
            assertGt(states, 3);
        }
        assertEq(cases, 5);
    }

    function _keep(string memory path) private {
        Subscription memory subscription;
        subscription.fundedUntil = uint40(_number(path, ".fundedUntil"));
        subscription.countedUntil = uint40(_number(path, ".countedUntil"));
        subscription.periodSeconds = uint32(_number(path, ".periodSeconds"));
        subscription.callsAllowed = QUOTA;
        subscription.callsUsed = uint32(_number(path, ".callsUsed"));
        subscription.isFirst = vm.parseJsonBool(json, string.concat(path, ".isFirst"));
        subscription.isCancelled = vm.parseJsonBool(json, string.concat(path, ".isCancelled"));
        access.keepSubscription(agent, subscription);
        Purse memory purse;
        purse.changeTinybar = uint64(_number(path, ".waitingTinybar"));
        access.keepPurse(agent, purse);
    }

    function _assertState(string memory state, string memory about) private view {
        IAccessWindow.Window memory window = access.windowOf(agent, uint64(_number(state, ".at")));
        assertEq(window.isOpen, vm.parseJsonBool(json, string.concat(state, ".isOpen")), about);
        assertEq(window.expiresAt, _number(state, ".expiresAt"), about);
        assertEq(window.balanceTinybar, _number(state, ".balanceTinybar"), about);
        assertEq(window.periodsFunded, _number(state, ".periodsFunded"), about);
        assertEq(window.callsUsed, _number(state, ".callsUsed"), about);
    }

    function _number(string memory path, string memory key) private view returns (uint256) {
        return vm.parseJsonUint(json, string.concat(path, key));
    }

    function _path(uint256 index) private pure returns (string memory) {
        return string.concat(".cases[", vm.toString(index), "]");
    }
}
