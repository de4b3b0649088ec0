// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IExchangeRate} from "../src/interfaces/IExchangeRate.sol";
import {IScheduleService} from "../src/interfaces/IScheduleService.sol";
import {ScheduleBook} from "./ScheduleBook.sol";

/// @title Hedera's schedule service for local ledgers
/// @notice Lives at 0x16b. It has neither constructor nor immutables, so that its runtime code alone can be placed there
/// (`anvil_setCode`, `vm.etch`). Amounts are tinybar, times Unix seconds.
/// @dev What it copies from the network (consensus node 0.68 and later): business failures come back as a code with the
/// zero address, while starved gas reverts with empty data and eats all that was forwarded; one `scheduleCall` per
/// top-level transaction; the second lies after the consensus second and at most 5,356,800 s ahead; an identical pending
/// schedule is 210, a busy second 370; only the creator deletes; `scheduleCall` costs about 1.41 M gas in all, or, with
/// `setPrice`, its price in dollars at the rate of 0x168 over the gas price, as on the network when only that price moves;
/// `block.timestamp` trails consensus time. What it cannot see: a caller that runs under DELEGATECALL.
contract ScheduleService is IScheduleService, ScheduleBook {
    int64 internal constant SUCCESS = 22;
    int64 internal constant INVALID_SIGNATURE = 7;
    int64 internal constant INVALID_CONTRACT_ID = 16;
    int64 internal constant INVALID_SCHEDULE_ID = 201;
    int64 internal constant IDENTICAL_SCHEDULE_ALREADY_CREATED = 210;
    int64 internal constant SCHEDULE_ALREADY_DELETED = 212;
    int64 internal constant SCHEDULE_ALREADY_EXECUTED = 213;
    int64 internal constant EXPIRATION_TIME_TOO_FAR_IN_FUTURE = 306;
    int64 internal constant EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME = 307;
    int64 internal constant SCHEDULE_EXPIRY_IS_BUSY = 370;
    int64 internal constant NO_SCHEDULING_AFTER_RECURSION = 373;

    /// @notice The only account that may play the network's part: 0.0.98.
    address public constant NETWORK = 0x0000000000000000000000000000000000000062;
    /// @notice `scheduling.maxExpirationFutureSeconds` of the network, seconds.
    uint256 public constant MAX_FUTURE_SECONDS = 5_356_800;
    /// @notice What a `scheduleCall` costs in all unless configured otherwise, gas.
    uint256 public constant DEFAULT_CREATE_GAS = 1_410_000;
    /// @notice Gas that may be scheduled into one second unless configured otherwise.
    uint256 public constant DEFAULT_GAS_PER_SECOND = 15_000_000;
    /// @dev `deleteSchedule` costs this and its storage writes: whole transactions measured 60,000 to 120,000 gas.
    uint256 internal constant DELETE_GAS = 40_000;
    /// @dev Needed beyond the price, because a frame forwards at most 63/64 of its gas.
    uint256 internal constant STARVATION_MARGIN = 40_000;

    // configuration: 0 means the default
    uint64 internal _lagSeconds;
    uint64 internal _gasPerSecond;
    uint64 internal _createGas;
    int64 internal _forcedCode;
    uint64 internal _priceTinycents;

    error ScheduleService_NotNetwork(address caller);
    /// @dev The network fails the whole transaction for this; a contract can only fail its own frame.
    error ScheduleService_NoSchedulingAfterRecursion(int64 responseCode);

    modifier onlyNetwork() {
        _requireNetwork();
        _;
    }

    // ------------------------------------------------------------------------------------- the system contract

    /// @inheritdoc IScheduleService
    function scheduleCall(address to, uint256 expirySecond, uint256 gasLimit, uint64 value, bytes memory callData)
        external
        returns (int64 responseCode, address scheduleAddress)
    {
        uint256 gasAtStart = gasleft();
        uint256 price = createGas();
        if (gasAtStart < price + STARVATION_MARGIN) _consumeAllGas();
        _requireFirstOfTransaction();
        responseCode = _refusal(to, expirySecond, gasLimit);
        if (responseCode == SUCCESS) {
            bool isNew;
            (isNew, scheduleAddress) = _create(
                Schedule({
                    to: to,
                    expirySecond: uint64(expirySecond),
                    payer: msg.sender,
                    gasLimit: uint64(gasLimit),
                    valueTinybar: value,
                    closedAtSecond: 0,
                    status: 0,
                    state: State.Pending,
                    callData: callData
                })
            );
            if (!isNew) responseCode = IDENTICAL_SCHEDULE_ALREADY_CREATED;
        }
        uint256 used = gasAtStart - gasleft();
        if (used < price) _consumeGas(price - used);
    }

    /// @inheritdoc IScheduleService
    function deleteSchedule(address scheduleAddress) external returns (int64 responseCode) {
        _consumeGas(DELETE_GAS);
        uint256 entity = uint160(scheduleAddress);
        Schedule storage schedule = _schedules[entity];
        if (schedule.state == State.Unknown) return INVALID_SCHEDULE_ID;
        if (schedule.state == State.Executed) return SCHEDULE_ALREADY_EXECUTED;
        if (schedule.state == State.Deleted) return SCHEDULE_ALREADY_DELETED;
        if (schedule.payer != msg.sender) return INVALID_SIGNATURE;
        gasScheduledAt[schedule.expirySecond] -= schedule.gasLimit;
        _close(entity, State.Deleted, consensusSecond());
        emit ScheduleDeleted(scheduleAddress);
        return SUCCESS;
    }

    /// @inheritdoc IScheduleService
    function hasScheduleCapacity(uint256 expirySecond, uint256 gasLimit) external view returns (bool hasCapacity) {
        uint256 nowSecond = consensusSecond();
        if (expirySecond <= nowSecond || expirySecond > nowSecond + MAX_FUTURE_SECONDS) return false;
        return _fits(expirySecond, gasLimit);
    }

    /// @dev Any other selector burns what it got, as an unknown function of a system contract does. It also serves to
    /// consume gas at no run time: a call into INVALID costs exactly what it is given.
    fallback() external {
        _consumeAllGas();
    }

    // ----------------------------------------------------------------------------------------- the network's side

    /// @notice Consensus second of the running transaction: `block.timestamp` trails it by the configured lag.
    function consensusSecond() public view returns (uint256) {
        return block.timestamp + _lagSeconds;
    }

    /// @notice What a `scheduleCall` costs in all, gas: as configured, or its price in dollars at this transaction's gas
    /// price, where there are both, or the default.
    function createGas() public view returns (uint256) {
        if (_createGas != 0) return _createGas;
        if (_priceTinycents == 0 || tx.gasprice == 0) return DEFAULT_CREATE_GAS;
        return _tinybarsOf(_priceTinycents) / tx.gasprice;
    }

    /// @notice Gas that may be scheduled into one second.
    function gasPerSecond() public view returns (uint256) {
        return _gasPerSecond == 0 ? DEFAULT_GAS_PER_SECOND : _gasPerSecond;
    }

    /// @notice Marks a schedule executed, whatever its call came to. Network only; a schedule that is not pending stays.
    /// @param status Hedera response code: 22 success, 33 reverted, 10 the payer held too little
    function markExecuted(address scheduleAddress, uint16 status) public onlyNetwork {
        uint256 entity = uint160(scheduleAddress);
        if (_schedules[entity].state != State.Pending) return;
        _schedules[entity].status = status;
        _close(entity, State.Executed, consensusSecond());
        emit ScheduleExecuted(scheduleAddress, status);
    }

    /// @notice Marks a schedule executed and forgets those that ended long before, for ledgers that run for hours: to
    /// `deleteSchedule` they are unknown from then on. Network only.
    /// @param status Hedera response code: 22 success, 33 reverted, 10 the payer held too little
    function markExecutedAndForget(address scheduleAddress, uint16 status, address[] calldata ended)
        external
        onlyNetwork
    {
        markExecuted(scheduleAddress, status);
        for (uint256 i; i < ended.length; ++i) {
            _forget(uint160(ended[i]));
        }
    }

    /// @notice Ends one transaction and begins the next, for runners that play several inside one EVM transaction (forge
    /// tests). Network only.
    function newTransaction() external onlyNetwork {
        assembly ("memory-safe") {
            tstore(0, 0)
        }
    }

    /// @notice Sets how the network behaves. Network only; 0 restores a default.
    /// @param lagSeconds seconds by which `block.timestamp` trails consensus time (0 to 2 on the network)
    /// @param gasPerSecond_ gas that may be scheduled into one second; 1 makes every second busy
    /// @param createGas_ price of a `scheduleCall`, gas; more than a transaction's limit starves every call
    /// @param forcedCode response code of every `scheduleCall`; 22 or 0 lets the rules decide
    function configure(uint64 lagSeconds, uint64 gasPerSecond_, uint64 createGas_, int64 forcedCode)
        external
        onlyNetwork
    {
        (_lagSeconds, _gasPerSecond, _createGas, _forcedCode) = (lagSeconds, gasPerSecond_, createGas_, forcedCode);
    }

    /// @notice Gives a `scheduleCall` a price in dollars, so that its gas follows the gas price. Network only.
    /// @param tinycents price, tinycents (12 US cents are 1.2e9); 0 makes its gas constant again
    function setPrice(uint64 tinycents) external onlyNetwork {
        _priceTinycents = tinycents;
    }

    // ----------------------------------------------------------------------------------------------------- inside

    function _requireNetwork() internal view {
        if (msg.sender != NETWORK) revert ScheduleService_NotNetwork(msg.sender);
    }

    /// @dev Transient storage ends with the top-level transaction, as the network's permission does.
    function _requireFirstOfTransaction() internal {
        uint256 isUsed;
        assembly ("memory-safe") {
            isUsed := tload(0)
            tstore(0, 1)
        }
        if (isUsed != 0) revert ScheduleService_NoSchedulingAfterRecursion(NO_SCHEDULING_AFTER_RECURSION);
    }

    /// @dev The code with which the network refuses these arguments, 22 when it takes them.
    function _refusal(address to, uint256 expirySecond, uint256 gasLimit) internal view returns (int64) {
        if (_forcedCode != 0 && _forcedCode != SUCCESS) return _forcedCode;
        if (to == address(0)) return INVALID_CONTRACT_ID;
        uint256 nowSecond = consensusSecond();
        if (expirySecond <= nowSecond) return EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME;
        if (expirySecond > nowSecond + MAX_FUTURE_SECONDS) return EXPIRATION_TIME_TOO_FAR_IN_FUTURE;
        if (!_fits(expirySecond, gasLimit)) return SCHEDULE_EXPIRY_IS_BUSY;
        return SUCCESS;
    }

    function _fits(uint256 second, uint256 gasLimit) internal view returns (bool) {
        uint256 limit = gasPerSecond();
        return gasLimit <= limit && gasScheduledAt[second] <= limit - gasLimit;
    }

    /// @dev What the exchange-rate contract says, which must be in place.
    function _tinybarsOf(uint256 tinycents) internal view returns (uint256) {
        bytes memory question = abi.encodeCall(IExchangeRate.tinycentsToTinybars, (tinycents));
        (, bytes memory answer) = address(0x168).staticcall(question);
        return abi.decode(answer, (uint256));
    }

    function _consumeGas(uint256 amount) internal view {
        assembly ("memory-safe") {
            pop(staticcall(amount, address(), 0, 0, 0, 0))
        }
    }

    function _consumeAllGas() internal pure {
        assembly ("memory-safe") {
            invalid()
        }
    }
}
