/**
 * Adds the fee payer's signature to one body of a payment and submits it once. It never creates a transaction id, and
 * never reports as refused what a node may have received.
 */
import {
  type Client,
  type PrivateKey,
  StatusError,
  Transaction,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { splitTransactionList } from '@tallystick/x402/hedera'
import { type ConsensusProblem, ConsensusUnavailable, type SettlementEnd } from '../settlement.ts'
import type { NodeProbe } from './node-probe.ts'

/** A payment was one of these: submitted, refused before consensus, or a duplicate of a known id. */
export type Submission =
  /** A node took it or, if there is a `cause`, may have. `hash` is the SHA-384 of the signed bytes, hex. */
  { readonly hash: string; readonly cause?: unknown } | SettlementEnd | 'duplicate'

/** Where a payment is submitted, and by whom. */
type Network = {
  readonly client: Client
  readonly feePayerKey: PrivateKey
  readonly probe: NodeProbe
  /** Longest that one call may take. */
  readonly callMs: number
}

type Body = { readonly address: string; readonly transaction: TransferTransaction }

/** The bodies of a payment addressed to nodes we know. */
function knownBodies(client: Client, transactionList: Uint8Array): readonly Body[] {
  const addresses = new Map(
    Object.entries(client.network).map(([address, id]) => [id.toString(), address]),
  )
  return splitTransactionList(transactionList).flatMap((bytes) => {
    const transaction = Transaction.fromBytes(bytes)
    const node = transaction.nodeAccountIds?.[0]?.toString() ?? ''
    const address = addresses.get(node)
    return address === undefined || !(transaction instanceof TransferTransaction)
      ? []
      : [{ address, transaction }]
  })
}

const refused = (reason: string, message: string): SettlementEnd => ({
  outcome: 'refused',
  reason,
  message,
})

/** Signs one body and hands it to its node; undefined if the node was too busy to take it. */
async function submitBody(body: Body, to: Network): Promise<Submission | undefined> {
  const { callMs, client, feePayerKey, probe } = to
  const signed = await body.transaction.sign(feePayerKey)
  // A client may have put a false signature under our key, and signing does not replace it.
  if (!feePayerKey.publicKey.verifyTransaction(signed))
    return refused('invalid_exact_hedera_payload_signature_invalid', 'INVALID_SIGNATURE')
  const hash = Buffer.from(await signed.getTransactionHash()).toString('hex')
  const once = signed.setMaxAttempts(1)
  try {
    await once.execute(client, callMs)
  } catch (error) {
    const status = precheckStatus(error)
    if (status === undefined) {
      probe.doubted(body.address)
      return { hash, cause: error }
    }
    probe.proven(body.address)
    const judged = judgePrecheck(status)
    switch (judged.kind) {
      case 'busy':
        return undefined
      case 'duplicate':
        return 'duplicate'
      case 'ours':
        throw new ConsensusUnavailable(judged.problem, { cause: error })
      case 'refused':
        return refused(judged.reason, status)
    }
  }
  probe.proven(body.address)
  return { hash }
}

/** The node's precheck code if it answered; undefined if it may have taken the transaction. */
function precheckStatus(error: unknown): string | undefined {
  if (error instanceof StatusError) return error.status.toString()
  // With one attempt, the SDK puts a busy node's answer into its own error text. The text is cut short if the SDK skipped
  // a node that had failed before, in which case nothing was sent.
  const text = error instanceof Error ? error.message : ''
  if (text.endsWith('last error being: ')) return 'BUSY'
  return [...BUSY_STATUSES].find((status) => text.endsWith(`last error being: ${status}`))
}

/**
 * Hands a payment to the first of its nodes that is reachable: one body, once. After a busy node the next one is tried;
 * after a node that may have taken the body, none is. Throws ConsensusUnavailable, and only if nothing was submitted.
 */
export async function submitPayment(transactionList: Uint8Array, to: Network): Promise<Submission> {
  const bodies = knownBodies(to.client, transactionList)
  if (bodies.length === 0)
    return refused('invalid_exact_hedera_payload_preflight_failed', 'INVALID_NODE_ACCOUNT')
  for (const body of bodies) {
    if (!(await to.probe.isReachable(body.address))) continue
    const submission = await submitBody(body, to)
    if (submission !== undefined) return submission
  }
  throw new ConsensusUnavailable('consensus_unavailable')
}

/** Judges a consensus node's precheck code for a payment whose payer signature is already verified. */
type PrecheckMeaning =
  /** This node did not take it; another may. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'duplicate' }
  /** Not the payment's fault. */
  | { readonly kind: 'ours'; readonly problem: ConsensusProblem }
  | { readonly kind: 'refused'; readonly reason: string }

/** Codes from a node that did not take the transaction and says nothing about it. */
const BUSY_STATUSES: ReadonlySet<string> = new Set([
  'BUSY',
  'PLATFORM_NOT_ACTIVE',
  'PLATFORM_TRANSACTION_NOT_CREATED',
  'INVALID_NODE_ACCOUNT',
])

/** Precheck looks only at the fee payer's account, balance and signature. */
const OURS: Readonly<Record<string, ConsensusProblem>> = {
  INSUFFICIENT_PAYER_BALANCE: 'fee_payer_balance_too_low',
  INVALID_SIGNATURE: 'fee_payer_unusable',
  INVALID_PAYER_SIGNATURE: 'fee_payer_unusable',
  PAYER_ACCOUNT_NOT_FOUND: 'fee_payer_unusable',
  PAYER_ACCOUNT_DELETED: 'fee_payer_unusable',
  PAYER_ACCOUNT_UNAUTHORIZED: 'fee_payer_unusable',
}

const REASONS: Readonly<Record<string, string>> = {
  TRANSACTION_EXPIRED: 'transaction_expired',
  INVALID_TRANSACTION_START: 'invalid_exact_hedera_payload_not_yet_valid',
  INVALID_TRANSACTION_DURATION: 'invalid_exact_hedera_payload_validity',
  KEY_PREFIX_MISMATCH: 'invalid_exact_hedera_payload_signature_invalid',
  INSUFFICIENT_ACCOUNT_BALANCE: 'insufficient_funds',
}

/** Maps a precheck code. A code without a name of its own becomes `preflight_failed`: the node refused it, nothing moved. */
export function judgePrecheck(status: string): PrecheckMeaning {
  if (BUSY_STATUSES.has(status)) return { kind: 'busy' }
  if (status === 'DUPLICATE_TRANSACTION') return { kind: 'duplicate' }
  const problem = OURS[status]
  if (problem !== undefined) return { kind: 'ours', problem }
  const reason = REASONS[status] ?? 'invalid_exact_hedera_payload_preflight_failed'
  return { kind: 'refused', reason }
}
