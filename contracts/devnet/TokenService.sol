// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Hedera's token service for local ledgers
/// @notice Lives at 0x167. It has neither constructor nor immutables, so that its runtime code alone can be placed there
/// (`anvil_setCode`). It holds every balance, association and allowance of fungible tokens, and judges what moves them,
/// whether it came as a native transaction, which the network itself passes on, or from the EVM, as a call to it or to
/// a token's address (TokenFacade.sol).
/// @dev What it copies from the network: functions of the service return a response code, those of a token's address
/// revert with it; the caller moves what is its own, or what it may by an allowance; an account takes a token once it is
/// associated, or as far as its automatic associations reach. Custom fees are assessed by the consensus node alone, so
/// tokens that have any move only there. Under DELEGATECALL it would judge by its caller's storage, so it halts.
contract TokenService {
    int64 internal constant NOT_SUPPORTED = 13;
    int64 internal constant INVALID_ACCOUNT_ID = 15;
    int64 internal constant SUCCESS = 22;
    int64 internal constant ACCOUNT_FROZEN_FOR_TOKEN = 165;
    int64 internal constant INVALID_TOKEN_ID = 167;
    int64 internal constant ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN = 176;
    int64 internal constant INSUFFICIENT_TOKEN_BALANCE = 178;
    int64 internal constant TOKEN_WAS_DELETED = 179;
    int64 internal constant TOKEN_NOT_ASSOCIATED_TO_ACCOUNT = 184;
    int64 internal constant TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT = 194;
    int64 internal constant NO_REMAINING_AUTOMATIC_ASSOCIATIONS = 262;
    int64 internal constant TOKEN_IS_PAUSED = 265;
    int64 internal constant SPENDER_DOES_NOT_HAVE_ALLOWANCE = 292;
    int64 internal constant AMOUNT_EXCEEDS_ALLOWANCE = 293;
    int64 internal constant SPENDER_ACCOUNT_SAME_AS_OWNER = 288;
    int64 internal constant INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE = 326;

    /// @notice The only account that may play the network's part: 0.0.98.
    address public constant NETWORK = 0x0000000000000000000000000000000000000062;

    /// @dev What the network writes about an account by itself, at the account's address and at its long-zero one.
    struct Account {
        /// The address under which the EVM keeps it; zero for the address itself.
        address canonical;
        /// 0 if nothing is known, 1 for any number of automatic associations, otherwise their number plus 2.
        uint64 room;
        /// Why it takes nothing in the EVM, where nobody else signs: a response code, or 0.
        int32 refusal;
    }

    struct Token {
        bool exists;
        bool hasFees;
        bool isPaused;
        bool isDeleted;
        /// Whether nobody holds it before its KYC key, or its freeze key, agrees.
        bool needsGrant;
        bool startsFrozen;
        uint8 decimals;
        uint64 totalSupply;
        string name;
        string symbol;
    }

    struct Relation {
        bool isAssociated;
        bool isAutomatic;
        bool isFrozen;
        bool isGranted;
        uint64 balance;
    }

    /// @dev One account's gain or, below 0, loss; with a spender, by its allowance.
    struct Line {
        address token;
        address account;
        int64 amount;
        address spender;
    }

    struct Allowance {
        address token;
        address owner;
        address spender;
        uint64 amount;
    }

    mapping(address account => Account) internal _accounts; // slot 0: the network writes it
    mapping(address token => Token) internal _tokens;
    mapping(address token => mapping(address account => Relation)) internal _relations;
    mapping(address token => mapping(address owner => mapping(address spender => uint256))) internal _allowances;
    mapping(address account => uint256) internal _automaticCount;

    /// @notice What an account holds from now on. The mirror node learns it from here.
    event Held(address token, address account, Relation relation, bool isApproved);

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

    // --------------------------------------------------------------------------------------------------- internals

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

    function _move(Line[] memory lines) private {
        for (uint256 i = 0; i < lines.length; ++i) {
            lines[i].account = _canonical(lines[i].account);
            _requireUsable(lines[i].token);
            if (lines[i].spender != address(0)) _spend(lines[i]);
            _requireHolder(lines[i].token, lines[i].account);
        }
        for (uint256 i = 0; i < lines.length; ++i) {
            Line memory line = lines[i];
            if (line.amount < 0) _take(line);
            else _add(line.token, line.account, uint64(line.amount));
        }
        _log(lines);
    }

    function _spend(Line memory line) private {
        uint64 amount = uint64(-line.amount);
        uint256 left = _allowances[line.token][line.account][line.spender];
        if (left == 0) _refuse(SPENDER_DOES_NOT_HAVE_ALLOWANCE);
        if (left < amount) _refuse(AMOUNT_EXCEEDS_ALLOWANCE);
        _allowances[line.token][line.account][line.spender] = left - amount;
    }

    function _requireUsable(address token) private view {
        Token storage facts = _tokens[token];
        if (!facts.exists) _refuse(INVALID_TOKEN_ID);
        if (facts.isDeleted) _refuse(TOKEN_WAS_DELETED);
        if (facts.isPaused) _refuse(TOKEN_IS_PAUSED);
    }

    /// @dev The relation of an account that is to be frozen, or granted something.
    function _change(address token, address account) private view returns (Relation storage relation) {
        _requireUsable(token);
        relation = _relations[token][_canonical(account)];
        if (!relation.isAssociated) _refuse(TOKEN_NOT_ASSOCIATED_TO_ACCOUNT);
    }

    /// @dev An account that may give and take a token: one that takes its first is associated with it, if it has room.
    function _requireHolder(address token, address account) private {
        Relation storage relation = _relations[token][account];
        if (!relation.isAssociated) {
            uint256 max = _associationsMax(account);
            if (max == 0) _refuse(TOKEN_NOT_ASSOCIATED_TO_ACCOUNT);
            if (_automaticCount[account] >= max) _refuse(NO_REMAINING_AUTOMATIC_ASSOCIATIONS);
            ++_automaticCount[account];
            _begin(token, account).isAutomatic = true;
            if (!relation.isGranted) _refuse(ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN);
        }
        if (relation.isFrozen) _refuse(ACCOUNT_FROZEN_FOR_TOKEN);
        if (!relation.isGranted) _refuse(ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN);
    }

    function _begin(address token, address account) private returns (Relation storage relation) {
        relation = _relations[token][account];
        relation.isAssociated = true;
        relation.isFrozen = _tokens[token].startsFrozen;
        relation.isGranted = !_tokens[token].needsGrant;
    }

    function _take(Line memory line) private {
        uint64 amount = uint64(-line.amount);
        Relation storage relation = _relations[line.token][line.account];
        if (relation.balance < amount) _refuse(INSUFFICIENT_TOKEN_BALANCE);
        relation.balance -= amount;
        emit Held(line.token, line.account, relation, line.spender != address(0));
    }

    function _add(address token, address account, uint64 amount) private {
        Relation storage relation = _relations[token][account];
        relation.balance += amount;
        emit Held(token, account, relation, false);
    }

    function _allow(Allowance memory wanted) private {
        address owner = _canonical(wanted.owner);
        address spender = _canonical(wanted.spender);
        if (!_tokens[wanted.token].exists) _refuse(INVALID_TOKEN_ID);
        if (owner == spender) _refuse(SPENDER_ACCOUNT_SAME_AS_OWNER);
        if (!_relations[wanted.token][owner].isAssociated) _refuse(TOKEN_NOT_ASSOCIATED_TO_ACCOUNT);
        _allowances[wanted.token][owner][spender] = wanted.amount;
        _logAt(wanted.token, keccak256("Approval(address,address,uint256)"), owner, spender, wanted.amount);
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

    /// @dev Who paid whom: each loss, in order, goes to the gains that are still open.
    function _log(Line[] memory lines) private {
        bytes32 topic = keccak256("Transfer(address,address,uint256)");
        for (uint256 i = 0; i < lines.length; ++i) {
            Line memory loss = lines[i];
            for (uint256 j = 0; j < lines.length && loss.amount < 0; ++j) {
                Line memory gain = lines[j];
                if (gain.token != loss.token || gain.amount <= 0) continue;
                int64 part = gain.amount < -loss.amount ? gain.amount : -loss.amount;
                (gain.amount, loss.amount) = (gain.amount - part, loss.amount + part);
                _logAt(loss.token, topic, loss.account, gain.account, uint64(part));
            }
        }
    }

    /// @dev A token's logs are those of its own address.
    function _logAt(address token, bytes32 topic, address from, address to, uint256 amount) private {
        (bool isLogged,) = token.call(abi.encode(topic, from, to, amount));
        if (!isLogged) _consumeAllGas();
    }

    function _canonical(address account) private view returns (address) {
        address known = _accounts[account].canonical;
        return known == address(0) ? account : known;
    }

    /// @dev What nothing is known of is a contract, which takes none by itself, or a new account, which takes any.
    function _associationsMax(address account) private view returns (uint256) {
        uint64 room = _accounts[account].room;
        if (room == 1) return type(uint256).max;
        if (room > 1) return room - 2;
        if (uint160(account) <= type(uint64).max) _refuse(INVALID_ACCOUNT_ID);
        return account.code.length == 0 ? type(uint256).max : 0;
    }

    /// @dev Runs a function of this contract, which undoes what it did if it refuses.
    function _attempt(bytes memory input) private returns (int64) {
        (bool isDone, bytes memory output) = address(this).call(input);
        return isDone ? SUCCESS : abi.decode(output, (int64));
    }

    function _refuse(int64 responseCode) private pure {
        assembly ("memory-safe") {
            mstore(0, responseCode)
            revert(0, 32)
        }
    }

    function _consumeAllGas() private pure {
        assembly ("memory-safe") {
            invalid()
        }
    }
}
