// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../interfaces/IAccessWindow.sol";
import {Accounts, PackedAccounts} from "../libraries/PackedAccounts.sol";
import {Roles} from "./Roles.sol";

/// @title The seller's books
/// @notice Five accounts say to whom each tinybar belongs; a sixth, the shortfall, says how much gas the network took that
/// no account of the seller's could pay. Functions load the books into memory, change them, and keep them once.
/// @dev All accounts together never exceed 2^64 - 1 (see `_credit`), so that moving value between them cannot overflow.
/// While a shortfall is outstanding, reserve and earnings are zero: both repay it first (see `_keep`).
abstract contract Ledger is IAccessWindow, Roles {
    /// @notice Gas limit of a scheduled renewal: 1.41 M for its own successor, and our own work.
    uint256 public constant RENEW_GAS = 1_800_000;
    /// @notice How many times the gas that a renewal may cost is locked for it: the price of gas follows that of HBAR,
    /// which may halve before the renewal comes.
    uint256 public constant LOCK_SAFETY = 2;
    /// @dev Gas price until a transaction shows one, tinybar: that of Hedera in autumn 2026.
    uint256 internal constant DEFAULT_GAS_PRICE = 109;

    PackedAccounts private _accounts;

    // ------------------------------------------------------------------------------------------------ seller

    /// @inheritdoc IAccessWindow
    function pauseSales(bool isPaused) external onlyOwner {
        Accounts memory accounts = _load();
        accounts.areSalesPaused = isPaused;
        _keep(accounts);
        emit SalesPaused(isPaused);
    }

    /// @inheritdoc IAccessWindow
    function fundReserve() external payable {
        _fundReserve();
    }

    /// @inheritdoc IAccessWindow
    function withdrawReserve(address payable to, uint64 amountTinybar) external onlyOwner {
        Accounts memory accounts = _solventAccounts();
        if (amountTinybar > accounts.reserveTinybar) {
            revert AccessWindow_InsufficientFunds(amountTinybar, accounts.reserveTinybar);
        }
        accounts.reserveTinybar -= amountTinybar;
        _keep(accounts);
        emit ReserveWithdrawn(to, amountTinybar);
        _send(to, amountTinybar);
    }

    /// @inheritdoc IAccessWindow
    function withdrawEarnings(address payable to, uint64 amountTinybar) external onlyOwner {
        Accounts memory accounts = _solventAccounts();
        if (amountTinybar > accounts.earnedTinybar) {
            revert AccessWindow_InsufficientFunds(amountTinybar, accounts.earnedTinybar);
        }
        accounts.earnedTinybar -= amountTinybar;
        _keep(accounts);
        emit EarningsWithdrawn(to, amountTinybar);
        _send(to, amountTinybar);
    }

    /// @inheritdoc IAccessWindow
    function skim() external {
        Accounts memory accounts = _load();
        uint256 owed = _owed(accounts);
        if (address(this).balance > owed) {
            uint64 surplus = _credit(accounts, address(this).balance - owed);
            accounts.reserveTinybar += surplus;
            emit Skimmed(surplus);
        } else {
            _reconcile(accounts, 0);
        }
        _keep(accounts);
    }

    // ------------------------------------------------------------------------------------------------- views

    /// @inheritdoc IAccessWindow
    function books() external view returns (Books memory) {
        Accounts memory accounts = _load();
        return Books({
            depositsTinybar: accounts.depositsTinybar,
            earnedTinybar: accounts.earnedTinybar,
            reserveTinybar: accounts.reserveTinybar,
            lockedTinybar: accounts.lockedTinybar,
            refundsTinybar: accounts.refundsTinybar,
            shortfallTinybar: accounts.shortfallTinybar
        });
    }

    /// @inheritdoc IAccessWindow
    function renewalsReserveCanArm() external view returns (uint64) {
        Accounts memory accounts = _load();
        return uint64(accounts.reserveTinybar / _lockFor(accounts.gasPriceHintTinybar));
    }

    /// @inheritdoc IAccessWindow
    function salesPaused() external view returns (bool) {
        return _load().areSalesPaused;
    }

    // ------------------------------------------------------------------------------------------- load and keep

    function _load() internal view returns (Accounts memory) {
        return _accounts.load();
    }

    /// @dev Repays a shortfall from what the seller has, notes the gas price, and stores. The last thing done to the books.
    function _keep(Accounts memory accounts) internal {
        _repayShortfall(accounts);
        if (tx.gasprice != 0) accounts.gasPriceHintTinybar = _toTinybar(tx.gasprice);
        _accounts.keep(accounts);
    }

    function _fundReserve() internal {
        Accounts memory accounts = _load();
        if (accounts.gasPriceHintTinybar == 0) accounts.gasPriceHintTinybar = uint64(DEFAULT_GAS_PRICE);
        uint64 value = _credit(accounts, msg.value);
        accounts.reserveTinybar += value;
        _keep(accounts);
        emit ReserveFunded(msg.sender, value);
    }

    // -------------------------------------------------------------------------------------------------- bookings

    /// @dev The value as an amount that fits the books; whoever calls adds it to an account.
    function _credit(Accounts memory accounts, uint256 valueTinybar) internal pure returns (uint64) {
        if (valueTinybar > type(uint64).max - _total(accounts)) revert AccessWindow_AmountTooLarge(valueTinybar);
        return uint64(valueTinybar);
    }

    /// @dev Reserve to lock for one renewal at that gas price, tinybar; more than any reserve for an absurd price.
    function _lockFor(uint256 gasPriceTinybar) internal pure returns (uint256) {
        return RENEW_GAS * LOCK_SAFETY * gasPriceTinybar;
    }

    /// @dev The gas price of this transaction, the last one seen where a simulation has none, tinybar.
    function _gasPrice(Accounts memory accounts) internal view returns (uint256) {
        return tx.gasprice == 0 ? accounts.gasPriceHintTinybar : uint64(_toTinybar(tx.gasprice));
    }

    /// @dev Gives a lock back after paying `spentTinybar` of gas from it. What it does not cover comes from the free
    /// reserve, then from earnings, and the rest is owed: never from deposits or refunds (I10).
    function _settleGas(Accounts memory accounts, uint64 lockTinybar, uint256 spentTinybar) internal {
        accounts.lockedTinybar -= lockTinybar;
        if (spentTinybar <= lockTinybar) {
            accounts.reserveTinybar += lockTinybar - uint64(spentTinybar);
        } else {
            uint64 room = type(uint64).max - accounts.shortfallTinybar;
            accounts.shortfallTinybar += _atMost(spentTinybar - lockTinybar, room);
        }
        _repayShortfall(accounts);
        if (spentTinybar != 0) emit GasCharged(_toTinybar(spentTinybar), accounts.shortfallTinybar);
    }

    /// @dev Books gas that the network took for executions that could not book it themselves (they reverted). Only where
    /// the balance is at rest, never in a scheduled call, in which the network holds back the price of the gas limit.
    function _reconcile(Accounts memory accounts, uint64 lockTinybar) internal {
        uint256 owed = _owed(accounts);
        uint256 missing = owed > address(this).balance ? owed - address(this).balance : 0;
        _settleGas(accounts, lockTinybar, missing);
    }

    // ----------------------------------------------------------------------------------------------------- inside

    function _repayShortfall(Accounts memory accounts) private pure {
        if (accounts.shortfallTinybar == 0) return;
        uint64 fromReserve = _atMost(accounts.shortfallTinybar, accounts.reserveTinybar);
        accounts.reserveTinybar -= fromReserve;
        accounts.shortfallTinybar -= fromReserve;
        uint64 fromEarned = _atMost(accounts.shortfallTinybar, accounts.earnedTinybar);
        accounts.earnedTinybar -= fromEarned;
        accounts.shortfallTinybar -= fromEarned;
    }

    /// @dev The books for a withdrawal: reverts while the seller owes.
    function _solventAccounts() private returns (Accounts memory accounts) {
        accounts = _load();
        _reconcile(accounts, 0);
        if (accounts.shortfallTinybar != 0) revert AccessWindow_ShortfallOutstanding(accounts.shortfallTinybar);
    }

    /// @dev What the contract should hold at rest, tinybar.
    function _owed(Accounts memory accounts) private pure returns (uint256) {
        uint256 total = _total(accounts);
        return total > accounts.shortfallTinybar ? total - accounts.shortfallTinybar : 0;
    }

    function _total(Accounts memory accounts) private pure returns (uint256) {
        return uint256(accounts.depositsTinybar) + accounts.earnedTinybar + accounts.reserveTinybar
            + accounts.lockedTinybar + accounts.refundsTinybar;
    }

    function _send(address payable to, uint256 amountTinybar) internal {
        bool isSent;
        if (to != address(0)) (isSent,) = to.call{value: amountTinybar}("");
        if (!isSent) revert AccessWindow_TransferFailed(to, amountTinybar);
    }

    function _toTinybar(uint256 amount) private pure returns (uint64) {
        return _atMost(amount, type(uint64).max);
    }

    function _atMost(uint256 amount, uint64 limit) private pure returns (uint64) {
        return amount < limit ? uint64(amount) : limit;
    }
}
