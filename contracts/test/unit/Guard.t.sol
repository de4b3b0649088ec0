// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice Whose window it is: only the agent says so, by its transaction or by its signature.
contract GuardTest is AccessWindowTest {
    address internal keyed;
    uint256 internal secret;

    function setUp() public override {
        super.setUp();
        (keyed, secret) = makeAddrAndKey("keyed");
    }

    function test_A17_TheAgentItselfNeedsNoSignature() external {
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.GuardSet(keyed, true);
        vm.prank(keyed);
        access.setGuard(keyed, true, "");
        assertTrue(_window(keyed).isGuarded);
        assertFalse(_window(keyed).exists, "also before the first purchase");
        assertEq(_window(keyed).guardNonce, 1);
        _open(stranger, keyed, 2 * PRICE);
        assertTrue(_window(keyed).isGuarded, "and kept across it");
        vm.warp(START + 10 * PERIOD);
        _open(stranger, keyed, PRICE);
        assertTrue(_window(keyed).isGuarded, "and across a reopening");
        vm.prank(keyed);
        access.setGuard(keyed, false, "");
        assertFalse(_window(keyed).isGuarded);
    }

    function test_A17_AnyoneMayBringItsSignatureOnce() external {
        _open(stranger, keyed, 2 * PRICE);
        bytes memory signature = _sign(true, 0);
        access.setGuard(keyed, true, signature);
        assertTrue(_window(keyed).isGuarded);
        assertEq(_window(keyed).guardNonce, 1);
        assertEq(_window(keyed).callsAllowed, QUOTA);
        _assertRefused(keyed, true, signature);
        access.setGuard(keyed, false, _sign(false, 1));
        assertFalse(_window(keyed).isGuarded);
        _assertRefused(keyed, true, signature);
    }

    function test_A17_ATransactionOfTheAgentVoidsWhatItSignedBefore() external {
        bytes memory signature = _sign(false, 0);
        vm.prank(keyed);
        access.setGuard(keyed, true, "");
        _assertRefused(keyed, false, signature);
        assertTrue(_window(keyed).isGuarded);
    }

    function test_A17_NobodyElseGuards() external {
        _assertRefused(agent, true, "");
        _assertRefused(agent, true, _sign(true, 0));
        _assertRefused(keyed, true, new bytes(65));
        _assertRefused(address(0), true, new bytes(65));
        bytes memory signature = _sign(true, 0);
        _assertRefused(keyed, false, signature);
        signature[0] = bytes1(uint8(signature[0]) ^ 1);
        _assertRefused(keyed, true, signature);
        address[4] memory others = [owner, forwarder, recorder, stranger];
        for (uint256 i; i < others.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotAgent.selector, agent));
            vm.prank(others[i]);
            access.setGuard(agent, true, "");
        }
    }

    function test_A17_ASignatureServesOneContractOnOneChain() external {
        bytes memory signature = _sign(true, 0);
        address former = address(access);
        access = _deploy({reserve: 0});
        assertNotEq(address(access), former);
        _assertRefused(keyed, true, signature);
        signature = _sign(true, 0);
        vm.chainId(296);
        _assertRefused(keyed, true, signature);
        access.setGuard(keyed, true, _sign(true, 0));
        assertTrue(_window(keyed).isGuarded);
    }

    function test_A17_ThePayerCannotSetIt() external {
        _openPaid(_purchase(keyed, 1), 2 * PRICE);
        _topUp(stranger, keyed, PRICE);
        assertFalse(_window(keyed).isGuarded);
        assertEq(_window(keyed).guardNonce, 0);
    }

    function _assertRefused(address who, bool isGuarded, bytes memory signature) private {
        vm.expectRevert(abi.encodeWithSelector(IAccessWindowEvents.AccessWindow_NotAgent.selector, who));
        access.setGuard(who, isGuarded, signature);
    }

    function _sign(bool isGuarded, uint256 nonce) private view returns (bytes memory) {
        bytes32 statement = keccak256(abi.encode(block.chainid, address(access), keyed, isGuarded, nonce));
        bytes32 digest = keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", statement));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(secret, digest);
        return abi.encodePacked(r, s, v);
    }
}
