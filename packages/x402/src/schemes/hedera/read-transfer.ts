/**
 * Reads a partially signed transfer of HBAR or tokens, as SDKs serialise it for several nodes, into plain values. It judges only
 * the shape: which bodies, fields and limits; verify-hedera-payment.ts judges the payment.
 */
import { type Refusal, type RefusalReason, refused } from '../../facilitators/refusals.ts'
import { isAlias, readAccountName, readTokenId } from './account-id.ts'
import { HBAR_ASSET } from './hbar.ts'
import { fromZigzag, MalformedProtobuf, readMessage, toSigned } from './protobuf.ts'
import type { TransactionId } from './transaction-id.ts'

/** One signature of a signature map. `prefix` is the first bytes of its public key. */
export type SignaturePair = {
  readonly prefix: Uint8Array
  readonly kind: 'ed25519' | 'ecdsa'
  readonly signature: Uint8Array
}

/** The same transfer addressed to one node: the signed bytes, and the signatures. */
export type SignedBody = {
  readonly nodeAccountId: string
  readonly bodyBytes: Uint8Array
  readonly signatures: readonly SignaturePair[]
}

/** One line of a transfer's lists; negative amounts are debits, in base units. */
export type TransferLine = {
  /** `0.0.0` for HBAR, otherwise a token's id. */
  readonly asset: string
  /** A name as in mirror node paths. */
  readonly account: string
  readonly amount: bigint
}

/** A transfer of HBAR or tokens, identical for each of one or more nodes. */
export type HederaTransfer = {
  readonly transactionId: TransactionId
  readonly feeMaxTinybar: bigint
  readonly validDurationSeconds: bigint
  readonly memo: string
  readonly memoBytes: number
  readonly lines: readonly TransferLine[]
  readonly bodies: readonly SignedBody[]
}

/** Bytes of a serialised transaction: ten nodes' bodies with two signatures each fit, and checking them stays cheap. */
const TRANSACTION_BYTES_MAX = 6_144

/** Nodes that one payment may be addressed to; official clients freeze for seven. */
const NODES_MAX = 10

/** Signatures per node: a key with more signers is not worth the time that checking a forgery takes. */
const SIGNATURES_MAX = 20

class Refused extends Error {
  readonly reason: RefusalReason
  constructor(reason: RefusalReason) {
    super(reason)
    this.reason = reason
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a serialised TransactionList. Never throws: any other input is a refusal. */
export function readTransfer(
  bytes: Uint8Array,
): Refusal | { readonly kind: 'transfer'; readonly transfer: HederaTransfer } {
  if (bytes.length > TRANSACTION_BYTES_MAX) {
    return refused('invalid_exact_hedera_payload_transaction_invalid_shape')
  }
  try {
    return { kind: 'transfer', transfer: readList(bytes) }
  } catch (error) {
    if (error instanceof Refused) return refused(error.reason)
    if (error instanceof MalformedProtobuf) {
      return refused('invalid_exact_hedera_payload_transaction_could_not_be_decoded')
    }
    throw error
  }
}

function readList(bytes: Uint8Array): HederaTransfer {
  const entries = readMessage(bytes, { 1: 'repeated' }).repeated(1)
  if (entries.length > NODES_MAX) throw invalidShape()
  const read = entries.map(readEntry)
  const [first] = read
  if (first === undefined) throw new MalformedProtobuf('no transaction')
  const nodes = new Set(read.map((entry) => entry.signed.nodeAccountId))
  if (nodes.size !== read.length) throw invalidShape()
  if (read.some((entry) => !Buffer.from(entry.common).equals(first.common))) throw invalidShape()
  return { ...readCommon(first.body), bodies: read.map((entry) => entry.signed) }
}

type Body = ReturnType<typeof readMessage>

function readEntry(bytes: Uint8Array) {
  const signedBytes = readMessage(bytes, { 5: 'bytes' }).bytes(5)
  const signed = readMessage(required(signedBytes), { 1: 'bytes', 2: 'bytes' })
  const bodyBytes = required(signed.bytes(1))
  const body = readBody(bodyBytes)
  const nodeAccountId = readAccountName(required(body.bytes(2)))
  if (isAlias(nodeAccountId)) throw invalidShape()
  const signatures = readSignatures(signed.bytes(2) ?? new Uint8Array())
  return { signed: { nodeAccountId, bodyBytes, signatures }, body, common: readCommonFields(body) }
}

/** Field numbers of TransactionBody. All but 3 and 5 are bytes. */
const BODY_FIELDS = [
  [1, 29],
  [31, 60],
  [65, 81],
].flatMap(([from = 0, to = 0]) => Array.from({ length: to - from + 1 }, (_, index) => from + index))

const BODY_SHAPE = Object.fromEntries(
  BODY_FIELDS.map((field) => [field, field === 3 || field === 5 ? 'varint' : 'bytes'] as const),
)

/** Those of a transfer: 14 is the transfer itself. */
const TRANSFER_FIELDS: ReadonlySet<number> = new Set([1, 2, 3, 4, 6, 14])

/** Only transfers pass. The other 50 kinds of transaction are known fields, refused by name. */
function readBody(bodyBytes: Uint8Array): Body {
  const body = readMessage(bodyBytes, BODY_SHAPE)
  const others = body.fields().filter((field) => !TRANSFER_FIELDS.has(field))
  // Fields 5 (generate a record) and 73 (a batch's key) are neither a transfer's nor an operation.
  if (others.some((field) => field !== 5 && field !== 73)) {
    throw new Refused('invalid_exact_hedera_payload_contains_non_transfer_ops')
  }
  if (others.length > 0) throw new MalformedProtobuf(`unknown field ${others.join()}`)
  return body
}

/** The body's fields except the node, in one order, so that bodies can be compared. */
function readCommonFields(body: Body): Uint8Array {
  const empty = new Uint8Array()
  const lengthPrefixed = [1, 4, 6, 14].flatMap((field) => {
    const bytes = body.bytes(field) ?? empty
    return [Buffer.from(`${bytes.length}:`), bytes]
  })
  return Buffer.concat([Buffer.from(`${body.varint(3)}:`), ...lengthPrefixed])
}

function readCommon(body: Body): Omit<HederaTransfer, 'bodies'> {
  const memo = body.bytes(6) ?? new Uint8Array()
  const duration = readMessage(required(body.bytes(4)), { 1: 'varint' })
  return {
    transactionId: readTransactionId(required(body.bytes(1))),
    feeMaxTinybar: body.varint(3),
    validDurationSeconds: toSigned(duration.varint(1)),
    memo: decodeText(memo),
    memoBytes: memo.length,
    lines: readLines(body.bytes(14)),
  }
}

function readTransactionId(bytes: Uint8Array): TransactionId {
  const fields = readMessage(bytes, { 1: 'bytes', 2: 'bytes', 3: 'varint', 4: 'varint' })
  if (fields.varint(3) !== 0n || fields.varint(4) !== 0n) throw invalidShape()
  const accountId = readAccountName(required(fields.bytes(2)))
  if (isAlias(accountId)) {
    throw new Refused('invalid_exact_hedera_payload_fee_payer_mismatch')
  }
  const start = readMessage(required(fields.bytes(1)), { 1: 'varint', 2: 'varint' })
  const validStartSeconds = toSigned(start.varint(1))
  const nanos = toSigned(start.varint(2))
  if (validStartSeconds <= 0n || nanos < 0n || nanos > 999_999_999n) throw invalidShape()
  return { accountId, validStartSeconds, validStartNanos: Number(nanos) }
}

function readLines(operation: Uint8Array | undefined): TransferLine[] {
  if (operation === undefined) {
    throw new Refused('invalid_exact_hedera_payload_contains_non_transfer_ops')
  }
  const transfer = readMessage(operation, { 1: 'bytes', 2: 'repeated' })
  const hbar = readMessage(transfer.bytes(1) ?? new Uint8Array(), { 1: 'repeated' })
  const tokens = transfer.repeated(2).map(readTokenList)
  // The network takes each token once.
  if (new Set(tokens.map(({ asset }) => asset)).size !== tokens.length) throw invalidShape()
  return [{ asset: HBAR_ASSET, lines: hbar.repeated(1) }, ...tokens].flatMap(({ asset, lines }) =>
    lines.map((bytes) => ({ asset, ...readLine(bytes) })),
  )
}

/**
 * A token's lines. Refused is what the network would refuse only at consensus, when the fee payer has paid: an empty list, a token
 * called `0.0.0`, and a number of decimals, which no client has to state and only the ledger could judge.
 */
function readTokenList(bytes: Uint8Array) {
  const list = readMessage(bytes, { 1: 'bytes', 2: 'repeated', 3: 'repeated', 4: 'bytes' })
  if (list.repeated(3).length > 0) throw new Refused('invalid_exact_hedera_payload_asset_mismatch')
  const asset = readTokenId(required(list.bytes(1)))
  const lines = list.repeated(2)
  if (asset === HBAR_ASSET || lines.length === 0 || list.has(4)) throw invalidShape()
  return { asset, lines }
}

function readLine(bytes: Uint8Array) {
  const line = readMessage(bytes, { 1: 'bytes', 2: 'varint', 3: 'varint' })
  if (line.varint(3) !== 0n) throw new Refused('invalid_exact_hedera_payload_allowance_transfer')
  return {
    account: readAccountName(required(line.bytes(1))),
    amount: fromZigzag(line.varint(2)),
  }
}

function readSignatures(bytes: Uint8Array): SignaturePair[] {
  const pairs = readMessage(bytes, { 1: 'repeated' }).repeated(1)
  if (pairs.length > SIGNATURES_MAX) throw invalidShape()
  return pairs.map((pair) => {
    const fields = readMessage(pair, { 1: 'bytes', 3: 'bytes', 6: 'bytes' })
    const ed25519 = fields.bytes(3)
    const ecdsa = fields.bytes(6)
    const signature = ed25519 ?? ecdsa
    if (signature === undefined || fields.has(3) === fields.has(6)) throw invalidShape()
    const kind = ed25519 === undefined ? 'ecdsa' : 'ed25519'
    return { prefix: fields.bytes(1) ?? new Uint8Array(), kind, signature }
  })
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new MalformedProtobuf('text is not UTF-8')
  }
}

function required(bytes: Uint8Array | undefined): Uint8Array {
  if (bytes === undefined) throw new MalformedProtobuf('a required field is missing')
  return bytes
}

function invalidShape(): Refused {
  return new Refused('invalid_exact_hedera_payload_transaction_invalid_shape')
}
