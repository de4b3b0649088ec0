// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {IAccessWindowEvents} from "./IAccessWindowEvents.sol";

/// @title Pay-once access with a window that renews itself
/// @notice Amounts are tinybar (1 HBAR = 1e8 tinybar), times are Unix seconds, durations are seconds. A subscription is
/// held against an agent, which is any EVM address. Windows are arithmetic: every read projects the periods that are paid for.
/// Those of one period that end in the same seconds are a slot, and the call that the network makes in such a second moves
/// the price of every renewed window from deposits to earnings and schedules its successor.
interface IAccessWindow is IAccessWindowEvents {
    // ------------------------------------------------------------------------------------------------ types

    /// @notice Terms of a purchase. They are pinned to a subscription when it opens.
    /// @param priceTinybar price of one period, tinybar
    /// @param periodSeconds length of one period, seconds
    /// @param callsAllowed metered calls of one period
    /// @param startsAt second from which new purchases have these terms, Unix seconds
    /// @param slotSeconds windows end in seconds this far apart: the first window of a subscription is up to `slotSeconds - 1`
    /// longer than a period, with no more calls; every later one is exactly a period
    /// @param retiredAt second from which no new money comes in at these terms, Unix seconds; 0 for never
    struct Offer {
        uint64 priceTinybar;
        uint32 periodSeconds;
        uint32 callsAllowed;
        uint48 startsAt;
        uint32 slotSeconds;
        uint48 retiredAt;
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
    /// @param balanceTinybar refundable balance after the projected charges, what waits beyond the reach included, tinybar
    /// @param periodsFunded further renewals that are paid for; what waits is in none of them
    /// @param callsUsed calls counted in that window
    /// @param callsAllowed pinned quota of a period (the current offer's without a subscription)
    /// @param schedule address of the slot's pending scheduled call, zero when none is armed or nothing further is funded.
    /// `scheduledAt < expiresAt` shows a call that comes a period before the subscription's own renewal, which it arms
    /// @param scheduledAt second of that call, Unix seconds; 0 for none
    /// @param isGuarded whether calls must prove the agent's key
    /// @param slotId which slot: period << 40 | second modulo the period; 0 without a subscription
    /// @param guardNonce what the agent's next signature for `setGuard` names
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
        bool isGuarded;
        uint256 slotId;
        uint32 guardNonce;
    }

    /// @notice The seller's books, tinybar. At rest: contract balance + shortfall >= deposits + earned + reserve + locked
    /// + refunds.
    /// @param depositsTinybar sum of all subscriptions' balances, and of charges that no call has booked yet
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

    // -------------------------------------------------------------------------------------------- purchases

    /// @notice Buys periods for an agent at the current offer, for anyone; a gift when the sender is not the agent.
    /// An open window is topped up on its pinned terms (a cancelled one is thereby revived), otherwise a new one opens now
    /// on the current terms, and what was left of an old balance is added if the sender is the agent or these terms are no
    /// worse for it (otherwise it becomes claimable). Periods reach 31 days ahead, or one where that is longer; what is
    /// left waits (see `poke`). Reverts while sales are paused, if the current offer or that of the open window is retired,
    /// or if the value is not a whole positive number of periods at the current price.
    /// @param agent who may use the window
    function open(address agent) external payable;

    /// @notice Consumes one settled x402 payment. Forwarder only. Takes the challenged price: that of the current offer,
    /// or of one that was replaced or retired at most 600 s before `paidAtSeconds`, which lies at most 31 days back and
    /// 300 s ahead. Ignores a pause, succeeds for every agent, and does not fail when the renewal cannot be armed. Opens or
    /// tops up as `open` does, on that offer's terms, and its own periods always fit. For an open window whose offer is
    /// retired the value waits; where the payment became valid over 600 s after that, it reverts with OfferRetired. Reverts
    /// with PaymentAlreadyUsed for a reference that it knows, so that the value stays with the forwarder.
    /// @param purchase what the payment buys
    function openPaid(Purchase calldata purchase) external payable;

    /// @notice Adds value to an open, uncancelled subscription, by anyone, any positive amount. Reverts with NoOpenWindow
    /// otherwise: a lapsed subscription never pays for time in which it gave no access. Periods reach 31 days ahead, or one
    /// where that is longer; what is left waits (see `poke`). Reverts with OfferRetired where the window's offer is.
    /// @param agent whose subscription
    function topUp(address agent) external payable;

    /// @notice Ends renewals of the sender's subscription; the balance becomes claimable. The paid window stays open to
    /// its end.
    function cancel() external;

    /// @notice Sends the sender's claimable refund to `to`.
    /// @param to receiver, not zero
    function claimRefund(address payable to) external;

    /// @notice Says whether calls of the agent must prove its key: by the agent itself, or by anyone with its signature. May
    /// come before the first purchase. Reverts with NotAgent.
    /// @param agent whose guard
    /// @param isGuarded true to ask for proof
    /// @param signature EIP-191 (`personal_sign`) over the 32 bytes keccak256(abi.encode(chainid, contract, agent, isGuarded,
    /// guardNonce)); not read when the agent itself calls
    function setGuard(address agent, bool isGuarded, bytes calldata signature) external;

    // --------------------------------------------------------------------------------------------- renewals

    /// @notice Books the slot's seconds up to `second`, which charges every window that begins in them, and arms the next.
    /// Called by the network as this contract, for which it never reverts, or by anyone once that second has passed. Windows
    /// end whole periods after the old ones: there is no drift.
    /// @param slotId which slot: period << 40 | second modulo the period
    /// @param second second for which the renewal was scheduled, Unix seconds: a scheduled call sees a `block.timestamp`
    /// that is 1 to 2 s early
    function renew(uint256 slotId, uint64 second) external;

    /// @notice Books what is due in the agent's slot and arms a renewal where none is, or where the pending one is 30 s
    /// overdue, for all in it, for anyone. A slot that missed more seconds than the gas books is left behind (code -3): poke
    /// again. Where the agent's value waits, it becomes periods instead, as far as they reach: of an open window, while the
    /// current offer has its terms; of a closed one by opening a window on the current offer, if the sender is the agent or
    /// the terms are no worse for it, and sales go on. Otherwise it goes on waiting, for the agent to `cancel`.
    /// @param agent whose slot
    function poke(address agent) external;

    /// @notice Frees the lock of a slot's schedule that is more than 30 s overdue, books the gas that a reverted execution
    /// cost, and arms anew, for anyone. Reverts with NotOverdue.
    /// @param agent whose slot
    function reap(address agent) external;

    // --------------------------------------------------------------------------------------------- metering

    /// @notice Counts calls in the window that closes at `windowExpiresAt`: the current one, the previous one until 60 s
    /// after its end, or the next one, when funded, from 10 s before its start. Recorder only. Never reverts for the
    /// agent: see UsageRefused and UsageLate.
    /// @param agent whose calls
    /// @param calls how many, all counted or none; a negative number gives back what was counted in advance, down to none
    /// @param windowExpiresAt end of the window in which they were served, Unix seconds
    function recordUsage(address agent, int32 calls, uint64 windowExpiresAt) external;

    /// @notice The same for many.
    /// @param usages each word packs agent (160 bits, high), calls (32 bits, two's complement), windowExpiresAt (64 bits, low)
    function recordUsageBatch(bytes32[] calldata usages) external;

    // ------------------------------------------------------------------------------------------------ seller

    /// @notice Sets the terms of purchases from now on; open windows keep theirs. Owner only. Reverts with InvalidOffer.
    /// @param priceTinybar price of one period, at least 300,000 tinybar
    /// @param periodSeconds length of one period, from 10 s; with `slotSeconds` at most 5,356,001 s (the network schedules 62
    /// days ahead)
    /// @param callsAllowed metered calls of one period, 1 to 2^31 - 1
    /// @param slotSeconds windows end in seconds this far apart; divides the period
    function setOffer(uint64 priceTinybar, uint32 periodSeconds, uint32 callsAllowed, uint32 slotSeconds) external;

    /// @notice Ends an offer: no new money comes in at its terms. Windows that are paid for go on. Owner only. While it is the
    /// current one nobody buys, until `setOffer`. Payments that were challenged up to 600 s later are still taken.
    /// @param offerId index of the offer
    function retireOffer(uint32 offerId) external;

    /// @notice Sets what a scheduled call is expected to cost, and from which revenue on one is armed. Owner only. Reverts
    /// with InvalidArming.
    /// @param scheduleCost dollar price of one `scheduleCall`, hundredths of a US cent, 100 to 10,000
    /// @param armingFloor least revenue of a scheduled call, percent of its expected cost, at most 10,000; 0 arms whatever
    /// earns at all
    function setArming(uint16 scheduleCost, uint16 armingFloor) external;

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

    /// @notice How many further slot renewals, each for all in its slot, the free reserve can arm at the gas price last seen.
    function renewalsReserveCanArm() external view returns (uint64);

    /// @notice Gas limits at the gas price last seen: what scheduling costs cannot be estimated.
    /// @return transactionGas for a transaction that may arm a renewal
    /// @return scheduledGas of a scheduled call
    function armingGas() external view returns (uint64 transactionGas, uint64 scheduledGas);

    /// @notice What arming asks for, as deployed or as `setArming` set it last.
    /// @return scheduleCost dollar price of one `scheduleCall`, hundredths of a US cent
    /// @return armingFloor least revenue of a scheduled call, percent of its expected cost
    function arming() external view returns (uint16 scheduleCost, uint16 armingFloor);

    /// @notice A slot as it was booked last; all zero for one that nobody was ever in.
    /// @param slotId which slot: period << 40 | second modulo the period
    /// @return nextSecond first second that is not booked, Unix seconds; in the past where no call came, and nobody poked
    /// @return agents subscriptions that go on, or end in a second that is not booked; not those of a single period
    /// @return schedule address of the pending scheduled call, zero for none
    /// @return scheduledAt second of that call, Unix seconds; 0 for none
    function slotAt(uint256 slotId)
        external
        view
        returns (uint64 nextSecond, uint32 agents, address schedule, uint64 scheduledAt);

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
