/** Memos that a payer or the seller signs: whom a payment buys for (X10), and which credit a transfer refunds (A15). */
import { canonicalText, canonicalTransactionId, parseTransactionId } from './transaction-id.ts'

const AGENT_PREFIX = 'x402:'
const REFUND_PREFIX = 'refund:'
const AGENT = /^0x[a-fA-F0-9]{40}$/

/**
 * The memo that ties a payment to an agent (X10), whose address it has in lower case.
 *
 * @example agentMemo('0xABcdef0000000000000000000000000000000001') // 'x402:0xabcdef0000000000000000000000000000000001'
 */
export function agentMemo(agent: string): string {
  return `${AGENT_PREFIX}${agent.toLowerCase()}`
}

/** The agent named by a payment's signed memo, in lower case, or undefined (X10). */
export function agentOfMemo(memo: string): `0x${string}` | undefined {
  const agent = memo.slice(AGENT_PREFIX.length)
  const isAgent = memo.startsWith(AGENT_PREFIX) && AGENT.test(agent)
  return isAgent ? (agent.toLowerCase() as `0x${string}`) : undefined
}

/** The memo of a refund's transfer (A15). `transactionId` is the refunded credit's, in either spelling. */
export function refundMemo(transactionId: string): string {
  return `${REFUND_PREFIX}${canonicalText(transactionId)}`
}

/** The canonical id of the transaction that a transfer with this memo refunds, or undefined (A15). */
export function refundOfMemo(memo: string): string | undefined {
  if (!memo.startsWith(REFUND_PREFIX)) return undefined
  const id = parseTransactionId(memo.slice(REFUND_PREFIX.length))
  return id === undefined ? undefined : canonicalTransactionId(id)
}

/** Whether a memo begins like one of these, whatever follows. */
export const isReservedMemo = (memo: string): boolean =>
  memo.startsWith(AGENT_PREFIX) || memo.startsWith(REFUND_PREFIX)
