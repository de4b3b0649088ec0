// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Vm} from "forge-std/Vm.sol";
import {LeanTest} from "../LeanTest.sol";
import {Stablecoin} from "../../devnet/Stablecoin.sol";

/// @notice A contract wallet that approves one digest.
contract AgreeingWallet {
    bytes32 public agreed;

    function agree(bytes32 digest) external {
        agreed = digest;
    }

    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
        return digest == agreed ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

contract StablecoinTest is LeanTest {
    uint256 private constant KEY = 0xA11CE;
    /// @dev Order of secp256k1.
    uint256 private constant ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
    address private constant SHOP = address(0x5409);
    bytes32 private constant NONCE = bytes32(uint256(7));
    uint256 private constant CENT = 10_000;

    Stablecoin private _token;
    address private _payer;

    function setUp() external {
        vm.chainId(196);
        vm.warp(1_800_000_000);
        _token = new Stablecoin();
        _payer = vm.addr(KEY);
        _token.mint(_payer, 1_000_000);
    }

    function test_ItHasTheDomainOfTheRealTokenAtItsOwnAddress() external view {
        assertEq(_token.name(), unicode"USD₮0");
        assertEq(_token.version(), "1");
        assertEq(_token.decimals(), 6);
        bytes32 typeHash =
            keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        bytes32 nameHash = keccak256(unicode"USD₮0");
        bytes32 domain = keccak256(abi.encode(typeHash, nameHash, keccak256("1"), 196, address(_token)));
        assertEq(_token.DOMAIN_SEPARATOR(), domain);
    }

    function test_ItHasTheSelectorsOfEip3009() external pure {
        assertEq(
            bytes4(
                keccak256(
                    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
                )
            ),
            bytes4(0xe3ee160e)
        );
        assertEq(
            bytes4(keccak256("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")),
            bytes4(0xcf092995)
        );
        assertEq(Stablecoin.authorizationState.selector, bytes4(0xe94a0102));
    }

    function testFuzz_Transfer_BothOverloadsMoveOnceAndSaySo(uint256 value, bytes32 nonce, bool isWhole) external {
        value = bound(value, 0, 1_000_000);
        bytes memory signature = _sign(value, 0, block.timestamp + 1, nonce);
        vm.expectEmit(address(_token));
        emit Stablecoin.AuthorizationUsed(_payer, nonce);
        vm.expectEmit(address(_token));
        emit IERC20.Transfer(_payer, SHOP, value);
        _submit(value, 0, block.timestamp + 1, nonce, signature, isWhole);
        assertEq(_token.balanceOf(SHOP), value);
        assertTrue(_token.authorizationState(_payer, nonce));
        vm.expectRevert(abi.encodeWithSelector(Stablecoin.Stablecoin_AuthorizationUsed.selector, _payer, nonce));
        this.submit(value, 0, block.timestamp + 1, nonce, signature, !isWhole);
    }

    function test_Transfer_IsValidStrictlyBetweenItsTimes() external {
        uint256 start = block.timestamp;
        bytes memory signature = _sign(CENT, start, start + 10, NONCE);
        vm.expectRevert(abi.encodeWithSelector(Stablecoin.Stablecoin_AuthorizationNotYetValid.selector, start));
        this.submit(CENT, start, start + 10, NONCE, signature, true);
        vm.warp(start + 10);
        vm.expectRevert(abi.encodeWithSelector(Stablecoin.Stablecoin_AuthorizationExpired.selector, start + 10));
        this.submit(CENT, start, start + 10, NONCE, signature, true);
        vm.warp(start + 9);
        _submit(CENT, start, start + 10, NONCE, signature, true);
        assertEq(_token.balanceOf(SHOP), CENT);
    }

    function test_Transfer_RefusesAnotherAmountAnotherChainAndATwinSignature() external {
        uint256 end = block.timestamp + 10;
        bytes memory signature = _sign(CENT, 0, end, NONCE);
        bytes memory refusal = abi.encodeWithSelector(Stablecoin.Stablecoin_InvalidSignature.selector, _payer);
        vm.expectRevert(refusal);
        this.submit(CENT + 1, 0, end, NONCE, signature, true);
        vm.chainId(197);
        vm.expectRevert(refusal);
        this.submit(CENT, 0, end, NONCE, signature, true);
        vm.chainId(196);
        (bytes32 r, bytes32 s, uint8 v) = _split(signature);
        bytes memory twin = abi.encodePacked(r, bytes32(ORDER - uint256(s)), v == 27 ? uint8(28) : uint8(27));
        vm.expectRevert(refusal);
        this.submit(CENT, 0, end, NONCE, twin, true);
    }

    function test_Transfer_AsksAWalletThatIsAContract() external {
        AgreeingWallet wallet = new AgreeingWallet();
        _token.mint(address(wallet), CENT);
        _payer = address(wallet);
        uint256 end = block.timestamp + 10;
        bytes memory refusal = abi.encodeWithSelector(Stablecoin.Stablecoin_InvalidSignature.selector, _payer);
        vm.expectRevert(refusal);
        this.submit(CENT, 0, end, NONCE, hex"1234", true);
        wallet.agree(_digest(CENT, 0, end, NONCE));
        _submit(CENT, 0, end, NONCE, hex"1234", true);
        assertEq(_token.balanceOf(SHOP), CENT);
    }

    function test_Transfer_WithAUsedNonceCanBeToleratedAndMovesNothing() external {
        uint256 end = block.timestamp + 10;
        bytes memory signature = _sign(CENT, 0, end, NONCE);
        _submit(CENT, 0, end, NONCE, signature, true);
        _token.setToleratesReplay(true);
        vm.recordLogs();
        _submit(CENT, 0, end, NONCE, signature, true);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1);
        assertEq(logs[0].topics[0], Stablecoin.AuthorizationAlreadyUsed.selector);
        assertEq(_token.balanceOf(SHOP), CENT);
    }

    function test_Cancel_MakesTheNonceUseless() external {
        uint256 end = block.timestamp + 10;
        bytes memory signature = _sign(CENT, 0, end, NONCE);
        bytes32 structHash = keccak256(abi.encode(_token.CANCEL_AUTHORIZATION_TYPEHASH(), _payer, NONCE));
        bytes memory cancel = _signHash(structHash);
        vm.expectEmit(address(_token));
        emit Stablecoin.AuthorizationCanceled(_payer, NONCE);
        _token.cancelAuthorization(_payer, NONCE, cancel);
        vm.expectRevert(abi.encodeWithSelector(Stablecoin.Stablecoin_AuthorizationUsed.selector, _payer, NONCE));
        this.submit(CENT, 0, end, NONCE, signature, true);
        vm.expectRevert(abi.encodeWithSelector(Stablecoin.Stablecoin_AuthorizationUsed.selector, _payer, NONCE));
        _token.cancelAuthorization(_payer, NONCE, cancel);
    }

    function test_OnlyTheOwnerMintsAndSetsFaults() external {
        vm.startPrank(SHOP);
        bytes memory refusal = abi.encodeWithSelector(Stablecoin.Stablecoin_NotOwner.selector, SHOP);
        vm.expectRevert(refusal);
        _token.mint(SHOP, 1);
        vm.expectRevert(refusal);
        _token.setToleratesReplay(true);
    }

    /// @dev External, so that a revert is one call deep.
    function submit(
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature,
        bool isWhole
    ) external {
        _submit(value, validAfter, validBefore, nonce, signature, isWhole);
    }

    function _submit(
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature,
        bool isWhole
    ) private {
        if (isWhole) {
            _token.transferWithAuthorization(_payer, SHOP, value, validAfter, validBefore, nonce, signature);
            return;
        }
        (bytes32 r, bytes32 s, uint8 v) = _split(signature);
        _token.transferWithAuthorization(_payer, SHOP, value, validAfter, validBefore, nonce, v, r, s);
    }

    function _sign(uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce)
        private
        view
        returns (bytes memory)
    {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(KEY, _digest(value, validAfter, validBefore, nonce));
        return abi.encodePacked(r, s, v);
    }

    function _digest(uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce)
        private
        view
        returns (bytes32)
    {
        bytes32 typeHash = _token.TRANSFER_WITH_AUTHORIZATION_TYPEHASH();
        return _typed(keccak256(abi.encode(typeHash, _payer, SHOP, value, validAfter, validBefore, nonce)));
    }

    function _signHash(bytes32 structHash) private view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(KEY, _typed(structHash));
        return abi.encodePacked(r, s, v);
    }

    function _typed(bytes32 structHash) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", _token.DOMAIN_SEPARATOR(), structHash));
    }

    function _split(bytes memory signature) private pure returns (bytes32 r, bytes32 s, uint8 v) {
        assembly {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
    }
}
