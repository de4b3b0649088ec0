import { writeEntityId } from './account-id.ts'
import { HBAR_ASSET } from './hbar.ts'
import { joinBytes, readMessage, toZigzag, writeBytesField, writeVarintField } from './protobuf.ts'
import type { TransactionId } from './transaction-id.ts'

/** A transfer from one account to another; the transaction id's account pays the fee. */
export type TransferDraft = {
  readonly transactionId: TransactionId
  readonly payer: string
  readonly payTo: string
  /** `0.0.0` for HBAR, otherwise a token's id. */
  readonly asset: string
  /** Base units: tinybar for HBAR. */
  readonly amount: bigint
  /** Most that the fee payer may be charged. */
  readonly feeMaxTinybar: bigint
  readonly validDurationSeconds: number
  /** At most 100 bytes of UTF-8. */
  readonly memo: string
}

/** The body for one node, and the payer's signature over it. */
type SignedEntry = {
  readonly bodyBytes: Uint8Array
  readonly kind: 'ed25519' | 'ecdsa'
  /** Raw public key: 32 bytes, or 33 compressed. */
  readonly publicKey: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
}

/** The bytes of a transfer's TransactionBody for one node: what a payer signs. Throws RangeError for a bad account id. */
export function writeTransferBody(draft: TransferDraft, nodeAccountId: string): Uint8Array {
  const { transactionId } = draft
  return joinBytes([
    writeBytesField(1, writeTransactionId(transactionId)),
    writeBytesField(2, writeEntityId(nodeAccountId)),
    writeVarintField(3, draft.feeMaxTinybar),
    writeBytesField(4, writeVarintField(1, BigInt(draft.validDurationSeconds))),
    draft.memo === '' ? new Uint8Array() : writeBytesField(6, new TextEncoder().encode(draft.memo)),
    writeBytesField(14, writeList(draft)),
  ])
}

/** A TransactionList as SDKs read it: each node's body with its signature. */
export function writeTransactionList(entries: readonly SignedEntry[]): Uint8Array {
  return joinBytes(
    entries.map((entry) => {
      const map = writeBytesField(1, writePair(entry))
      const signed = joinBytes([writeBytesField(1, entry.bodyBytes), writeBytesField(2, map)])
      return writeBytesField(1, writeBytesField(5, signed))
    }),
  )
}

/** Cuts a TransactionList into one list per node, byte for byte. Throws MalformedProtobuf for bytes that are not a list. */
export function splitTransactionList(bytes: Uint8Array): readonly Uint8Array[] {
  const entries = readMessage(bytes, { 1: 'repeated' }).repeated(1)
  return entries.map((entry) => writeBytesField(1, entry))
}

function writeTransactionId(id: TransactionId): Uint8Array {
  const start = joinBytes([
    writeVarintField(1, id.validStartSeconds),
    writeVarintField(2, BigInt(id.validStartNanos)),
  ])
  return joinBytes([writeBytesField(1, start), writeBytesField(2, writeEntityId(id.accountId))])
}

/** The transfer's list of HBAR, or its one list of a token. */
function writeList({ amount, asset, payer, payTo }: TransferDraft): Uint8Array {
  const lines = [writeLine(payer, -amount), writeLine(payTo, amount)]
  const listed = (field: number) => lines.map((line) => writeBytesField(field, line))
  if (asset === HBAR_ASSET) return writeBytesField(1, joinBytes(listed(1)))
  const token = writeBytesField(1, writeEntityId(asset))
  return writeBytesField(2, joinBytes([token, ...listed(2)]))
}

function writeLine(accountId: string, amount: bigint): Uint8Array {
  const account = writeBytesField(1, writeEntityId(accountId))
  return joinBytes([account, writeVarintField(2, toZigzag(amount))])
}

function writePair({ kind, publicKey, signature }: SignedEntry): Uint8Array {
  return joinBytes([
    writeBytesField(1, publicKey),
    writeBytesField(kind === 'ed25519' ? 3 : 6, signature),
  ])
}
