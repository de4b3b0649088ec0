/** A payment's name on the ledger: its transaction id, in each spelling. Pages load this file, too. */
import { isAccountId } from './account-id.ts'

/** The parts of a transaction id. `accountId` pays the fee; the times are the start of validity. */
export type TransactionId = {
  readonly accountId: string
  readonly validStartSeconds: bigint
  readonly validStartNanos: number
  /** Which child of that transaction it is, from 1 on; absent for the transaction itself. */
  readonly childNumber?: number
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

/**
 * The spelling in a mirror node's paths.
 *
 * @example `0.0.5@1700000000.000000001` is `0.0.5-1700000000-000000001`
 */
export function mirrorTransactionId(id: TransactionId): string {
  return `${id.accountId}-${id.validStartSeconds}-${String(id.validStartNanos).padStart(9, '0')}`
}

/** The canonical text of an id in either spelling. Throws RangeError for anything else. */
export function canonicalText(transactionId: string): string {
  const id = parseTransactionId(transactionId)
  if (id === undefined) throw new RangeError(`not a transaction id: ${transactionId.slice(0, 64)}`)
  return canonicalTransactionId(id)
}
