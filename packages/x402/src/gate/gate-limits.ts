/** How long the gate waits and how many payments may wait. The defaults fit Hedera testnet and a remote facilitator. */
export const DEFAULT_GATE_LIMITS = {
  /** Longest time a request waits for its payment to end; more than a settlement and a forwarding together. */
  requestWaitMs: 45_000,
  /** Longest time a request waits once the outcome is in doubt; more than a mirror node's usual lag of 3 to 10 s. */
  doubtWaitMs: 12_000,
  /** Longest wait for a facilitator while another one may be asked: X Layer and Hedera settle in 2 to 5 s. */
  failoverAfterMs: 10_000,
  /** Longest time for the ledger to show a settlement whose facilitator is not trusted; a mirror node lags 3 to 10 s. */
  confirmMs: 12_000,
  /** First pause between two background attempts. */
  retryFirstMs: 250,
  /** Longest pause between two background attempts; a payment in doubt is looked up about this often until it is resolved. */
  retryMaxMs: 10_000,
  /**
   * Look-ups of payments in doubt that may begin in one second. On Hedera each takes one request of a mirror node, or two once
   * the payment is over; public nodes answer 50 a second to everything that an address asks, sales included.
   */
  lookUpsPerSecond: 10,
  /** Look-ups of one payer under way at once, and payments of one payer that wait without having been sent here. */
  payerLookUpsMax: 4,
  /** Payments in flight at once. Beyond this, payments are refused unsettled, so that memory stays bounded. */
  inFlightMax: 10_000,
  /** Payments of one payer that are prepared at once (X16): as many as an honest agent needs. */
  payerPreparingMax: 4,
  /** Payments of one payer in line, about 1 kB each; beyond this they are refused unsettled. */
  payerWaitingMax: 1_000,
  /** Longest time a payment waits for those before it, then it is refused unsettled; well under a client's patience. */
  payerWaitMs: 20_000,
  /** Longest time `close` waits for a running step; fits in the services' 10 s of shutdown. */
  closeWaitMs: 5_000,
  /** The `Retry-After` of a pending answer: about one consensus round. */
  retryAfterSeconds: 3,
}

export type GateLimits = Readonly<typeof DEFAULT_GATE_LIMITS>
