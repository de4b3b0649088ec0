// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";
import {AccessWindow} from "../src/AccessWindow.sol";
import {AccessWindowHarness} from "./AccessWindowHarness.sol";

/// @title Deploys the contract under test from its artifact
/// @dev Not by `new`, which would copy the contract's code into that of every test: the mutation run (scripts/mutate.ts)
/// puts a mutant's artifact in its place and compiles no test again.
abstract contract AccessWindowDeployer is Test {
    function _deployAccessWindow(AccessWindow.Deployment memory deployment, uint256 valueTinybar)
        internal
        returns (AccessWindowHarness)
    {
        string memory artifact = "AccessWindowHarness.sol:AccessWindowHarness";
        return AccessWindowHarness(vm.deployCode(artifact, abi.encode(deployment), valueTinybar));
    }
}
