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

    /// @notice A window opened where none was open. @param offerId pinned terms @param payer sender of the value
    event SubscriptionOpened(
        address indexed agent, address indexed payer, uint64 expiresAt, uint32 offerId, uint64 balanceTinybar
    );
    /// @notice Value was added to a subscription whose window is open. @param valueTinybar added @param balanceTinybar new
    event SubscriptionToppedUp(
        address indexed agent, address indexed payer, uint64 valueTinybar, uint64 balanceTinybar
    );
    /// @notice A forwarded payment was consumed. @param valueTinybar forwarded amount
    event PaymentConsumed(bytes32 indexed paymentReference, address indexed agent, uint64 valueTinybar);
    /// @notice Funded periods were materialised. @param periods how many @param byNetwork true in a scheduled call
    event WindowRenewed(address indexed agent, uint64 expiresAt, uint32 periods, uint64 balanceTinybar, bool byNetwork);
    /// @notice A scheduled renewal was armed. @param scheduledAt its second @param lockTinybar reserve locked for its gas
    event RenewalArmed(address indexed agent, address schedule, uint64 scheduledAt, uint64 lockTinybar);
    /// @notice A renewal could not be armed; the window goes on lazily. @param responseCode Hedera code, 0 if the reserve
    /// is too small, -1 if the schedule service reverted or ran out of gas
    event RenewalNotArmed(address indexed agent, uint64 expiresAt, int64 responseCode);
    /// @notice An overdue schedule was given up and its lock freed.
    event RenewalReaped(address indexed agent, address schedule, uint64 scheduledAt);
    /// @notice Calls were counted. @param callsUsed of that window, after them
    event UsageRecorded(address indexed agent, uint64 windowExpiresAt, uint32 callsUsed);
    /// @notice Calls beyond the quota, or for a window that is not funded, were not counted.
    event UsageRefused(address indexed agent, uint64 windowExpiresAt, uint32 calls);
    /// @notice Calls of a window that closed over 60 s ago, counted against no quota.
    event UsageLate(address indexed agent, uint64 windowExpiresAt, uint32 calls);
    event SubscriptionCancelled(address indexed agent, uint64 refundTinybar);
    event RefundClaimed(address indexed agent, address indexed to, uint64 amountTinybar);
    event OfferSet(
        uint32 indexed offerId, uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed, uint64 startsAt
    );
    event SalesPaused(bool isPaused);
    event ForwarderSet(address indexed forwarder, bool isForwarder);
    event RecorderSet(address indexed recorder, bool isRecorder);
    event ReserveFunded(address indexed from, uint64 amountTinybar);
    event ReserveWithdrawn(address indexed to, uint64 amountTinybar);
    event EarningsWithdrawn(address indexed to, uint64 amountTinybar);
    /// @notice Value that arrived outside the books was added to the reserve.
    event Skimmed(uint64 amountTinybar);
    /// @notice Gas that the network billed was booked. @param shortfallTinybar what is owed after it
    event GasCharged(uint64 amountTinybar, uint64 shortfallTinybar);

    // ----------------------------------------------------------------------------------------------- errors

    error AccessWindow_NotForwarder(address caller);
    error AccessWindow_NotRecorder(address caller);
    error AccessWindow_SalesPaused();
    error AccessWindow_WrongValue(uint256 valueTinybar, uint256 priceTinybar);
    error AccessWindow_UnknownOffer(uint256 offerId);
    error AccessWindow_OfferReplaced(uint256 offerId, uint256 replacedAt, uint256 paidAtSeconds);
    error AccessWindow_PaymentAlreadyUsed(bytes32 paymentReference);
    error AccessWindow_InvalidOffer(uint256 priceTinybar, uint256 periodSeconds, uint256 callsAllowed);
    error AccessWindow_NoOpenWindow(address agent);
    error AccessWindow_NothingToCancel(address agent);
    error AccessWindow_NothingToClaim(address agent);
    error AccessWindow_NotDue(uint256 expiresAt, uint256 nowSeconds);
    error AccessWindow_NotOverdue(uint256 scheduledAt, uint256 nowSeconds);
    error AccessWindow_InsufficientFunds(uint256 requestedTinybar, uint256 availableTinybar);
    error AccessWindow_ShortfallOutstanding(uint256 shortfallTinybar);
    error AccessWindow_TransferFailed(address to, uint256 amountTinybar);

    // -------------------------------------------------------------------------------------------- purchases

    /// @notice Buys periods for an agent at the current offer, for anyone; a gift when the sender is not the agent.
    /// An open window is topped up on its pinned terms, otherwise a new one opens now on the current ones. Reverts while
    /// sales are paused, or if the value is not a whole positive number of periods at the current price.
    function open(address agent) external payable;

    /// @notice Consumes one settled x402 payment. Forwarder only. Takes the challenged price: that of the current offer,
    /// or of one that was replaced at most 600 s before `paidAtSeconds`. Ignores a pause and succeeds for every agent.
    /// Reverts with PaymentAlreadyUsed for a reference that it knows, so that the value stays with the forwarder.
    function openPaid(Purchase calldata purchase) external payable;

    /// @notice Adds value to an open, uncancelled subscription, by anyone, any positive amount.
    function topUp(address agent) external payable;

    /// @notice Ends renewals of the sender's subscription; the balance becomes claimable. The paid window stays open to
    /// its end.
    function cancel() external;

    /// @notice Sends the sender's claimable refund to `to`.
    function claimRefund(address payable to) external;

    // --------------------------------------------------------------------------------------------- renewals

    /// @notice Materialises the funded periods that follow `expirySecond` and arms the next renewal. Called by the
    /// network as this contract, which never reverts, or by anyone once that second has passed.
    function renew(address agent, uint64 expirySecond) external;

    /// @notice Materialises what is due and arms a renewal where none is, for anyone.
    function poke(address agent) external;

    /// @notice Frees the lock of a schedule that is more than 30 s overdue and arms anew, for anyone.
    function reap(address agent) external;

    // --------------------------------------------------------------------------------------------- metering

    /// @notice Counts calls in the window that closes at `windowExpiresAt`: the current one, the previous one until 60 s
    /// after its end, or the next one, when funded, from 10 s before its start. Recorder only. Never reverts for the
    /// agent: see UsageRefused and UsageLate.
    function recordUsage(address agent, uint32 calls, uint64 windowExpiresAt) external;

    /// @notice The same for many. Each word packs agent (160 bits, high), calls (32 bits), windowExpiresAt (64 bits, low).
    function recordUsageBatch(bytes32[] calldata usages) external;

    // ------------------------------------------------------------------------------------------------ seller

    /// @notice Sets the terms of purchases from now on. Owner only. Price at least 1 tinybar, period 1 to 5,356,000 s, at
    /// least 1 call.
    function setOffer(uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed) external;
    function pauseSales(bool isPaused) external;
    function setForwarder(address forwarder, bool isAllowed) external;
    function setRecorder(address recorder, bool isAllowed) external;
    /// @notice Adds value to the gas reserve, by anyone. Repays a shortfall first.
    function fundReserve() external payable;
    /// @notice Sends free reserve to `to`. Owner only, never below the locks, not while a shortfall is outstanding.
    function withdrawReserve(address payable to, uint64 amountTinybar) external;
    /// @notice Sends earnings to `to`. Owner only, not while a shortfall is outstanding.
    function withdrawEarnings(address payable to, uint64 amountTinybar) external;
    /// @notice Books value that arrived outside the books (a native transfer runs no code) as reserve, for anyone.
    function skim() external;

    // ------------------------------------------------------------------------------------------------- views

    /// @notice The subscription as it stands at `atSeconds`: views take the time, since an `eth_call` sees the last
    /// block's, which lags or stands still.
    function windowOf(address agent, uint64 atSeconds) external view returns (Window memory);
    function hasAccess(address agent, uint64 atSeconds) external view returns (bool);
    /// @notice Whether a payment reference was consumed, and for which agent.
    function paymentOf(bytes32 paymentReference) external view returns (bool isUsed, address agent);
    function currentOffer() external view returns (uint32 offerId, Offer memory offer);
    /// @notice The offer with that index. Indices run from 0 without gaps. Reverts with UnknownOffer.
    function offerAt(uint32 offerId) external view returns (Offer memory);
    function offerCount() external view returns (uint32);
    /// @notice How many further renewals the free reserve can arm at the last seen gas price, for anyone.
    function renewalsReserveCanArm() external view returns (uint64);
    function books() external view returns (Books memory);
    function salesPaused() external view returns (bool);
    function isForwarder(address account) external view returns (bool);
    function isRecorder(address account) external view returns (bool);
    function refundOf(address agent) external view returns (uint64 amountTinybar);
}
