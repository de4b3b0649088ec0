// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TestBase} from "forge-std/Base.sol";
import {StdAssertions} from "forge-std/StdAssertions.sol";
import {StdCheats} from "forge-std/StdCheats.sol";
import {StdUtils} from "forge-std/StdUtils.sol";

/// @title forge-std's `Test` without what no test here uses
/// @dev The public functions of StdInvariant, and StdChains, would be compiled into each of thirty test contracts: a
/// fifth of the whole build. The one invariant test inherits StdInvariant by itself.
abstract contract LeanTest is TestBase, StdAssertions, StdCheats, StdUtils {}
