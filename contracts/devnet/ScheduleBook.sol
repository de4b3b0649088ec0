// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The schedules of a local ledger
/// @notice Keeps what ScheduleService creates, and finds what is due. It holds no rule of the network.
abstract contract ScheduleBook {
    /// @notice The life of a schedule.
    enum State {
        Unknown,
        Pending,
        Executed,
        Deleted
    }

    /// @notice One scheduled call.
    /// @param to contract to call
    /// @param expirySecond consensus second of its execution, Unix seconds
    /// @param payer contract that created it, makes the call and pays for its gas
    /// @param gasLimit gas of the execution
    /// @param valueTinybar amount sent along, tinybar
    /// @param closedAtSecond consensus second in which it was executed or deleted; 0 while pending
    /// @param status Hedera response code of its execution; 0 before
    /// @param state where it stands
    /// @param callData calldata of the execution
    struct Schedule {
        address to;
        uint64 expirySecond;
        address payer;
        uint64 gasLimit;
        uint64 valueTinybar;
        uint64 closedAtSecond;
        uint16 status;
        State state;
        bytes callData;
    }

    /// @dev Entity number of the first schedule, so that addresses look like 0.0.1048576 and up.
    uint256 internal constant FIRST_ENTITY = 0x100000;

    uint256 internal _count;
    mapping(uint256 entity => Schedule) internal _schedules;
    uint256[] internal _pending;
    mapping(uint256 entity => uint256 indexPlusOne) internal _pendingIndex;
    mapping(bytes32 equality => uint256 entity) internal _byEquality;

    /// @notice Gas that pending and executed schedules hold in a second.
    mapping(uint256 second => uint256 gas) public gasScheduledAt;

    event ScheduleCreated(
        address indexed schedule,
        address indexed payer,
        address indexed to,
        uint64 expirySecond,
        uint64 gasLimit,
        uint64 valueTinybar,
        bytes callData
    );
    event ScheduleDeleted(address indexed schedule);
    event ScheduleExecuted(address indexed schedule, uint16 status);

    /// @notice The schedule at a long-zero address; `state` is Unknown for none.
    function scheduleAt(address scheduleAddress) external view returns (Schedule memory schedule) {
        return _schedules[uint160(scheduleAddress)];
    }

    /// @notice Number of pending schedules.
    function pendingCount() external view returns (uint256) {
        return _pending.length;
    }

    /// @notice The earliest pending schedule whose second is at most `upToSecond`, ties in order of creation; the zero
    /// address for none.
    function nextDue(uint256 upToSecond)
        external
        view
        returns (address scheduleAddress, Schedule memory schedule)
    {
        uint256 best;
        uint256 bestSecond = type(uint256).max;
        for (uint256 i; i < _pending.length; ++i) {
            uint256 entity = _pending[i];
            uint256 second = _schedules[entity].expirySecond;
            if (second > upToSecond || second > bestSecond) continue;
            if (second < bestSecond || entity < best) (best, bestSecond) = (entity, second);
        }
        return (address(uint160(best)), _schedules[best]);
    }

    /// @dev Adds a pending schedule, unless an equal one is pending, whose address comes back then. Equality as on the
    /// network: second, admin key (hence the creator) and scheduled body.
    function _create(Schedule memory schedule) internal returns (bool isNew, address scheduleAddress) {
        bytes32 equality = _equalityOf(schedule);
        uint256 twin = _byEquality[equality];
        if (twin != 0 && _schedules[twin].state == State.Pending) {
            return (false, address(uint160(twin)));
        }
        uint256 entity = FIRST_ENTITY + _count++;
        scheduleAddress = address(uint160(entity));
        _schedules[entity] = schedule;
        _pending.push(entity);
        _pendingIndex[entity] = _pending.length;
        _byEquality[equality] = entity;
        gasScheduledAt[schedule.expirySecond] += schedule.gasLimit;
        emit ScheduleCreated(
            scheduleAddress,
            schedule.payer,
            schedule.to,
            schedule.expirySecond,
            schedule.gasLimit,
            schedule.valueTinybar,
            schedule.callData
        );
        return (true, scheduleAddress);
    }

    function _close(uint256 entity, State state, uint256 atSecond) internal {
        uint256 index = _pendingIndex[entity] - 1;
        uint256 last = _pending[_pending.length - 1];
        _pending[index] = last;
        _pendingIndex[last] = index + 1;
        _pending.pop();
        delete _pendingIndex[entity];
        _schedules[entity].state = state;
        _schedules[entity].closedAtSecond = uint64(atSecond);
    }

    /// @dev Removes what is kept of a schedule that has ended; a pending one stays.
    function _forget(uint256 entity) internal {
        Schedule memory schedule = _schedules[entity];
        if (schedule.state == State.Pending || schedule.state == State.Unknown) return;
        bytes32 equality = _equalityOf(schedule);
        if (_byEquality[equality] == entity) delete _byEquality[equality];
        delete gasScheduledAt[schedule.expirySecond];
        delete _schedules[entity];
    }

    function _equalityOf(Schedule memory schedule) private pure returns (bytes32) {
        return keccak256(
            abi.encode(
                schedule.to,
                schedule.expirySecond,
                schedule.payer,
                schedule.gasLimit,
                schedule.valueTinybar,
                schedule.callData
            )
        );
    }
}
