/** A payment's names: its transaction id, its reference on the contract, and the memos of payments and refunds. */
import { keccak } from '../../secp256k1.ts'
import { isAccountId } from './account-id.ts'

/** The parts of a transaction id. `accountId` pays the fee; the times are the start of validity. */
export type TransactionId = {
  readonly accountId: string
  readonly validStartSeconds: bigint
  readonly validStartNanos: number
  /** Which child of that transaction it is, from 1 on; absent for the transaction itself. */
  readonly childNumber?: number
}

/** A purchase's name on the contract: the canonical text and its hash (A2). */
export type PaymentReference = {
  /** `0.0.<fee payer>@<seconds>.<nanoseconds, nine digits>`, ASCII; a child transaction's ends in `/<its number>`. */
  readonly text: string
  /** keccak-256 of `text`, `0x` and 64 lower-case hex digits. */
  readonly hash: `0x${string}`
}

const SDK_FORM = /^([^@-]+)@(\d{1,19})\.(\d{1,9})(?:\/([1-9]\d{0,8}))?$/
const MIRROR_FORM = /^([^@-]+)-(\d{1,19})-(\d{1,9})$/

/**
 * Reads a transaction id as SDKs write it (`0.0.5@1700000000.000000001`, or a child's with `/1`) or as mirror nodes do
 * (`0.0.5-1700000000-000000001`); undefined for anything else. Fewer than nine digits of nanoseconds are a plain number, not
 * a fraction.
 */
export function parseTransactionId(text: string): TransactionId | undefined {
  const match = SDK_FORM.exec(text) ?? MIRROR_FORM.exec(text)
  const [, accountId, seconds, nanos, child] = match ?? []
  if (accountId === undefined || seconds === undefined || nanos === undefined) return undefined
  if (!isAccountId(accountId)) return undefined
  return {
    accountId,
    validStartSeconds: BigInt(seconds),
    validStartNanos: Number(nanos),
    ...(child !== undefined && { childNumber: Number(child) }),
  }
}

/** The one spelling that reservations, references and answers use, with nine digits of nanoseconds. */
export function canonicalTransactionId(id: TransactionId): string {
  const { accountId, childNumber, validStartNanos, validStartSeconds } = id
  const child = childNumber === undefined ? '' : `/${childNumber}`
  return `${accountId}@${validStartSeconds}.${String(validStartNanos).padStart(9, '0')}${child}`
}

/** The spelling in a mirror node's paths. */
export function mirrorTransactionId(id: TransactionId): string {
  return `${id.accountId}-${id.validStartSeconds}-${String(id.validStartNanos).padStart(9, '0')}`
}

/** The payment reference of a transaction id in either spelling (A2). Throws RangeError for anything else. */
export function paymentReference(transactionId: string): PaymentReference {
  const text = canonicalTextOf(transactionId)
  return { text, hash: `0x${keccak(Buffer.from(text)).toString('hex')}` }
}

/** The canonical text of an id in either spelling. Throws RangeError for anything else. */
export function canonicalTextOf(transactionId: string): string {
  const id = parseTransactionId(transactionId)
  if (id === undefined) throw new RangeError(`not a transaction id: ${transactionId.slice(0, 64)}`)
  return canonicalTransactionId(id)
}
