// What a node checks before it submits a transaction, in the order used by consensus nodes: node, memo, validity,
// duplicates, amounts, payer, signature, fee, balance.

import type { Hex } from 'viem'
import { completingKey, isSignedBy, type Signatures } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { NODE_ACCOUNT_NUMBERS, tinycentsToTinybar } from '../ledger/network.ts'
import { parseRawTransaction } from '../ledger/parse-raw-transaction.ts'
import { secondsToNs } from '../ledger/records.ts'
import {
  type Content,
  type SignedAmount,
  type SignedTransaction,
  type SignedTransfer,
  type Status,
  toBigInt,
} from '../ledger/signed-transaction.ts'
import {
  FEE_TOKEN_TINYCENTS,
  FEE_TRANSFER_TINYCENTS,
  TOKEN_TRANSFER_TINYCENTS,
  TRANSACTION_KINDS,
} from '../ledger/transaction-kinds.ts'

const [, , ASSOCIATION_TINYCENTS] = TRANSACTION_KINDS.tokenAssociate

/** Longest memo, UTF-8 bytes. */
const MEMO_BYTES_MAX = 100

/** Validity that a transaction may request, seconds (transaction.minValidDuration and maxValidDuration). */
const VALID_SECONDS_MIN = 15n
const VALID_SECONDS_MAX = 180n

/** Remaining validity that a node requires, so that consensus still falls within it, seconds (minValidityBufferSecs). */
const VALID_SECONDS_LEFT = 10n

/** Lines that one transfer list may have (ledger.transfers.maxLen). */
const AMOUNTS_MAX = 10

/** Fee of a native transaction at the current rate, tinybar. */
export function feeTinybar(ledger: Ledger, content: Content): bigint {
  return tinycentsToTinybar(BigInt(tinycentsFor(ledger, content)), ledger.settings.exchangeRate)
}

/** What the payer of a transfer is charged besides, whatever it offered: each association that the transfer makes. */
export function associationsTinybar(ledger: Ledger, count: number): bigint {
  const tinycents = BigInt(count * ASSOCIATION_TINYCENTS)
  return tinycentsToTinybar(tinycents, ledger.settings.exchangeRate)
}

function tinycentsFor(ledger: Ledger, content: Content): number {
  const { kind } = content
  if (kind === 'cryptoTransfer' && content.tokens.length > 0) {
    const hasFees = content.tokens.some(({ number }) => ledger.tokens.byNumber(number)?.fees.length)
    return hasFees ? FEE_TRANSFER_TINYCENTS : TOKEN_TRANSFER_TINYCENTS
  }
  if (kind === 'tokenCreation' && content.message.customFees?.length) return FEE_TOKEN_TINYCENTS
  if (kind === 'tokenAssociate') {
    return ASSOCIATION_TINYCENTS * Math.max(1, content.message.tokens?.length ?? 0)
  }
  const [, , tinycents] = TRANSACTION_KINDS[kind]
  return tinycents
}

/** The most that the gas of a contract transaction can cost. */
function gasTinybar(ledger: Ledger, content: Content): bigint {
  const hasGas = content.kind === 'contractCall' || content.kind === 'contractCreateInstance'
  return hasGas ? toBigInt(content.message.gas) * ledger.settings.gasPriceTinybar : 0n
}

export const isMemoTooLong = (memo: string): boolean => Buffer.byteLength(memo) > MEMO_BYTES_MAX

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
  const form = precheckContent(content)
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
  const { amounts, tokens } = transfer
  if (transfer.hasNfts) return 'NOT_SUPPORTED'
  if (amounts.length > AMOUNTS_MAX) return 'TRANSFER_LIST_SIZE_LIMIT_EXCEEDED'
  if (addAmounts(amounts) !== 0n) return 'INVALID_ACCOUNT_AMOUNTS'
  const numbers = new Set(tokens.map(({ number }) => number))
  if (numbers.size < tokens.length) return 'TOKEN_ID_REPEATED_IN_TOKEN_LIST'
  const lines = tokens.flatMap((token) => token.amounts)
  if (lines.length > AMOUNTS_MAX) return 'TOKEN_TRANSFER_LIST_SIZE_LIMIT_EXCEEDED'
  for (const token of tokens) {
    if (token.amounts.length === 0) return 'EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS'
    if (addAmounts(token.amounts) !== 0n) return 'TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN'
    if (isRepeated(token.amounts)) return 'ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS'
  }
  return isRepeated(amounts) ? 'ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS' : 'OK'
}

const addAmounts = (amounts: readonly SignedAmount[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n)

function isRepeated(amounts: readonly SignedAmount[]): boolean {
  const names = amounts.map(({ account, isApproval }) =>
    account.kind === 'number'
      ? `${account.number}/${isApproval}`
      : `${account.alias.toString('hex')}/${isApproval}`,
  )
  return new Set(names).size < names.length
}

/** `OK`, or what is wrong with the form of what a transaction asks for. */
export function precheckContent(content: Content): Status {
  if (content.kind === 'cryptoTransfer') return precheckAmounts(content)
  return content.kind === 'ethereumTransaction' ? precheckRaw(content.raw) : 'OK'
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
  if (payer.isDeleted) return 'PAYER_ACCOUNT_DELETED'
  if (!hasSigned(payer, transaction.signed)) return 'INVALID_SIGNATURE'
  const fee = feeTinybar(ledger, transaction.content) + gasTinybar(ledger, transaction.content)
  if (transaction.maxFeeTinybar < fee) return 'INSUFFICIENT_TX_FEE'
  const [balance = 0n] = await ledger.evm.balances([payer.address])
  return balance < fee ? 'INSUFFICIENT_PAYER_BALANCE' : 'OK'
}

/** Whether the account's key has signed; a hollow account's key is the one that its address was derived from. */
export function hasSigned(entity: Entity, signed: Signatures): boolean {
  if (entity.kind === 'contract') return false
  return entity.key === null
    ? completingKey(entity.address, signed) !== undefined || signed.used !== undefined
    : isSignedBy(entity.key, signed)
}
