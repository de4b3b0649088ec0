/** The gate's waits and how many payments may wait. The defaults fit Hedera testnet and a remote facilitator. */
export const DEFAULT_GATE_LIMITS = {
  /** Longest a request waits for its payment to end; longer than a settlement and a forwarding together. */
  requestWaitMs: 45_000,
  /** Longest a request waits once the outcome is in doubt; longer than a mirror node's usual lag of 3 to 10 s. */
  doubtWaitMs: 12_000,
  /** First pause between two attempts in the background. */
  retryFirstMs: 250,
  /** Longest pause between two attempts: a payment in doubt is looked up this often until it is resolved. */
  retryMaxMs: 10_000,
  /** Payments in flight at once: the next one is refused, unsettled, so that memory stays bounded. */
  inFlightMax: 10_000,
  /** Longest `close` waits for a step that already runs; inside the services' 10 s of shutdown. */
  closeWaitMs: 5_000,
  /** What a pending answer puts into `Retry-After`: about one consensus round. */
  retryAfterSeconds: 3,
}

export type GateLimits = Readonly<typeof DEFAULT_GATE_LIMITS>
