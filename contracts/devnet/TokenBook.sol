// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title What accounts hold of fungible tokens on local ledgers
/// @notice Balances, associations and allowances, and the judgement of what moves them. TokenService.sol has the doors.
abstract contract TokenBook {
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

    function _move(Line[] memory lines) internal {
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

    function _spend(Line memory line) internal {
        uint64 amount = uint64(-line.amount);
        uint256 left = _allowances[line.token][line.account][line.spender];
        if (left == 0) _refuse(SPENDER_DOES_NOT_HAVE_ALLOWANCE);
        if (left < amount) _refuse(AMOUNT_EXCEEDS_ALLOWANCE);
        _allowances[line.token][line.account][line.spender] = left - amount;
    }

    function _requireUsable(address token) internal view {
        Token storage facts = _tokens[token];
        if (!facts.exists) _refuse(INVALID_TOKEN_ID);
        if (facts.isDeleted) _refuse(TOKEN_WAS_DELETED);
        if (facts.isPaused) _refuse(TOKEN_IS_PAUSED);
    }

    /// @dev The relation of an account that is to be frozen, or granted something.
    function _change(address token, address account) internal view returns (Relation storage relation) {
        _requireUsable(token);
        relation = _relations[token][_canonical(account)];
        if (!relation.isAssociated) _refuse(TOKEN_NOT_ASSOCIATED_TO_ACCOUNT);
    }

    /// @dev An account that may give and take a token: one that takes its first is associated with it, if it has room.
    function _requireHolder(address token, address account) internal {
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

    function _begin(address token, address account) internal returns (Relation storage relation) {
        relation = _relations[token][account];
        relation.isAssociated = true;
        relation.isFrozen = _tokens[token].startsFrozen;
        relation.isGranted = !_tokens[token].needsGrant;
    }

    function _take(Line memory line) internal {
        uint64 amount = uint64(-line.amount);
        Relation storage relation = _relations[line.token][line.account];
        if (relation.balance < amount) _refuse(INSUFFICIENT_TOKEN_BALANCE);
        relation.balance -= amount;
        emit Held(line.token, line.account, relation, line.spender != address(0));
    }

    function _add(address token, address account, uint64 amount) internal {
        Relation storage relation = _relations[token][account];
        relation.balance += amount;
        emit Held(token, account, relation, false);
    }

    function _allow(Allowance memory wanted) internal {
        address owner = _canonical(wanted.owner);
        address spender = _canonical(wanted.spender);
        if (!_tokens[wanted.token].exists) _refuse(INVALID_TOKEN_ID);
        if (owner == spender) _refuse(SPENDER_ACCOUNT_SAME_AS_OWNER);
        if (!_relations[wanted.token][owner].isAssociated) _refuse(TOKEN_NOT_ASSOCIATED_TO_ACCOUNT);
        _allowances[wanted.token][owner][spender] = wanted.amount;
        _logAt(wanted.token, keccak256("Approval(address,address,uint256)"), owner, spender, wanted.amount);
    }

    /// @dev Who paid whom: each loss, in order, goes to the gains that are still open.
    function _log(Line[] memory lines) internal {
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
    function _logAt(address token, bytes32 topic, address from, address to, uint256 amount) internal {
        (bool isLogged,) = token.call(abi.encode(topic, from, to, amount));
        if (!isLogged) _consumeAllGas();
    }

    function _canonical(address account) internal view returns (address) {
        address known = _accounts[account].canonical;
        return known == address(0) ? account : known;
    }

    /// @dev What nothing is known of is a contract, which takes none by itself, or a new account, which takes any.
    function _associationsMax(address account) internal view returns (uint256) {
        uint64 room = _accounts[account].room;
        if (room == 1) return type(uint256).max;
        if (room > 1) return room - 2;
        if (uint160(account) <= type(uint64).max) _refuse(INVALID_ACCOUNT_ID);
        return account.code.length == 0 ? type(uint256).max : 0;
    }

    function _refuse(int64 responseCode) internal pure {
        assembly ("memory-safe") {
            mstore(0, responseCode)
            revert(0, 32)
        }
    }

    function _consumeAllGas() internal pure {
        assembly ("memory-safe") {
            invalid()
        }
    }
}
