// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// @title What AccessWindow reports and how it refuses
/// @notice Part of IAccessWindow. Amounts are tinybar (1 HBAR = 1e8 tinybar), times are Unix seconds.
interface IAccessWindowEvents {
    // ----------------------------------------------------------------------------------------------- events

    /// @notice A window opened where none was open.
    /// @param agent who may use it
    /// @param payer sender of the value, or of the `poke` that opened it from what waited
    /// @param expiresAt second at which it closes, Unix seconds
    /// @param offerId offer whose terms are pinned
    /// @param balanceTinybar balance after the first period was charged, tinybar
    /// @param slotId its slot: period << 40 | second modulo the period
    /// @param schedule the slot's pending scheduled call; zero when none is armed or nothing further is funded
    /// @param scheduledAt second of that call, Unix seconds; 0 for none
    event SubscriptionOpened(
        address indexed agent,
        address indexed payer,
        uint64 expiresAt,
        uint32 offerId,
        uint64 balanceTinybar,
        uint256 slotId,
        address schedule,
        uint64 scheduledAt
    );
    /// @notice Value was added to a subscription whose window is open.
    /// @param agent whose subscription
    /// @param payer sender of the value
    /// @param valueTinybar what was added, tinybar; 0 where a `poke` turned what waited into periods
    /// @param balanceTinybar balance after it, tinybar
    event SubscriptionToppedUp(
        address indexed agent, address indexed payer, uint64 valueTinybar, uint64 balanceTinybar
    );
    /// @notice A forwarded payment was consumed.
    /// @param paymentReference keccak256 of its transaction id
    /// @param agent for whom
    /// @param valueTinybar forwarded amount, tinybar
    event PaymentConsumed(bytes32 indexed paymentReference, address indexed agent, uint64 valueTinybar);
    /// @notice Seconds of a slot were booked: the windows of all that are funded in it now end later.
    /// @param slotId period << 40 | second modulo the period
    /// @param windowsEndAt end of the windows that the last of them opened, Unix seconds
    /// @param periods how many seconds were booked
    /// @param live subscriptions that go on, or end in a second that is not booked
    /// @param chargedTinybar what moved from deposits to earnings: the prices of all that renewed, tinybar
    /// @param byNetwork true in a scheduled call
    event SlotRenewed(
        uint256 indexed slotId, uint64 windowsEndAt, uint32 periods, uint32 live, uint64 chargedTinybar, bool byNetwork
    );
    /// @notice A slot's next renewal was armed.
    /// @param slotId period << 40 | second modulo the period
    /// @param schedule long-zero address of the schedule
    /// @param scheduledAt second of its execution, Unix seconds
    /// @param lockTinybar reserve locked for its gas, tinybar
    event RenewalArmed(uint256 indexed slotId, address schedule, uint64 scheduledAt, uint64 lockTinybar);
    /// @notice A slot's next renewal was not armed; its windows go on all the same.
    /// @param slotId period << 40 | second modulo the period
    /// @param second the second for which none is armed, Unix seconds
    /// @param responseCode Hedera code; 0 if the reserve is too small; -1 if the schedule service reverted, ran out of gas or
    /// could not be given enough of it; -2 if the renewal earns less than the floor; -3 if seconds that have passed are
    /// still to be booked
    event RenewalNotArmed(uint256 indexed slotId, uint64 second, int64 responseCode);
    /// @notice An overdue schedule was given up and its lock freed.
    /// @param slotId period << 40 | second modulo the period
    /// @param schedule long-zero address of the schedule
    /// @param scheduledAt second at which the network should have executed it, Unix seconds
    event RenewalReaped(uint256 indexed slotId, address schedule, uint64 scheduledAt);
    /// @notice Calls were counted.
    /// @param agent whose calls
    /// @param windowExpiresAt end of the window in which they count, Unix seconds
    /// @param callsUsed calls of that window, these included
    event UsageRecorded(address indexed agent, uint64 windowExpiresAt, uint32 callsUsed);
    /// @notice Calls were not counted: together they exceed the quota, or no funded window that is open or begins within
    /// 10 s ends in that second, or there is no such agent. All calls of one entry count, or none.
    /// @param agent whose calls
    /// @param windowExpiresAt end of the window that was named, Unix seconds
    /// @param calls how many were refused
    event UsageRefused(address indexed agent, uint64 windowExpiresAt, int32 calls);
    /// @notice Calls of a window that closed over 60 s ago, or whose count is no longer kept: counted against no quota.
    /// @param agent whose calls
    /// @param windowExpiresAt end of the window that was named, Unix seconds
    /// @param calls how many came late
    event UsageLate(address indexed agent, uint64 windowExpiresAt, int32 calls);
    /// @notice A subscription ended; its open window stays open to its end. Also where one opens anew on worse terms, which
    /// what waited does not buy.
    /// @param agent whose subscription
    /// @param refundTinybar balance that became claimable, tinybar
    event SubscriptionCancelled(address indexed agent, uint64 refundTinybar);
    /// @notice An agent said whether calls must prove its key.
    /// @param agent who
    /// @param isGuarded true where proof is asked for
    event GuardSet(address indexed agent, bool isGuarded);
    /// @notice A refund was paid out.
    /// @param agent whose refund
    /// @param to receiver
    /// @param amountTinybar amount, tinybar
    event RefundClaimed(address indexed agent, address indexed to, uint64 amountTinybar);
    /// @notice New purchases have these terms.
    /// @param offerId index of the offer
    /// @param priceTinybar price of one period, tinybar
    /// @param periodSeconds length of one period, seconds
    /// @param callsAllowed metered calls of one period
    /// @param startsAt second from which it holds, Unix seconds
    /// @param slotSeconds windows end in seconds this far apart
    event OfferSet(
        uint32 indexed offerId,
        uint64 priceTinybar,
        uint32 periodSeconds,
        uint32 callsAllowed,
        uint64 startsAt,
        uint32 slotSeconds
    );
    /// @notice No new money comes in at this offer's terms.
    /// @param offerId index of the offer
    /// @param retiredAt second from which that holds, Unix seconds
    event OfferRetired(uint32 indexed offerId, uint64 retiredAt);
    /// @notice Arming has these terms from now on.
    /// @param scheduleCost dollar price of one `scheduleCall`, hundredths of a US cent
    /// @param armingFloor least revenue of a scheduled call, percent of its expected cost
    event ArmingSet(uint16 scheduleCost, uint16 armingFloor);
    /// @notice New sales were paused or resumed.
    /// @param isPaused true while paused
    event SalesPaused(bool isPaused);
    /// @notice The right to pass payment references was given or taken.
    /// @param forwarder account
    /// @param isForwarder whether it has the right now
    event ForwarderSet(address indexed forwarder, bool isForwarder);
    /// @notice The right to record usage was given or taken.
    /// @param recorder account
    /// @param isRecorder whether it has the right now
    event RecorderSet(address indexed recorder, bool isRecorder);
    /// @notice Value was added to the gas reserve.
    /// @param from sender
    /// @param amountTinybar amount, tinybar; a shortfall was repaid from it first
    event ReserveFunded(address indexed from, uint64 amountTinybar);
    /// @notice Free reserve was paid out.
    /// @param to receiver
    /// @param amountTinybar amount, tinybar
    event ReserveWithdrawn(address indexed to, uint64 amountTinybar);
    /// @notice Earnings were paid out.
    /// @param to receiver
    /// @param amountTinybar amount, tinybar
    event EarningsWithdrawn(address indexed to, uint64 amountTinybar);
    /// @notice Value that arrived outside the books was added to the reserve.
    /// @param amountTinybar amount, tinybar; a shortfall was repaid from it first
    event Skimmed(uint64 amountTinybar);
    /// @notice Gas that the network billed was booked.
    /// @param amountTinybar what the books were charged, tinybar
    /// @param shortfallTinybar what is owed after it, tinybar
    event GasCharged(uint64 amountTinybar, uint64 shortfallTinybar);

    // ----------------------------------------------------------------------------------------------- errors

    error AccessWindow_NotForwarder(address caller);
    error AccessWindow_NotRecorder(address caller);
    /// @notice Ownership moves in two steps and is never given up: earnings would be out of reach.
    error AccessWindow_OwnerRequired();
    error AccessWindow_SalesPaused();
    error AccessWindow_WrongValue(uint256 valueTinybar, uint256 priceTinybar);
    /// @notice The books hold at most 2^64 - 1 tinybar in all, over three times all HBAR that exist.
    error AccessWindow_AmountTooLarge(uint256 amountTinybar);
    error AccessWindow_UnknownOffer(uint256 offerId);
    error AccessWindow_OfferReplaced(uint256 offerId, uint256 replacedAt, uint256 paidAtSeconds);
    error AccessWindow_OfferRetired(uint256 offerId, uint256 retiredAt);
    error AccessWindow_PaymentAlreadyUsed(bytes32 paymentReference);
    /// @notice The payment became valid over 31 days ago, or more than 300 s from now.
    error AccessWindow_PaidAtOutOfRange(uint256 paidAtSeconds, uint256 nowSeconds);
    error AccessWindow_InvalidOffer(
        uint256 priceTinybar, uint256 periodSeconds, uint256 callsAllowed, uint256 slotSeconds
    );
    error AccessWindow_InvalidArming(uint256 scheduleCost, uint256 armingFloor);
    /// @notice Only the agent sets its guard, itself or by a signature over its present nonce.
    error AccessWindow_NotAgent(address agent);
    error AccessWindow_NoOpenWindow(address agent);
    error AccessWindow_NothingToCancel(address agent);
    error AccessWindow_NothingToClaim(address agent);
    error AccessWindow_NotDue(uint256 second, uint256 nowSeconds);
    error AccessWindow_NotOverdue(uint256 scheduledAt, uint256 nowSeconds);
    /// @notice The transaction's gas limit leaves too little to arm a renewal. Without this an estimate of gas, which
    /// looks for the least that succeeds, would find one that arms nothing.
    error AccessWindow_InsufficientGas(uint256 gasLeft, uint256 gasNeeded);
    error AccessWindow_InsufficientFunds(uint256 requestedTinybar, uint256 availableTinybar);
    error AccessWindow_ShortfallOutstanding(uint256 shortfallTinybar);
    error AccessWindow_TransferFailed(address to, uint256 amountTinybar);
}
