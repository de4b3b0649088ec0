// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {IExchangeRate} from "../interfaces/IExchangeRate.sol";
import {IScheduleService} from "../interfaces/IScheduleService.sol";

/// @notice What a scheduled call needs and costs at this moment.
/// @param scheduleGas gas to give to `scheduleCall`; 0 when no transaction of the network holds it
/// @param armingGas gas that must be left to arm
/// @param gasLimit gas limit of the scheduled call
/// @param costTinybar what the call is expected to be billed, tinybar
/// @param lockTinybar reserve to lock for it, tinybar
struct Fees {
    uint256 scheduleGas;
    uint256 armingGas;
    uint256 gasLimit;
    uint256 costTinybar;
    uint256 lockTinybar;
}

/// @title The two system contracts that renewals need
/// @notice The schedule service (0x16b) has a price in dollars and takes it as gas: dollars at the rate of the exchange-rate
/// contract (0x168), over the gas price. So its gas rises when gas gets cheaper. Nothing here ever reverts.
library Network {
    /// @notice How many times the gas that a renewal may cost is locked for it: the price of gas follows that of HBAR,
    /// which may halve before the renewal comes.
    uint256 internal constant LOCK_SAFETY = 2;
    /// @notice Least gas given to `scheduleCall`, whatever the rate says: 1,410,574 to 1,443,888 were measured, and it eats
    /// what it is given when that is too little.
    uint256 internal constant SCHEDULE_GAS_MIN = 1_550_000;
    /// @notice Most gas given to it: with the rest of a renewal it still fits a transaction of 15 M gas.
    uint256 internal constant SCHEDULE_GAS_MAX = 14_000_000;
    /// @notice The service reverted, ran out of gas, or cannot be given enough of it.
    int64 internal constant SERVICE_FAILED = -1;
    int64 private constant SCHEDULE_EXPIRY_IS_BUSY = 370;
    int256 private constant SUCCESS = 22;

    IScheduleService private constant SCHEDULE_SERVICE = IScheduleService(address(0x16b));
    IExchangeRate private constant EXCHANGE_RATE = IExchangeRate(address(0x168));
    /// @dev Tinycents in a hundredth of a US cent.
    uint256 private constant SCHEDULE_COST_TINYCENTS = 1_000_000;
    /// @dev Gas of a `scheduleCall` where the exchange rate does not answer.
    uint256 private constant MEASURED_SCHEDULE_GAS = 1_410_000;
    /// @dev Gas kept for the rest of the transaction when `scheduleCall` eats all that it was given: the books, the slot, the
    /// subscription, its events.
    uint256 private constant FINISH_GAS = 60_000;
    /// @dev What a renewal takes besides `scheduleCall`: as a rule, and with eight booked seconds and as many probes.
    uint256 private constant RENEWAL_GAS = 60_000;
    uint256 private constant RENEWAL_GAS_MAX = 190_000;
    /// @dev Gas given to one question to a system contract, measured at about 2,600.
    uint256 private constant PROBE_GAS = 20_000;
    /// @dev Seconds probed for room: the one wanted, then 1, 2, 4 ... 64 s after it.
    uint256 private constant PROBES = 8;

    /// @notice What a scheduled call needs and costs.
    /// @param scheduleCost dollar price of one `scheduleCall`, hundredths of a US cent
    /// @param gasPrice tinybar
    function fees(uint256 scheduleCost, uint256 gasPrice) internal view returns (Fees memory prices) {
        uint256 tinybar = _tinybarOf(scheduleCost * SCHEDULE_COST_TINYCENTS);
        if (tinybar == 0) tinybar = MEASURED_SCHEDULE_GAS * gasPrice;
        uint256 scheduleGas = gasPrice == 0 ? 0 : tinybar * 11 / 10 / gasPrice;
        if (scheduleGas < SCHEDULE_GAS_MIN) scheduleGas = SCHEDULE_GAS_MIN;
        if (scheduleGas > SCHEDULE_GAS_MAX) scheduleGas = 0;
        prices.scheduleGas = scheduleGas;
        prices.armingGas = scheduleGas * 64 / 63 + FINISH_GAS; // a frame passes on at most 63/64 of what it has
        prices.gasLimit = prices.armingGas + RENEWAL_GAS_MAX;
        prices.costTinybar = tinybar + RENEWAL_GAS * gasPrice;
        prices.lockTinybar = prices.gasLimit * LOCK_SAFETY * gasPrice;
    }

    /// @notice Schedules `renew` for the first free second from `second` on. One attempt: the network fails a whole
    /// transaction that schedules twice.
    /// @return responseCode why there is no schedule: Hedera's, or SERVICE_FAILED
    /// @return schedule its address, zero for none
    /// @return scheduledAt its second, Unix seconds
    function scheduleRenewal(Fees memory prices, uint256 slotId, uint256 second)
        internal
        returns (int64 responseCode, address schedule, uint256 scheduledAt)
    {
        scheduledAt = _freeSecond(prices, second);
        if (scheduledAt == 0) return (SCHEDULE_EXPIRY_IS_BUSY, address(0), 0);
        if (gasleft() < prices.armingGas) return (SERVICE_FAILED, address(0), 0);
        bytes memory renewal = abi.encodeCall(IAccessWindow.renew, (slotId, uint64(scheduledAt)));
        (bool isAnswered, bytes memory answer) = address(SCHEDULE_SERVICE).call{gas: prices.scheduleGas}(
            abi.encodeCall(IScheduleService.scheduleCall, (address(this), scheduledAt, prices.gasLimit, 0, renewal))
        );
        if (!isAnswered || answer.length < 64) return (SERVICE_FAILED, address(0), 0);
        (int256 code, uint256 entity) = abi.decode(answer, (int256, uint256)); // cannot revert on odd bits
        if (code != SUCCESS) return (int64(code), address(0), 0); // 210 also returns an address: that of the twin
        if (entity > type(uint40).max) return (SERVICE_FAILED, address(0), 0); // not of shard 0, realm 0
        return (0, address(uint160(entity)), scheduledAt);
    }

    /// @dev The first second with room among those probed; 0 when all are busy. A service that does not answer the probe
    /// is asked to schedule in the second that was wanted.
    function _freeSecond(Fees memory prices, uint256 second) private view returns (uint256 free) {
        free = second;
        for (uint256 i; i < PROBES; ++i) {
            if (gasleft() < prices.armingGas) return second; // too little is left to schedule at all: the caller says so
            (bool isAnswered, bytes memory answer) = address(SCHEDULE_SERVICE).staticcall{gas: PROBE_GAS}(
                abi.encodeCall(IScheduleService.hasScheduleCapacity, (free, prices.gasLimit))
            );
            if (!isAnswered || answer.length < 32) return second;
            if (abi.decode(answer, (uint256)) != 0) return free;
            free = second + (1 << i);
        }
        return 0;
    }

    /// @dev 0 when the exchange rate gives no plausible answer.
    function _tinybarOf(uint256 tinycents) private view returns (uint256 tinybar) {
        (bool isAnswered, bytes memory answer) = address(EXCHANGE_RATE).staticcall{gas: PROBE_GAS}(
            abi.encodeCall(IExchangeRate.tinycentsToTinybars, (tinycents))
        );
        if (!isAnswered || answer.length < 32) return 0;
        tinybar = abi.decode(answer, (uint256));
        if (tinybar > type(uint64).max) return 0;
    }
}
