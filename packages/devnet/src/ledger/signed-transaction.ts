// A transaction decoded from gRPC: who pays the fee, when it is valid, who gives and receives what, and who signed.
// Only its form is judged here.

import { createHash } from 'node:crypto'
import { proto } from '@hiero-ledger/proto'
import type Long from 'long'
import { bytesToHex, type Hex } from 'viem'
import { readSignatures, type Signatures } from './account-key.ts'
import { secondsToNs } from './records.ts'
import { type Kind, TRANSACTION_KINDS } from './transaction-kinds.ts'

/** An account as a transaction names it. */
export type AccountReference = { kind: 'number'; number: number } | { kind: 'alias'; alias: Buffer }

/** One line of the transfer list, as signed. */
export type SignedAmount = { account: AccountReference; amount: bigint; isApproval: boolean }

export type SignedTransfer = {
  kind: 'cryptoTransfer'
  /** Tinybar. */
  amounts: SignedAmount[]
  tokens: { number: number; expectedDecimals: number | undefined; amounts: SignedAmount[] }[]
  hasNfts: boolean
}

type Message<K extends Kind> = { kind: K; message: NonNullable<proto.ITransactionBody[K]> }

/** What a transaction is to do. */
export type Content =
  | SignedTransfer
  | { kind: 'ethereumTransaction'; raw: Hex; gasAllowanceTinybar: bigint }
  | { [K in Exclude<Kind, 'cryptoTransfer' | 'ethereumTransaction'>]: Message<K> }[Exclude<
      Kind,
      'cryptoTransfer' | 'ethereumTransaction'
    >]

export type SignedTransaction = {
  payerNumber: number
  nodeNumber: number | undefined
  validStartNs: bigint
  validDurationSeconds: bigint
  memo: string
  maxFeeTinybar: bigint
  content: Content
  signed: Signatures
  /** SHA-384 of the signed transaction. */
  hash: Buffer
}

/** Largest transaction that a node accepts, bytes: an EthereumTransaction may be larger (jumboTransactions.maxTxnSize). */
const TRANSACTION_BYTES_MAX = 6_144
export const ETHEREUM_BYTES_MAX = 133_120

/** Decodes a request: the transaction, or the response code with which a node refuses the bytes. */
export function decodeSignedTransaction(
  request: Buffer,
  bytesMax = TRANSACTION_BYTES_MAX,
): SignedTransaction | Status {
  if (request.length > bytesMax) return 'TRANSACTION_OVERSIZE'
  try {
    const outer = proto.Transaction.decode(request)
    const signedBytes = outer.signedTransactionBytes ?? new Uint8Array()
    if (signedBytes.length === 0) return 'INVALID_TRANSACTION'
    const signed = proto.SignedTransaction.decode(signedBytes)
    if (proto.SignedTransaction.encode(signed).finish().length !== signedBytes.length) {
      return 'TRANSACTION_HAS_UNKNOWN_FIELDS'
    }
    const bodyBytes = signed.bodyBytes ?? new Uint8Array()
    if (bodyBytes.length === 0) return 'INVALID_TRANSACTION_BODY'
    const body = proto.TransactionBody.decode(bodyBytes)
    // The decoder drops unknown fields, so the re-encoded form is shorter.
    if (proto.TransactionBody.encode(body).finish().length !== bodyBytes.length) {
      return 'TRANSACTION_HAS_UNKNOWN_FIELDS'
    }
    return decodeBody({
      body,
      signed: readSignatures(signed.sigMap, bodyBytes),
      hash: createHash('sha384').update(signedBytes).digest(),
    })
  } catch {
    return 'INVALID_TRANSACTION'
  }
}

function decodeBody(parts: {
  body: proto.ITransactionBody
  signed: Signatures
  hash: Buffer
}): SignedTransaction | Status {
  const { body, signed, hash } = parts
  const id = body.transactionID
  const payer = readAccount(id?.accountID)
  if (id?.transactionValidStart == null || payer?.kind !== 'number' || payer.number === 0) {
    return 'INVALID_TRANSACTION_ID'
  }
  // Only the network sets these two.
  if (id.scheduled === true || (id.nonce ?? 0) !== 0) {
    return 'TRANSACTION_ID_FIELD_NOT_ALLOWED'
  }
  const content = readContent(body)
  if (typeof content === 'string') return content
  const node = readAccount(body.nodeAccountID)
  const start = id.transactionValidStart
  return {
    payerNumber: payer.number,
    nodeNumber: node?.kind === 'number' ? node.number : undefined,
    validStartNs: secondsToNs(toBigInt(start.seconds)) + BigInt(start.nanos ?? 0),
    validDurationSeconds: toBigInt(body.transactionValidDuration?.seconds),
    memo: body.memo ?? '',
    maxFeeTinybar: toBigInt(body.transactionFee),
    content,
    signed,
    hash,
  }
}

const KINDS = Object.keys(TRANSACTION_KINDS) as Kind[]

/** What a body asks for. A schedule's body has the same fields. */
export function readContent(
  body: proto.ITransactionBody | proto.ISchedulableTransactionBody,
): Content | Status {
  const { cryptoTransfer, ethereumTransaction }: proto.ITransactionBody = body
  if (cryptoTransfer != null) return readTransfer(cryptoTransfer)
  if (ethereumTransaction != null) {
    // Call data in a file is for transactions that are too large for one message, which this node takes as they are.
    if (ethereumTransaction.callData != null) return 'NOT_SUPPORTED'
    const raw = bytesToHex(ethereumTransaction.ethereumData ?? new Uint8Array())
    const gasAllowanceTinybar = toBigInt(ethereumTransaction.maxGasAllowance)
    return { kind: 'ethereumTransaction', raw, gasAllowanceTinybar }
  }
  const fields: proto.ITransactionBody = body
  const kind = KINDS.find((field) => fields[field] != null)
  return kind === undefined
    ? 'INVALID_TRANSACTION_BODY'
    : ({ kind, message: fields[kind] } as Content)
}

function readTransfer(message: proto.ICryptoTransferTransactionBody): SignedTransfer | Status {
  const amounts = readAmounts(message.transfers?.accountAmounts)
  if (amounts === undefined) return 'INVALID_ACCOUNT_ID'
  const tokens: SignedTransfer['tokens'] = []
  for (const list of message.tokenTransfers ?? []) {
    const lines = readAmounts(list.transfers)
    if (lines === undefined) return 'INVALID_ACCOUNT_ID'
    const number = Number(toBigInt(list.token?.tokenNum))
    const expectedDecimals = list.expectedDecimals?.value ?? undefined
    tokens.push({ number, expectedDecimals, amounts: lines })
  }
  const hasNfts = message.tokenTransfers?.some((list) => (list.nftTransfers ?? []).length > 0)
  return { kind: 'cryptoTransfer', amounts, tokens, hasNfts: hasNfts === true }
}

function readAmounts(lines: proto.IAccountAmount[] | null | undefined): SignedAmount[] | undefined {
  const amounts = (lines ?? []).map(readAmount)
  return amounts.every((amount) => amount !== undefined) ? amounts : undefined
}

function readAmount(line: proto.IAccountAmount): SignedAmount | undefined {
  const account = readAccount(line.accountID)
  if (account === undefined) return undefined
  return {
    account,
    amount: toBigInt(line.amount),
    isApproval: line.isApproval === true,
  }
}

/** The account that a message names, undefined if it names none in this shard and realm. */
export function readAccount(
  account: proto.IAccountID | null | undefined,
): AccountReference | undefined {
  if (account == null) return undefined
  if (toBigInt(account.shardNum) !== 0n || toBigInt(account.realmNum) !== 0n) return undefined
  if (account.alias != null && account.alias.length > 0) {
    return { kind: 'alias', alias: Buffer.from(account.alias) }
  }
  return { kind: 'number', number: Number(toBigInt(account.accountNum)) }
}

export function toBigInt(value: Long | number | null | undefined): bigint {
  return value == null ? 0n : BigInt(value.toString())
}

/** Name of a Hedera response code, e.g. `INVALID_SIGNATURE`. */
export type Status = keyof typeof proto.ResponseCodeEnum

export function statusNumber(status: Status): number {
  return proto.ResponseCodeEnum[status]
}

export const statusNamed = (code: number): Status =>
  (proto.ResponseCodeEnum[code] ?? 'UNKNOWN') as Status

/** Whether a text is the name of a response code. */
export function isStatus(text: string): text is Status {
  return Object.hasOwn(proto.ResponseCodeEnum, text) && Number.isNaN(Number(text))
}
