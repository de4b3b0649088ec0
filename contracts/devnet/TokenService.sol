// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TokenBook} from "./TokenBook.sol";

/// @title Hedera's token service for local ledgers
/// @notice Lives at 0x167. It has neither constructor nor immutables, so that its runtime code alone can be placed there
/// (`anvil_setCode`). It is the door to what TokenBook.sol holds and judges, for native transactions, which the network
/// itself passes on, and for the EVM, which calls it or a token's address (TokenFacade.sol).
/// @dev What it copies from the network: functions of the service return a response code, those of a token's address
/// revert with it; the caller moves what is its own, or what it may by an allowance; an account takes a token once it is
/// associated, or as far as its automatic associations reach. Custom fees are assessed by the consensus node alone, so
/// tokens that have any move only there. Under DELEGATECALL it would judge by its caller's storage, so it halts.
contract TokenService is TokenBook {
    /// @notice The only account that may play the network's part: 0.0.98.
    address public constant NETWORK = 0x0000000000000000000000000000000000000062;

    modifier onlyInPlace() {
        if (address(this) != address(0x167)) _consumeAllGas();
        _;
    }

    modifier onlyNetwork() {
        if (msg.sender != NETWORK && msg.sender != address(this)) _consumeAllGas();
        _;
    }

    // ------------------------------------------------------------------------------------- the system contract

    /// @notice Moves a token from the caller, or by the caller's allowance.
    function transferToken(address token, address sender, address receiver, int64 amount) external onlyInPlace returns (int64) {
        if (amount < 0) return NOT_SUPPORTED;
        return _attempt(abi.encodeCall(this.pay, (token, msg.sender, sender, receiver, uint64(amount))));
    }

    /// @notice Moves a token by allowance, or the caller's own.
    function transferFrom(address token, address from, address to, uint256 amount)
        external
        onlyInPlace
        returns (int64)
    {
        return _attempt(abi.encodeCall(this.pay, (token, msg.sender, from, to, amount)));
    }

    /// @notice Lets a spender move that much of the caller's.
    function approve(address token, address spender, uint256 amount) external onlyInPlace returns (int64) {
        return _attempt(abi.encodeCall(this.allow, (_allowance(token, msg.sender, spender, amount))));
    }

    /// @notice What a spender may still move.
    function allowance(address token, address owner, address spender)
        external
        view
        onlyInPlace
        returns (int64, uint256)
    {
        if (!_tokens[token].exists) return (INVALID_TOKEN_ID, 0);
        return (SUCCESS, _allowances[token][_canonical(owner)][_canonical(spender)]);
    }

    /// @notice Associates the caller with a token.
    function associateToken(address account, address token) external returns (int64) {
        address[] memory tokens = new address[](1);
        tokens[0] = token;
        return associateTokens(account, tokens);
    }

    /// @notice Associates the caller with tokens.
    function associateTokens(address account, address[] memory tokens) public onlyInPlace returns (int64) {
        if (_canonical(account) != msg.sender) return INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE;
        return _attempt(abi.encodeCall(this.associate, (account, tokens)));
    }

    /// @notice Whether a token is there.
    function isToken(address token) external view onlyInPlace returns (int64, bool) {
        return (SUCCESS, _tokens[token].exists);
    }

    /// @dev Any other selector burns what it got, as an unknown function of a system contract does.
    fallback() external {
        _consumeAllGas();
    }

    // ------------------------------------------------------------------------------------------ a token's address

    /// @notice What a token's address was asked by `caller`; reverts with the response code of a refusal.
    function redirect(address caller, bytes calldata input) external returns (bytes memory) {
        address token = msg.sender;
        Token storage facts = _tokens[token];
        if (!facts.exists || input.length < 4) _consumeAllGas();
        bytes4 selector = bytes4(input);
        bytes calldata arguments = input[4:];
        if (selector == bytes4(keccak256("name()"))) return abi.encode(facts.name);
        if (selector == bytes4(keccak256("symbol()"))) return abi.encode(facts.symbol);
        if (selector == bytes4(keccak256("decimals()"))) return abi.encode(facts.decimals);
        if (selector == bytes4(keccak256("totalSupply()"))) return abi.encode(facts.totalSupply);
        if (selector == bytes4(keccak256("balanceOf(address)"))) {
            return abi.encode(_relations[token][_canonical(abi.decode(arguments, (address)))].balance);
        }
        if (selector == bytes4(keccak256("allowance(address,address)"))) {
            (address owner, address spender) = abi.decode(arguments, (address, address));
            return abi.encode(_allowances[token][_canonical(owner)][_canonical(spender)]);
        }
        if (selector == bytes4(keccak256("isAssociated()"))) return abi.encode(_relations[token][caller].isAssociated);
        if (selector == bytes4(keccak256("transfer(address,uint256)"))) {
            (address to, uint256 amount) = abi.decode(arguments, (address, uint256));
            _pay(token, caller, caller, to, amount);
        } else if (selector == bytes4(keccak256("transferFrom(address,address,uint256)"))) {
            (address from, address to, uint256 amount) = abi.decode(arguments, (address, address, uint256));
            _pay(token, caller, from, to, amount);
        } else if (selector == bytes4(keccak256("approve(address,uint256)"))) {
            (address spender, uint256 amount) = abi.decode(arguments, (address, uint256));
            _allow(_allowance(token, caller, spender, amount)[0]);
        } else if (selector == bytes4(keccak256("associate()"))) {
            address[] memory tokens = new address[](1);
            tokens[0] = token;
            return abi.encode(_attempt(abi.encodeCall(this.associate, (caller, tokens))));
        } else {
            _consumeAllGas();
        }
        return abi.encode(true);
    }

    // ----------------------------------------------------------------------------------------- the network's side

    /// @notice Adds a token with its first holders, of whom the first, its treasury, holds the whole supply. Network only,
    /// like all below; they revert with the response code of a refusal.
    function create(address token, Token calldata facts, address[] calldata holders) external onlyNetwork {
        _tokens[token] = facts;
        for (uint256 i = 0; i < holders.length; ++i) {
            Relation storage relation = _begin(token, holders[i]);
            if (i == 0) (relation.isFrozen, relation.isGranted) = (false, true);
            _add(token, holders[i], i == 0 ? facts.totalSupply : 0);
        }
    }

    /// @notice Pauses a token, or lets it move again.
    function pause(address token, bool isPaused) external onlyNetwork {
        if (_tokens[token].isDeleted) _refuse(TOKEN_WAS_DELETED);
        _tokens[token].isPaused = isPaused;
    }

    /// @notice Ends a token.
    function remove(address token) external onlyNetwork {
        _requireUsable(token);
        _tokens[token].isDeleted = true;
    }

    /// @notice Freezes an account for a token, or thaws it.
    function freeze(address token, address account, bool isFrozen) external onlyNetwork {
        _change(token, account).isFrozen = isFrozen;
        _add(token, _canonical(account), 0);
    }

    /// @notice Grants an account a token's KYC, or takes it back.
    function grant(address token, address account, bool isGranted) external onlyNetwork {
        _change(token, account).isGranted = isGranted;
        _add(token, _canonical(account), 0);
    }

    /// @notice Associates an account with tokens.
    function associate(address account, address[] calldata tokens) external onlyNetwork {
        account = _canonical(account);
        for (uint256 i = 0; i < tokens.length; ++i) {
            _requireUsable(tokens[i]);
            if (_relations[tokens[i]][account].isAssociated) _refuse(TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT);
            _begin(tokens[i], account);
            _add(tokens[i], account, 0);
        }
    }

    /// @notice Sets allowances.
    function allow(Allowance[] calldata allowances) external onlyNetwork {
        for (uint256 i = 0; i < allowances.length; ++i) {
            _allow(allowances[i]);
        }
    }

    /// @notice Moves tokens: all lines, or none.
    function move(Line[] memory lines) public onlyNetwork {
        _move(lines);
    }

    /// @notice Moves a token for a caller in the EVM.
    function pay(address token, address caller, address from, address to, uint256 amount) external onlyNetwork {
        _pay(token, caller, from, to, amount);
    }

    function _pay(address token, address caller, address from, address to, uint256 amount) private {
        if (_tokens[token].hasFees) _refuse(NOT_SUPPORTED);
        if (amount > uint64(type(int64).max)) _refuse(INSUFFICIENT_TOKEN_BALANCE);
        from = _canonical(from);
        int64 refusal = _accounts[_canonical(to)].refusal;
        if (refusal != 0) _refuse(refusal);
        int64 signed = int64(uint64(amount));
        Line[] memory lines = new Line[](2);
        lines[0] = Line(token, from, -signed, from == caller ? address(0) : caller);
        lines[1] = Line(token, to, signed, address(0));
        _move(lines);
    }

    function _allowance(address token, address owner, address spender, uint256 amount)
        private
        pure
        returns (Allowance[] memory list)
    {
        if (amount > uint64(type(int64).max)) _refuse(NOT_SUPPORTED);
        list = new Allowance[](1);
        list[0] = Allowance(token, owner, spender, uint64(amount));
    }

    /// @dev Runs a function of this contract, which undoes what it did if it refuses.
    function _attempt(bytes memory input) private returns (int64) {
        (bool isDone, bytes memory output) = address(this).call(input);
        return isDone ? SUCCESS : abi.decode(output, (int64));
    }
}
