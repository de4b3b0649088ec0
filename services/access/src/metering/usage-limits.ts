/**
 * Every limit of the metering, with its unit and the reason for it. Rules A9 to A11 and A18 fix the first group; the
 * second bounds what those rules leave open.
 */
import { accessWindowRules } from '@tallystick/contracts'
import type { BackOffLimits } from '@tallystick/service-kit'

/** A10: a batch is sealed this long after its first call, even while the sender is busy: a call is answered within 60 ms.
 * Milliseconds. */
export const SEAL_AFTER_MS = 40
/** A10: a batch is sealed when it holds this many agents. */
export const SEAL_AT_AGENTS = 50
/** A10: while the sender is behind, the open batch grows to this many agents and takes no further one. */
export const OPEN_AGENTS_MAX = 500
/** A10: this many sealed batches may wait for the sender; the open one stays open meanwhile. They are the window of nonces:
 * as many fill a gap at most, and as many may be sent without a receipt. */
export const SEALED_WAITING_MAX = 64
/** A10: this many calls may be answered with unsent batches: a kill loses no more, at the seller's cost. At the testnet
 * offer's price they are worth 30 HBAR; 50 calls a second behind a slow relay take half of it in the first minutes. */
export const UNSENT_CALLS_MAX = 10_000
/** A10: a call that is not sealed after this time is taken out and answered as unavailable. Milliseconds. */
export const UNSEALED_MS_MAX = 10_000
/** A10: signed bytes offer this multiple of the quoted gas price; the network charges its own. */
export const GAS_PRICE_FACTOR = 2n
/** A11: with several recorders, calls of one agent that this process's chain read does not show yet. */
export const UNSHOWN_CALLS_MAX = 50
/** A11: with k recorders, a call that finds fewer than k times this many left waits for its receipt. */
export const RECEIPT_WAIT_CALLS_PER_RECORDER = 100
/** A11: the contract still counts calls of a window for this long after its end; then it is forgotten. Seconds. */
export const FORGET_AFTER_SECONDS = accessWindowRules.lateUsageSeconds
/** A9: calls accepted in a window that is not known to have begun: they are lost if its renewal fails. */
export const UNBEGUN_CALLS_MAX = 3
/** A18: with several recorders, after this time without a call of the agent its unused calls go back with the next record.
 * Milliseconds. */
export const LEASE_IDLE_MS = 30_000
/** A18: with several recorders and less than this percent of the quota left, unused calls go back at once. */
export const SCARCE_QUOTA_PERCENT = 10

/** With k recorders a lease takes 1/(k × this) of the calls left, so that every recorder gets some of the last; more where
 * the entries left to this process would not do. */
export const LEASE_PARTS_PER_RECORDER = 2
/** A18: while batches wait, a batch also carries the next calls of agents that called this recently. Milliseconds. */
export const EXTEND_MS = 10_000
/** Least time between two searches for idle leases, milliseconds. */
export const LEASE_LOOK_MS = 1_000
/** Idle leases that go back with one record: its transaction doubles at most. */
export const IDLE_ENTRIES_MAX = SEAL_AT_AGENTS
/** A chain read later than this after a receipt includes it: public mirrors lag up to 10 s. Milliseconds. */
export const READ_LAG_MS = 15_000
/** Calls in the open batch: bounds the memory of a stuck sender (about 10 MB of promises). */
export const OPEN_CALLS_MAX = 20_000
/** Calls that wait to be admitted: bounds the same for agents at the edge of their quota. */
export const WAITING_CALLS_MAX = 2_000
/** Pauses after a failed ledger request: the longest is short against the 10 s of a call. */
export const RETRY: BackOffLimits = { firstMs: 250, maxMs: 4_000 }
/** A call at the edge of its quota waits this long for receipts that its read seems to know. Milliseconds. */
export const CATCH_UP_MS = 1_000
/** A process with waiting calls reads the counter itself this often (A11). Milliseconds. */
export const SHOWN_POLL_MS = 1_000
/** A11: longest wait of a sealed call for its receipt: a slow ledger's 10 s, and one resend. Milliseconds. */
export const RECEIPT_WAIT_MS = 20_000
/** Batches reverted in a row after which calls are refused for a while: nothing can be recorded. */
export const REVERTS_BEFORE_PAUSE = 3
/** Calls are refused this long after those reverts, before one is tried again. Milliseconds. */
export const REVERT_PAUSE_MS = 30_000
/** Closed windows are looked for this often. Milliseconds. */
export const FORGET_SWEEP_MS = 30_000
/** A shutdown waits this long for sends and receipts; the service has 10 s in all (S6). Milliseconds. */
export const CLOSE_MS = 5_000
/** Windows whose counter is read in one such round, so that a crowd does not exhaust a public rate limit. */
export const SHOWN_READS_MAX = 16
