/** The gate's waits and sizes. Every one can be set; the defaults fit Hedera testnet and a remote facilitator. */
export type GateLimits = {
  /** Longest a request waits for its payment's whole run; longer than a settlement and a forwarding together. */
  readonly requestWaitMs: number
  /** Longest a request waits once the outcome is in doubt; longer than a mirror node's usual lag of 3 to 10 s. */
  readonly doubtWaitMs: number
  /** First pause between two attempts in the background. */
  readonly retryFirstMs: number
  /** Longest pause between two attempts: a payment in doubt is looked at this often until it is resolved. */
  readonly retryMaxMs: number
  /** Payments under way at once; the next one is refused, unsettled, so that memory stays bounded. */
  readonly flightsMax: number
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
  flightsMax: 10_000,
  closeWaitMs: 5_000,
  retryAfterSeconds: 3,
}

/**
 * Largest payment header, in bytes, looked at before decoding. The largest honest one fits: ten Hedera nodes take 4.5 KB,
 * and the description of a call that official clients send back (`describeCall`) at most 2.7 KB.
 */
export const PAYMENT_HEADER_BYTES_MAX = 8_192

/** How long an answer is kept past the end of its payment's validity, for requests already on their way. */
export const ANSWER_KEPT_SECONDS = 60

/**
 * How long an answer that is kept for its payer, and with it a key, can be asked for: a day, the custom of the field
 * for keys, and an hour, since it is only given to payments that end before it does.
 */
export const PAYER_ANSWER_KEPT_SECONDS = 25 * 3_600

/**
 * Largest `request` of a job, bytes: twice the largest body that a paid route of ours takes, 1 MiB, since the canonical
 * text of a number can be longer than the number was.
 */
export const KEPT_REQUEST_BYTES_MAX = 2_097_152

/** Store writes that failed after settlement and wait for their payment to be asked about; the next start finds any other. */
export const LATE_WRITES_MAX = 1_000
