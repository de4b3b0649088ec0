import type { ChallengeError, PaymentOutcome } from '@tallystick/x402'
import type { Rearming } from './access-contract.ts'
import type { Hex } from './access-window.ts'

/** Who forwarded a settled payment, and for whom. */
type Forwarded = {
  readonly by: 'gate' | 'sweep'
  /** Of the request that the payment came with; the sweep has none. */
  readonly requestId?: string | undefined
  readonly agent: Hex
  readonly paymentReference: Hex
}

/** A slot, and the agent whose call found it. */
type OfSlot = { readonly slotId: string; readonly agent: Hex }

/** Something that the operator wants to see: domain code reports it, telemetry.ts counts and logs it. */
export type AccessEvent =
  | (Forwarded & {
      readonly kind: 'opened'
      readonly transactionHash: Hex
      readonly isTopUp: boolean
    })
  /** A settled payment that the contract refuses: the operator must look. */
  | (Forwarded & { readonly kind: 'open-refused'; readonly reason: string })
  /** A purchase that the contract would refuse, found before settlement; others may meet the same reason. */
  | {
      readonly kind: 'forward-refused'
      readonly requestId?: string | undefined
      readonly agent: Hex
      readonly reason: string
    }
  /** A request with a payment ended so, once the gate had taken it. */
  | { readonly kind: 'payment'; readonly outcome: PaymentOutcome<unknown, unknown>['kind'] }
  /** A payment that was not taken, before settlement or by the facilitator; `reason` is the 402's `error`. */
  | { readonly kind: 'payment-refused'; readonly reason: ChallengeError }
  /** A read found an armed renewal overdue by `lateSeconds`. */
  | { readonly kind: 'renewal-late'; readonly lateSeconds: number }
  /** A guarded agent's call without a valid token ended so: `proved`, or the `error` of the 402. */
  | { readonly kind: 'sign-in'; readonly outcome: string }
  | { readonly kind: 'rate-limited'; readonly by: 'agent' | 'address' }
  | { readonly kind: 'granted'; readonly isPaid: boolean }
  /** A slot's renewal was armed again: the pending one was overdue, or there was none. */
  | (OfSlot & { readonly kind: 'rearmed'; readonly how: Rearming; readonly transactionHash: Hex })
  /** Re-arming failed; the contract says why. */
  | (OfSlot & {
      readonly kind: 'not-armed'
      readonly how: Rearming
      readonly transactionHash: Hex
      readonly code: number
    })
  | (OfSlot & { readonly kind: 'rearm-failed'; readonly error: unknown })
  /** A sweep ended early, or, with a reference, one credit could not be opened. */
  | {
      readonly kind: 'sweep-failed'
      readonly error: unknown
      readonly paymentReference?: Hex
    }

  /** The seller is running out of something, or no longer is. */
  | (AlertNotice & { readonly kind: 'alert' })
  | (AlertNotice & { readonly kind: 'alert-lost'; readonly reason: string })
  /** The seller's money could not be read. */
  | { readonly kind: 'alerts-unread'; readonly error: unknown }

export type ReportAccessEvent = (event: AccessEvent) => void

/** Everything of the seller's that may run out, or that waits to be taken out. */
export const SELLER_ALERTS = ['reserve_low', 'recorder_low', 'float_low', 'withdrawable'] as const

export type SellerAlert = (typeof SELLER_ALERTS)[number]

/** The seller gets one when an alert is raised, when it has stood for the reminder interval, and when it is cleared. */
export type AlertNotice = {
  readonly alert: SellerAlert
  readonly change: 'raised' | 'reminder' | 'cleared'
  /** For a person, in one sentence. */
  readonly text: string
}

/** Carries notices to the seller, besides metric and log. */
export type AlertWebhook = {
  /** Does not wait. */
  send(notice: AlertNotice): void
  close(): void
}
