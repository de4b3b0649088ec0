/** The gate's waits. Each can be set; the defaults fit Hedera testnet and a remote facilitator. */
export type GateLimits = {
  /** Longest a request waits for its payment to end; longer than a settlement and a forwarding together. */
  readonly requestWaitMs: number
  /** Longest a request waits once the outcome is in doubt; longer than a mirror node's usual lag of 3 to 10 s. */
  readonly doubtWaitMs: number
  /** First pause between two attempts in the background. */
  readonly retryFirstMs: number
  /** Longest pause between two attempts: a payment in doubt is looked at this often until it is resolved. */
  readonly retryMaxMs: number
  /** Payments in flight at once; the next one is refused, unsettled, so that memory stays bounded. */
  readonly inFlightMax: number
  /** Longest `close` waits for a step that already runs; inside the services' 10 s of shutdown. */
  readonly closeWaitMs: number
  /** What a pending answer puts into `Retry-After`: about one consensus round. */
  readonly retryAfterSeconds: number
}

export const DEFAULT_GATE_LIMITS: GateLimits = {
  requestWaitMs: 45_000,
  doubtWaitMs: 12_000,
  retryFirstMs: 250,
  retryMaxMs: 10_000,
  inFlightMax: 10_000,
  closeWaitMs: 5_000,
  retryAfterSeconds: 3,
}
