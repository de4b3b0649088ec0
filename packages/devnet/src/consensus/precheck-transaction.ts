// What a node checks before it submits a transaction, in the order used by consensus nodes: node, memo, validity,
// duplicates, amounts, payer, signature, fee, balance.

import type { Hex } from 'viem'
import { completingKey, isSignedBy, type SignedBytes } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { NODE_ACCOUNT_NUMBERS, tinycentsToTinybar } from '../ledger/network.ts'
import { parseRawTransaction } from '../ledger/parse-raw-transaction.ts'
import { secondsToNs } from '../ledger/records.ts'
import type { SignedTransaction, SignedTransfer, Status } from './signed-transaction.ts'

/** Longest memo, UTF-8 bytes. */
const MEMO_BYTES_MAX = 100

/** Validity that a transaction may request, seconds (transaction.minValidDuration and maxValidDuration). */
const VALID_SECONDS_MIN = 15n
const VALID_SECONDS_MAX = 180n

/** Remaining validity that a node requires, so that consensus still falls within it, seconds (minValidityBufferSecs). */
const VALID_SECONDS_LEFT = 10n

/** What a plain HBAR transfer costs: $0.0001 = 0.01 cent = 1,000,000 tinycents. */
const TRANSFER_FEE_TINYCENTS = 1_000_000n

/** Lines that one transfer list may have (ledger.transfers.maxLen). */
const AMOUNTS_MAX = 10

/** Fee of a native transaction at the current rate, tinybar. The sender inside an Ethereum transaction pays for its gas. */
export function feeTinybar(ledger: Ledger): bigint {
  return tinycentsToTinybar(TRANSFER_FEE_TINYCENTS, ledger.settings.exchangeRate)
}

/** `OK`, or the response code with which the node refuses the transaction. `wallNs` is the wall time. */
export async function precheckTransaction(
  ledger: Ledger,
  check: { transaction: SignedTransaction; wallNs: bigint; isKnown: boolean },
): Promise<Status> {
  const { transaction, wallNs } = check
  if (!NODE_ACCOUNT_NUMBERS.includes(transaction.nodeNumber ?? 0)) return 'INVALID_NODE_ACCOUNT'
  const memo = Buffer.from(transaction.memo, 'utf8')
  if (memo.length > MEMO_BYTES_MAX) return 'MEMO_TOO_LONG'
  if (memo.includes(0)) return 'INVALID_ZERO_BYTE_IN_STRING'
  const time = judgeTime(transaction, { wallNs, secondsLeft: secondsWanted(transaction) })
  if (time !== 'OK') return time
  if (check.isKnown) return 'DUPLICATE_TRANSACTION'
  const { content } = transaction
  const form = content.kind === 'transfer' ? precheckAmounts(content) : precheckRaw(content.raw)
  if (form !== 'OK') return form
  return precheckPayer(ledger, transaction)
}

/** `OK`, or the response code of a transaction that is not valid at `wallNs` with `secondsLeft` to go. */
export function judgeTime(
  transaction: SignedTransaction,
  at: { wallNs: bigint; secondsLeft: bigint },
): Status {
  const { validStartNs, validDurationSeconds } = transaction
  if (validDurationSeconds < VALID_SECONDS_MIN || validDurationSeconds > VALID_SECONDS_MAX) {
    return 'INVALID_TRANSACTION_DURATION'
  }
  if (validStartNs > at.wallNs) return 'INVALID_TRANSACTION_START'
  const endNs = validStartNs + secondsToNs(validDurationSeconds - at.secondsLeft)
  return endNs <= at.wallNs ? 'TRANSACTION_EXPIRED' : 'OK'
}

/** The remaining validity that a node requires, in seconds: none for a short one. */
function secondsWanted({ validDurationSeconds }: SignedTransaction): bigint {
  return validDurationSeconds - VALID_SECONDS_LEFT > VALID_SECONDS_MIN ? VALID_SECONDS_LEFT : 0n
}

function precheckAmounts(transfer: SignedTransfer): Status {
  if (transfer.hasTokenTransfers) return 'NOT_SUPPORTED'
  if (transfer.amounts.length > AMOUNTS_MAX) return 'TRANSFER_LIST_SIZE_LIMIT_EXCEEDED'
  const sum = transfer.amounts.reduce((total, { amountTinybar }) => total + amountTinybar, 0n)
  if (sum !== 0n) return 'INVALID_ACCOUNT_AMOUNTS'
  const names = transfer.amounts.map(({ account, isApproval }) =>
    account.kind === 'number'
      ? `${account.number}/${isApproval}`
      : `${account.alias.toString('hex')}/${isApproval}`,
  )
  return new Set(names).size === names.length ? 'OK' : 'ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS'
}

function precheckRaw(raw: Hex): Status {
  try {
    parseRawTransaction(raw)
    return 'OK'
  } catch {
    return 'INVALID_ETHEREUM_TRANSACTION'
  }
}

async function precheckPayer(ledger: Ledger, transaction: SignedTransaction): Promise<Status> {
  const payer = ledger.accounts.byNumber(transaction.payerNumber)
  if (payer === undefined || payer.kind !== 'account') return 'PAYER_ACCOUNT_NOT_FOUND'
  if (!hasSigned(payer, transaction.signed)) return 'INVALID_SIGNATURE'
  const fee = feeTinybar(ledger)
  if (transaction.maxFeeTinybar < fee) return 'INSUFFICIENT_TX_FEE'
  const [balance = 0n] = await ledger.evm.balances([payer.address])
  return balance < fee ? 'INSUFFICIENT_PAYER_BALANCE' : 'OK'
}

/** Whether the account's key has signed; a hollow account's key is the one that its address was derived from. */
export function hasSigned(entity: Entity, signed: SignedBytes): boolean {
  if (entity.kind === 'contract') return false
  return entity.key === null
    ? completingKey(entity.address, signed) !== undefined
    : isSignedBy(entity.key, signed)
}
