import { hash } from 'node:crypto'
import { isAccountId } from './account-id.ts'

/** A transaction id's parts. `accountId` pays the fee; the times are the start of validity. */
export type TransactionId = {
  readonly accountId: string
  readonly validStartSeconds: bigint
  readonly validStartNanos: number
}

/** How a purchase is named on the contract: the canonical text and its hash (A2). */
export type PaymentReference = {
  /** `0.0.<fee payer>@<seconds>.<nanoseconds, nine digits>`, ASCII. */
  readonly text: string
  /** keccak-256 of `text`, `0x` and 64 lower-case hex digits. */
  readonly hash: `0x${string}`
}

const SDK_FORM = /^([^@-]+)@(\d{1,19})\.(\d{1,9})$/
const MIRROR_FORM = /^([^@-]+)-(\d{1,19})-(\d{1,9})$/

/**
 * Reads a transaction id as SDKs write it (`0.0.5@1700000000.000000001`) or as mirror nodes do
 * (`0.0.5-1700000000-000000001`); undefined for anything else. Nanoseconds with fewer than nine digits are taken as a
 * number of nanoseconds, which is what both forms mean.
 */
export function parseTransactionId(text: string): TransactionId | undefined {
  const match = SDK_FORM.exec(text) ?? MIRROR_FORM.exec(text)
  const [, accountId, seconds, nanos] = match ?? []
  if (accountId === undefined || seconds === undefined || nanos === undefined) return undefined
  if (!isAccountId(accountId)) return undefined
  return { accountId, validStartSeconds: BigInt(seconds), validStartNanos: Number(nanos) }
}

/** The one spelling that reservations, references and answers use: nine digits of nanoseconds. */
export function canonicalTransactionId(id: TransactionId): string {
  return `${id.accountId}@${id.validStartSeconds}.${String(id.validStartNanos).padStart(9, '0')}`
}

/** The spelling in a mirror node's paths. */
export function mirrorTransactionId(id: TransactionId): string {
  return `${id.accountId}-${id.validStartSeconds}-${String(id.validStartNanos).padStart(9, '0')}`
}

/** The payment reference of a transaction id in either spelling (A2). Throws RangeError for anything else. */
export function paymentReference(transactionId: string): PaymentReference {
  const parsed = parseTransactionId(transactionId)
  if (parsed === undefined) {
    throw new RangeError(`not a transaction id: ${transactionId.slice(0, 64)}`)
  }
  const text = canonicalTransactionId(parsed)
  return { text, hash: `0x${hash('keccak-256', text, 'hex')}` }
}
