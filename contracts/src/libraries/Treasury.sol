// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../interfaces/IAccessWindowEvents.sol";
import {Accounts} from "./Accounts.sol";
import {Fees, Network} from "./Network.sol";
import {State} from "./State.sol";

/// @title The seller's settings and money
/// @notice Who acts for the seller, what arming asks for, what comes into the reserve, what the seller takes out, and what its reserve can arm. Whoever calls sends what
/// is taken out.
library Treasury {
    /// @dev Gas price until a transaction shows one, tinybar: that of Hedera in autumn 2026.
    uint64 private constant DEFAULT_GAS_PRICE = 109;
    /// @dev Price of a `scheduleCall` in autumn 2026: 12 US cents, in hundredths.
    uint16 private constant DEFAULT_SCHEDULE_COST = 1_200;
    uint16 private constant DEFAULT_ARMING_FLOOR = 100;
    uint16 private constant SCHEDULE_COST_MIN = 100;
    uint16 private constant SCHEDULE_COST_MAX = 10_000;
    uint16 private constant ARMING_FLOOR_MAX = 10_000;
    /// @dev Gas of a transaction that arms, besides what it gives to the schedule service.
    uint256 private constant TRANSACTION_GAS = 440_000;

    // ------------------------------------------------------------------------------------------------ settings

    /// @notice How the books begin.
    function begin(State storage state) internal {
        Accounts memory accounts = state.accounts.load();
        accounts.gasPriceHintTinybar = DEFAULT_GAS_PRICE;
        accounts.scheduleCost = DEFAULT_SCHEDULE_COST;
        accounts.armingFloor = DEFAULT_ARMING_FLOOR;
        state.accounts.keep(accounts);
    }

    /// @notice Sets the dollar price of a `scheduleCall` (hundredths of a US cent) and the floor (percent).
    function setArming(State storage state, uint16 scheduleCost, uint16 armingFloor) internal {
        if (scheduleCost < SCHEDULE_COST_MIN || scheduleCost > SCHEDULE_COST_MAX || armingFloor > ARMING_FLOOR_MAX) {
            revert IAccessWindowEvents.AccessWindow_InvalidArming(scheduleCost, armingFloor);
        }
        Accounts memory accounts = state.accounts.load();
        (accounts.scheduleCost, accounts.armingFloor) = (scheduleCost, armingFloor);
        state.accounts.keep(accounts);
        emit IAccessWindowEvents.ArmingSet(scheduleCost, armingFloor);
    }

    /// @notice Pauses or resumes new sales.
    function pauseSales(State storage state, bool isPaused) internal {
        Accounts memory accounts = state.accounts.load();
        accounts.areSalesPaused = isPaused;
        state.accounts.keep(accounts);
        emit IAccessWindowEvents.SalesPaused(isPaused);
    }

    /// @notice Gives or takes the right to pass payment references.
    function setForwarder(State storage state, address forwarder, bool isAllowed) internal {
        state.forwarders[forwarder] = isAllowed;
        emit IAccessWindowEvents.ForwarderSet(forwarder, isAllowed);
    }

    /// @notice Gives or takes the right to record usage.
    function setRecorder(State storage state, address recorder, bool isAllowed) internal {
        state.recorders[recorder] = isAllowed;
        emit IAccessWindowEvents.RecorderSet(recorder, isAllowed);
    }

    // --------------------------------------------------------------------------------------------------- money

    /// @notice Adds the sent value to the reserve.
    function fundReserve(State storage state) internal {
        Accounts memory accounts = state.accounts.load();
        uint64 value = accounts.credit(msg.value);
        accounts.reserveTinybar += value;
        state.accounts.keep(accounts);
        emit IAccessWindowEvents.ReserveFunded(msg.sender, value);
    }

    /// @notice Takes free reserve out of the books.
    function takeReserve(State storage state, address to, uint64 amountTinybar) internal {
        Accounts memory accounts = _solventAccounts(state);
        _requireFunds(amountTinybar, accounts.reserveTinybar);
        accounts.reserveTinybar -= amountTinybar;
        state.accounts.keep(accounts);
        emit IAccessWindowEvents.ReserveWithdrawn(to, amountTinybar);
    }

    /// @notice Takes earnings out of the books.
    function takeEarnings(State storage state, address to, uint64 amountTinybar) internal {
        Accounts memory accounts = _solventAccounts(state);
        _requireFunds(amountTinybar, accounts.earnedTinybar);
        accounts.earnedTinybar -= amountTinybar;
        state.accounts.keep(accounts);
        emit IAccessWindowEvents.EarningsWithdrawn(to, amountTinybar);
    }

    /// @notice Books what the contract holds beyond its books as reserve, or gas that no account paid yet.
    function skim(State storage state) internal {
        Accounts memory accounts = state.accounts.load();
        uint256 owed = accounts.owed();
        if (address(this).balance > owed) {
            uint64 surplus = accounts.credit(address(this).balance - owed);
            accounts.reserveTinybar += surplus;
            emit IAccessWindowEvents.Skimmed(surplus);
        } else {
            accounts.reconcile(0);
        }
        state.accounts.keep(accounts);
    }

    // --------------------------------------------------------------------------------------------------- views

    /// @notice The books as others see them.
    function books(State storage state) internal view returns (IAccessWindow.Books memory) {
        Accounts memory accounts = state.accounts.load();
        return IAccessWindow.Books({
            depositsTinybar: accounts.depositsTinybar,
            earnedTinybar: accounts.earnedTinybar,
            reserveTinybar: accounts.reserveTinybar,
            lockedTinybar: accounts.lockedTinybar,
            refundsTinybar: accounts.refundsTinybar,
            shortfallTinybar: accounts.shortfallTinybar
        });
    }

    /// @notice How many locks the free reserve holds at the last gas price; none where no transaction could arm.
    function renewalsReserveCanArm(State storage state) internal view returns (uint64) {
        Fees memory fees = _lastFees(state);
        return fees.scheduleGas == 0 ? 0 : uint64(state.accounts.load().reserveTinybar / fees.lockTinybar);
    }

    /// @notice Gas limit of a transaction that may arm, and of a scheduled call, at the last gas price.
    function armingGas(State storage state) internal view returns (uint64 transactionGas, uint64 scheduledGas) {
        Fees memory fees = _lastFees(state);
        return (uint64(fees.armingGas + TRANSACTION_GAS), uint64(fees.gasLimit));
    }

    /// @notice What arming asks for: the dollar price of a `scheduleCall` (hundredths of a US cent) and the floor (percent).
    function arming(State storage state) internal view returns (uint16 scheduleCost, uint16 armingFloor) {
        Accounts memory accounts = state.accounts.load();
        return (accounts.scheduleCost, accounts.armingFloor);
    }

    // ----------------------------------------------------------------------------------------------------- inside

    function _lastFees(State storage state) private view returns (Fees memory) {
        Accounts memory accounts = state.accounts.load();
        return Network.fees(accounts.scheduleCost, accounts.gasPriceHintTinybar);
    }

    /// @dev The books for a withdrawal: reverts while the seller owes.
    function _solventAccounts(State storage state) private returns (Accounts memory accounts) {
        accounts = state.accounts.load();
        accounts.reconcile(0);
        if (accounts.shortfallTinybar != 0) {
            revert IAccessWindowEvents.AccessWindow_ShortfallOutstanding(accounts.shortfallTinybar);
        }
    }

    function _requireFunds(uint64 amountTinybar, uint64 availableTinybar) private pure {
        if (amountTinybar > availableTinybar) {
            revert IAccessWindowEvents.AccessWindow_InsufficientFunds(amountTinybar, availableTinybar);
        }
    }
}
