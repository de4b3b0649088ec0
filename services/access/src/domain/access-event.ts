import type { Hex } from './access-window.ts'

/** Something that the operator wants to see: domain code tells it, the composition logs and counts it. */
export type AccessEvent =
  | {
      readonly kind: 'opened'
      readonly by: 'gate' | 'sweep'
      readonly agent: Hex
      readonly paymentReference: Hex
      readonly transactionHash: Hex
      readonly isTopUp: boolean
    }
  /** A settled payment that the contract does not take: somebody must look. */
  | {
      readonly kind: 'open-refused'
      readonly by: 'gate' | 'sweep'
      readonly agent: Hex
      readonly paymentReference: Hex
      readonly reason: string
    }
  | { readonly kind: 'payment'; readonly outcome: string }
  | { readonly kind: 'granted'; readonly isPaid: boolean }
  | { readonly kind: 'reaped'; readonly agent: Hex; readonly transactionHash: Hex }
  | { readonly kind: 'reap-failed'; readonly agent: Hex; readonly error: unknown }
  | { readonly kind: 'sweep-failed'; readonly error: unknown }

export type ReportAccessEvent = (event: AccessEvent) => void
