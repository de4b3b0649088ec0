import type { ChallengeError, PaymentOutcome } from '@tallystick/x402'
import type { Hex } from './access-window.ts'

/** Something that the operator wants to see: domain code tells it, the composition logs and counts it. */
export type AccessEvent =
  | {
      readonly kind: 'opened'
      readonly by: 'gate' | 'sweep'
      /** Of the request that the payment came with; the sweep has none. */
      readonly requestId?: string | undefined
      readonly agent: Hex
      readonly paymentReference: Hex
      readonly transactionHash: Hex
      readonly isTopUp: boolean
    }
  /** A settled payment that the contract does not take: somebody must look. */
  | {
      readonly kind: 'open-refused'
      readonly by: 'gate' | 'sweep'
      readonly requestId?: string | undefined
      readonly agent: Hex
      readonly paymentReference: Hex
      readonly reason: string
    }
  /** A purchase that the contract would refuse, found before settlement: whatever the reason, others may meet it too. */
  | {
      readonly kind: 'forward-refused'
      readonly requestId?: string | undefined
      readonly agent: Hex
      readonly reason: string
    }
  /** What became of a request with a payment, once the gate has taken it. */
  | { readonly kind: 'payment'; readonly outcome: PaymentOutcome<unknown, unknown>['kind'] }
  /** A payment that was not taken, before settlement or by the facilitator; `reason` is the 402's `error`. */
  | { readonly kind: 'payment-refused'; readonly reason: ChallengeError }
  /** A read found an armed renewal not made yet: how long its second is past. */
  | { readonly kind: 'renewal-late'; readonly lateSeconds: number }
  | { readonly kind: 'granted'; readonly isPaid: boolean }
  | { readonly kind: 'reaped'; readonly agent: Hex; readonly transactionHash: Hex }
  | { readonly kind: 'reap-failed'; readonly agent: Hex; readonly error: unknown }
  /** A sweep ended early, or, with a reference, one credit could not be opened. */
  | {
      readonly kind: 'sweep-failed'
      readonly error: unknown
      readonly paymentReference?: Hex
    }

export type ReportAccessEvent = (event: AccessEvent) => void
