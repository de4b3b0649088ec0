import { agentOfMemo, isReservedMemo } from '@tallystick/x402/hedera'
import type { Hex } from './access-window.ts'

type PaymentMemo =
  /** Nothing for us: no memo, or free text. */
  | { readonly kind: 'none' }
  /** The payer signed which agent the payment buys for. */
  | { readonly kind: 'agent'; readonly agent: Hex }
  /** Begins like one of ours but names nobody: it buys for no one. */
  | { readonly kind: 'reserved' }

/** Reads the memo that a payer signed: `x402:<agent>` (X10). `refund:` is the seller's own prefix (A15). */
export function readPaymentMemo(memo: string): PaymentMemo {
  const agent = agentOfMemo(memo)
  if (agent !== undefined) return { kind: 'agent', agent }
  return { kind: isReservedMemo(memo) ? 'reserved' : 'none' }
}

/** Whether a payment with this memo may buy for `agent`: a memo that names another agent, or nobody, may not. */
export function memoAllows(memo: string, agent: Hex): boolean {
  const read = readPaymentMemo(memo)
  return read.kind === 'none' || (read.kind === 'agent' && read.agent === agent)
}
