// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// @title Pay-once access with a window that renews itself
/// @notice Amounts are tinybar (1 HBAR = 1e8 tinybar), times are Unix seconds, durations are seconds. A subscription is
/// held against an agent, which is any EVM address. Windows are lazy and pushed: every read projects the periods that
/// are paid for, and the call that the network makes at the end of a window only materialises them.
interface IAccessWindow {
    // ------------------------------------------------------------------------------------------------ types

    /// @notice Terms of a purchase. They are pinned to a subscription when it opens.
    /// @param priceTinybar price of one period, tinybar
    /// @param periodSeconds length of one period, seconds
    /// @param callsAllowed metered calls of one period
    /// @param startsAt second from which new purchases have these terms, Unix seconds
    struct Offer {
        uint64 priceTinybar;
        uint32 periodSeconds;
        uint32 callsAllowed;
        uint64 startsAt;
    }

    /// @notice What a forwarded x402 payment buys.
    /// @param agent who may use the window
    /// @param offerId index of the offer whose price was challenged
    /// @param paidAtSeconds second in which the payment became valid, Unix seconds, as in its transaction id
    /// @param calls calls that this very payment serves, counted at once in the window if it has room (0 or 1)
    /// @param paymentReference keccak256 of the ASCII transaction id `0.0.<fee payer>@<seconds>.<nanoseconds, 9 digits>`
    struct Purchase {
        address agent;
        uint32 offerId;
        uint64 paidAtSeconds;
        uint32 calls;
        bytes32 paymentReference;
    }

    /// @notice A subscription as it stands at a given second, funded periods projected.
    /// @param exists whether the agent ever had one
    /// @param isOpen whether the window is open at that second
    /// @param isCancelled whether the agent cancelled it; an open window stays open to its end
    /// @param expiresAt second at which the window closes, Unix seconds; 0 without a subscription
    /// @param periodSeconds pinned period (the current offer's without a subscription), seconds
    /// @param priceTinybar pinned price per period (the current offer's without a subscription), tinybar
    /// @param balanceTinybar refundable balance after the projected charges, tinybar
    /// @param periodsFunded further renewals that the balance pays for
    /// @param callsUsed calls counted in that window
    /// @param callsAllowed pinned quota of a period (the current offer's without a subscription)
    /// @param schedule address of the pending scheduled call, zero when none is armed
    /// @param scheduledAt second of the pending scheduled call, Unix seconds; 0 when none is armed
    struct Window {
        bool exists;
        bool isOpen;
        bool isCancelled;
        uint64 expiresAt;
        uint32 periodSeconds;
        uint64 priceTinybar;
        uint64 balanceTinybar;
        uint64 periodsFunded;
        uint32 callsUsed;
        uint32 callsAllowed;
        address schedule;
        uint64 scheduledAt;
    }

    /// @notice The seller's books, tinybar. At rest: contract balance + shortfall >= deposits + earned + reserve + locked
    /// + refunds.
    /// @param depositsTinybar sum of all subscriptions' balances
    /// @param earnedTinybar charged periods not yet withdrawn by the seller
    /// @param reserveTinybar free gas reserve
    /// @param lockedTinybar reserve locked for armed renewals
    /// @param refundsTinybar cancelled balances not yet claimed by their agents
    /// @param shortfallTinybar gas billed beyond lock, reserve and earnings; repaid first, blocks withdrawals
    struct Books {
        uint64 depositsTinybar;
        uint64 earnedTinybar;
        uint64 reserveTinybar;
        uint64 lockedTinybar;
        uint64 refundsTinybar;
        uint64 shortfallTinybar;
    }

    // ----------------------------------------------------------------------------------------------- events

    /// @notice A window opened where none was open.
    /// @param agent who may use it
    /// @param payer sender of the value
    /// @param expiresAt second at which it closes, Unix seconds
    /// @param offerId offer whose terms are pinned
    /// @param balanceTinybar balance after the first period was charged, tinybar
    event SubscriptionOpened(
        address indexed agent, address indexed payer, uint64 expiresAt, uint32 offerId, uint64 balanceTinybar
    );
    /// @notice Value was added to a subscription whose window is open.
    /// @param agent whose subscription
    /// @param payer sender of the value
    /// @param valueTinybar what was added, tinybar
    /// @param balanceTinybar balance after it, tinybar
    event SubscriptionToppedUp(
        address indexed agent, address indexed payer, uint64 valueTinybar, uint64 balanceTinybar
    );
    /// @notice A forwarded payment was consumed.
    /// @param paymentReference keccak256 of its transaction id
    /// @param agent for whom
    /// @param valueTinybar forwarded amount, tinybar
    event PaymentConsumed(bytes32 indexed paymentReference, address indexed agent, uint64 valueTinybar);
    /// @notice Funded periods were materialised.
    /// @param agent whose window
    /// @param expiresAt second at which it closes now, Unix seconds
    /// @param periods how many were charged
    /// @param balanceTinybar balance after them, tinybar
    /// @param byNetwork true in a scheduled call
    event WindowRenewed(address indexed agent, uint64 expiresAt, uint32 periods, uint64 balanceTinybar, bool byNetwork);
    /// @notice A scheduled renewal was armed.
    /// @param agent whose window
    /// @param schedule long-zero address of the schedule
    /// @param scheduledAt second of its execution, Unix seconds
    /// @param lockTinybar reserve locked for its gas, tinybar
    event RenewalArmed(address indexed agent, address schedule, uint64 scheduledAt, uint64 lockTinybar);
    /// @notice A renewal could not be armed; the window goes on lazily.
    /// @param agent whose window
    /// @param expiresAt second at which it closes, Unix seconds
    /// @param responseCode Hedera code; 0 if the reserve is too small; -1 if the schedule service reverted, ran out of
    /// gas or could not be given enough of it
    event RenewalNotArmed(address indexed agent, uint64 expiresAt, int64 responseCode);
    /// @notice An overdue schedule was given up and its lock freed.
    /// @param agent whose window
    /// @param schedule long-zero address of the schedule
    /// @param scheduledAt second at which the network should have executed it, Unix seconds
    event RenewalReaped(address indexed agent, address schedule, uint64 scheduledAt);
    /// @notice Calls were counted.
    /// @param agent whose calls
    /// @param windowExpiresAt end of the window in which they count, Unix seconds
    /// @param callsUsed calls of that window, these included
    event UsageRecorded(address indexed agent, uint64 windowExpiresAt, uint32 callsUsed);
    /// @notice Calls were not counted: together they exceed the quota, or their window is not funded, or there is no
    /// such agent. All calls of one entry count, or none.
    /// @param agent whose calls
    /// @param windowExpiresAt end of the window that was named, Unix seconds
    /// @param calls how many were refused
    event UsageRefused(address indexed agent, uint64 windowExpiresAt, uint32 calls);
    /// @notice Calls of a window that closed over 60 s ago, or whose count is no longer kept: counted against no quota.
    /// @param agent whose calls
    /// @param windowExpiresAt end of the window that was named, Unix seconds
    /// @param calls how many came late
    event UsageLate(address indexed agent, uint64 windowExpiresAt, uint32 calls);
    /// @notice A subscription ended; its open window stays open to its end.
    /// @param agent whose subscription
    /// @param refundTinybar balance that became claimable, tinybar
    event SubscriptionCancelled(address indexed agent, uint64 refundTinybar);
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
    event OfferSet(
        uint32 indexed offerId, uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed, uint64 startsAt
    );
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
    error AccessWindow_PaymentAlreadyUsed(bytes32 paymentReference);
    error AccessWindow_InvalidOffer(uint256 priceTinybar, uint256 periodSeconds, uint256 callsAllowed);
    error AccessWindow_NoOpenWindow(address agent);
    error AccessWindow_NothingToCancel(address agent);
    error AccessWindow_NothingToClaim(address agent);
    error AccessWindow_NotDue(uint256 expiresAt, uint256 nowSeconds);
    error AccessWindow_NotOverdue(uint256 scheduledAt, uint256 nowSeconds);
    /// @notice The transaction's gas limit leaves too little to arm a renewal. Without this an estimate of gas, which
    /// looks for the least that succeeds, would find one that arms nothing.
    error AccessWindow_InsufficientGas(uint256 gasLeft, uint256 gasNeeded);
    error AccessWindow_InsufficientFunds(uint256 requestedTinybar, uint256 availableTinybar);
    error AccessWindow_ShortfallOutstanding(uint256 shortfallTinybar);
    error AccessWindow_TransferFailed(address to, uint256 amountTinybar);

    // -------------------------------------------------------------------------------------------- purchases

    /// @notice Buys periods for an agent at the current offer, for anyone; a gift when the sender is not the agent.
    /// An open window is topped up on its pinned terms (a cancelled one is thereby revived), otherwise a new one opens now
    /// on the current terms, and what was left of an old balance is added. Reverts while sales are paused, or if the value
    /// is not a whole positive number of periods at the current price.
    /// @param agent who may use the window
    function open(address agent) external payable;

    /// @notice Consumes one settled x402 payment. Forwarder only. Takes the challenged price: that of the current offer,
    /// or of one that was replaced at most 600 s before `paidAtSeconds`. Ignores a pause, succeeds for every agent, and
    /// does not fail when the renewal cannot be armed. Opens or tops up as `open` does, on that offer's terms. Reverts
    /// with PaymentAlreadyUsed for a reference that it knows, so that the value stays with the forwarder.
    /// @param purchase what the payment buys
    function openPaid(Purchase calldata purchase) external payable;

    /// @notice Adds value to an open, uncancelled subscription, by anyone, any positive amount. Reverts with NoOpenWindow
    /// otherwise: a lapsed subscription never pays for time in which it gave no access.
    /// @param agent whose subscription
    function topUp(address agent) external payable;

    /// @notice Ends renewals of the sender's subscription; the balance becomes claimable. The paid window stays open to
    /// its end.
    function cancel() external;

    /// @notice Sends the sender's claimable refund to `to`.
    /// @param to receiver, not zero
    function claimRefund(address payable to) external;

    // --------------------------------------------------------------------------------------------- renewals

    /// @notice Materialises the funded periods that are due at `expirySecond` and arms the next renewal. Called by the
    /// network as this contract, for which it never reverts, or by anyone once that second has passed. The next window
    /// ends whole periods after the old one: there is no drift.
    /// @param agent whose window
    /// @param expirySecond second for which the renewal was scheduled, Unix seconds: a scheduled call sees a
    /// `block.timestamp` that is 1 to 2 s early
    function renew(address agent, uint64 expirySecond) external;

    /// @notice Materialises what is due and arms a renewal where none is, for anyone.
    /// @param agent whose window
    function poke(address agent) external;

    /// @notice Frees the lock of a schedule that is more than 30 s overdue, books the gas that a reverted execution cost,
    /// and arms anew, for anyone. Reverts with NotOverdue.
    /// @param agent whose schedule
    function reap(address agent) external;

    // --------------------------------------------------------------------------------------------- metering

    /// @notice Counts calls in the window that closes at `windowExpiresAt`: the current one, the previous one until 60 s
    /// after its end, or the next one, when funded, from 10 s before its start. Recorder only. Never reverts for the
    /// agent: see UsageRefused and UsageLate.
    /// @param agent whose calls
    /// @param calls how many; all count, or none
    /// @param windowExpiresAt end of the window in which they were served, Unix seconds
    function recordUsage(address agent, uint32 calls, uint64 windowExpiresAt) external;

    /// @notice The same for many.
    /// @param usages each word packs agent (160 bits, high), calls (32 bits), windowExpiresAt (64 bits, low)
    function recordUsageBatch(bytes32[] calldata usages) external;

    // ------------------------------------------------------------------------------------------------ seller

    /// @notice Sets the terms of purchases from now on; open windows keep theirs. Owner only. Reverts with InvalidOffer.
    /// @param priceTinybar price of one period, at least 1 tinybar
    /// @param periodSeconds length of one period, 1 to 5,356,000 s (the network schedules at most 62 days ahead)
    /// @param callsAllowed metered calls of one period, at least 1
    function setOffer(uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed) external;

    /// @notice Pauses or resumes `open`. Renewals, top-ups, refunds and settled payments go on. Owner only.
    /// @param isPaused true to pause
    function pauseSales(bool isPaused) external;

    /// @notice Gives or takes the right to pass payment references. Owner only.
    /// @param forwarder account
    /// @param isAllowed whether it may
    function setForwarder(address forwarder, bool isAllowed) external;

    /// @notice Gives or takes the right to record usage. Owner only.
    /// @param recorder account
    /// @param isAllowed whether it may
    function setRecorder(address recorder, bool isAllowed) external;

    /// @notice Adds value to the gas reserve, by anyone. Repays a shortfall first.
    function fundReserve() external payable;

    /// @notice Sends free reserve to `to`. Owner only, never below the locks, not while a shortfall is outstanding.
    /// @param to receiver, not zero
    /// @param amountTinybar amount, tinybar
    function withdrawReserve(address payable to, uint64 amountTinybar) external;

    /// @notice Sends earnings to `to`. Owner only, not while a shortfall is outstanding.
    /// @param to receiver, not zero
    /// @param amountTinybar amount, tinybar
    function withdrawEarnings(address payable to, uint64 amountTinybar) external;

    /// @notice Books value that arrived outside the books (a native transfer runs no code) as reserve, for anyone.
    function skim() external;

    // ------------------------------------------------------------------------------------------------- views

    /// @notice The subscription as it stands at `atSeconds`: views take the time, since an `eth_call` sees the last
    /// block's, which lags or stands still.
    /// @param agent any address
    /// @param atSeconds present or future second, Unix seconds
    function windowOf(address agent, uint64 atSeconds) external view returns (Window memory);

    /// @notice Whether the agent's window is open at `atSeconds`.
    /// @param agent any address
    /// @param atSeconds present or future second, Unix seconds
    function hasAccess(address agent, uint64 atSeconds) external view returns (bool);

    /// @notice Whether a payment reference was consumed, and for which agent.
    /// @param paymentReference keccak256 of a transaction id
    function paymentOf(bytes32 paymentReference) external view returns (bool isUsed, address agent);

    /// @notice The terms of a purchase made now, and their index.
    function currentOffer() external view returns (uint32 offerId, Offer memory offer);

    /// @notice The offer with that index. Indices run from 0 without gaps. Reverts with UnknownOffer.
    /// @param offerId index
    function offerAt(uint32 offerId) external view returns (Offer memory);

    /// @notice How many offers there have been.
    function offerCount() external view returns (uint32);

    /// @notice How many further renewals the free reserve can arm at the last seen gas price, for anyone.
    function renewalsReserveCanArm() external view returns (uint64);

    /// @notice The seller's books, tinybar.
    function books() external view returns (Books memory);

    /// @notice Whether new sales are paused.
    function salesPaused() external view returns (bool);

    /// @notice Whether the account may pass payment references.
    /// @param account any address
    function isForwarder(address account) external view returns (bool);

    /// @notice Whether the account may record usage.
    /// @param account any address
    function isRecorder(address account) external view returns (bool);

    /// @notice What the agent can claim, tinybar.
    /// @param agent any address
    function refundOf(address agent) external view returns (uint64 amountTinybar);
}
