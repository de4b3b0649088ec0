// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LeanTest} from "./LeanTest.sol";
import {AccessWindow} from "../src/AccessWindow.sol";
import {AccessWindowHarness} from "./AccessWindowHarness.sol";

/// @title Deploys the contract under test from its artifact
/// @dev `new` would copy the contract's code into every test; this way the mutation run (scripts/mutate.ts) can replace
/// the artifact with a mutant's without compiling any test again.
abstract contract AccessWindowDeployer is LeanTest {
    function _deployAccessWindow(AccessWindow.Deployment memory deployment, uint256 valueTinybar)
        internal
        returns (AccessWindowHarness)
    {
        string memory artifact = "AccessWindowHarness.sol:AccessWindowHarness";
        return AccessWindowHarness(vm.deployCode(artifact, abi.encode(deployment), valueTinybar));
    }
}
