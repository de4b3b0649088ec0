// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @title A dollar token with signed transfers (ERC-3009) for local ledgers
/// @notice Has the name, version and decimals of USD₮0 on X Layer, at an address of its own: an authorization that is
/// signed for it is worthless on the real chain. Whoever deploys it may mint. Amounts are 1e-6 dollar.
contract Stablecoin is ERC20 {
    /// @notice EIP-712 version of the signing domain.
    string public constant version = "1";
    /// @notice What is signed for a transfer that anybody may submit.
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    /// @notice What is signed to make a nonce useless.
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 internal constant _DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    /// @notice Who may mint and set faults.
    address public immutable OWNER = msg.sender;
    /// @notice Whether a used nonce only emits `AuthorizationAlreadyUsed`, as the tokens of Paxos do, and does not revert.
    bool public toleratesReplay;

    mapping(address authorizer => mapping(bytes32 nonce => bool used)) internal _authorizationStates;

    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationAlreadyUsed(address indexed authorizer, bytes32 indexed nonce);

    error Stablecoin_NotOwner(address caller);
    error Stablecoin_AuthorizationNotYetValid(uint256 validAfter);
    error Stablecoin_AuthorizationExpired(uint256 validBefore);
    error Stablecoin_AuthorizationUsed(address authorizer, bytes32 nonce);
    error Stablecoin_InvalidSignature(address authorizer);

    constructor() ERC20(unicode"USD₮0", unicode"USD₮0") {}

    modifier onlyOwner() {
        _requireOwner();
        _;
    }

    /// @notice Digits after the decimal point.
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice EIP-712 domain separator, computed anew so that it follows the chain id.
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        bytes32 nameHash = keccak256(bytes(name()));
        return
            keccak256(abi.encode(_DOMAIN_TYPEHASH, nameHash, keccak256(bytes(version)), block.chainid, address(this)));
    }

    /// @notice Whether a nonce was used or cancelled.
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool used) {
        return _authorizationStates[authorizer][nonce];
    }

    /// @notice Makes `value` new tokens for `to`. Owner only.
    function mint(address to, uint256 value) external onlyOwner {
        _mint(to, value);
    }

    /// @notice Sets how a used nonce is answered. Owner only.
    function setToleratesReplay(bool isTolerated) external onlyOwner {
        toleratesReplay = isTolerated;
    }

    /// @notice Transfers what `from` signed, by a signature in parts.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice Transfers what `from` signed; contracts sign by ERC-1271.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    /// @notice Makes a nonce useless that was not used yet.
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes calldata signature) external {
        if (_authorizationStates[authorizer][nonce]) revert Stablecoin_AuthorizationUsed(authorizer, nonce);
        _requireSigned(authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature);
        _authorizationStates[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function _transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) internal {
        if (block.timestamp <= validAfter) revert Stablecoin_AuthorizationNotYetValid(validAfter);
        if (block.timestamp >= validBefore) revert Stablecoin_AuthorizationExpired(validBefore);
        if (_authorizationStates[from][nonce]) {
            if (!toleratesReplay) revert Stablecoin_AuthorizationUsed(from, nonce);
            emit AuthorizationAlreadyUsed(from, nonce);
            return;
        }
        _requireSigned(
            from,
            keccak256(
                abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
            ),
            signature
        );
        _authorizationStates[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    function _requireSigned(address authorizer, bytes32 structHash, bytes memory signature) internal view {
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), structHash));
        if (!SignatureChecker.isValidSignatureNow(authorizer, digest, signature)) {
            revert Stablecoin_InvalidSignature(authorizer);
        }
    }

    function _requireOwner() internal view {
        if (msg.sender != OWNER) revert Stablecoin_NotOwner(msg.sender);
    }
}
