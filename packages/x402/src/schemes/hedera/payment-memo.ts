import { canonicalTransactionId, parseTransactionId } from './transaction-id.ts'

const AGENT_MEMO = /^x402:(0x[a-fA-F0-9]{40})$/
const REFUND_PREFIX = 'refund:'

/** The memo that ties a payment to an agent (X10). `agent` is a `0x` address; the memo carries it in lower case. */
export function agentMemo(agent: string): string {
  return `x402:${agent.toLowerCase()}`
}

/** The agent, in lower case, that a payment's signed memo names, or undefined where it names none (X10). */
export function agentOfMemo(memo: string): `0x${string}` | undefined {
  return AGENT_MEMO.exec(memo)?.[1]?.toLowerCase() as `0x${string}` | undefined
}

/** The memo of a refund's transfer (A15). `transactionId` is that of the refunded credit, in either spelling. */
export function refundMemo(transactionId: string): string {
  const id = parseTransactionId(transactionId)
  if (id === undefined) throw new RangeError(`not a transaction id: ${transactionId.slice(0, 64)}`)
  return `${REFUND_PREFIX}${canonicalTransactionId(id)}`
}

/** The canonical id of the transaction that a transfer with this memo refunds, or undefined (A15). */
export function refundOfMemo(memo: string): string | undefined {
  if (!memo.startsWith(REFUND_PREFIX)) return undefined
  const id = parseTransactionId(memo.slice(REFUND_PREFIX.length))
  return id === undefined ? undefined : canonicalTransactionId(id)
}
