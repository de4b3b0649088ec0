// What the creation, the growth and the deletion of a file change: a contract's code is larger than one message.

import type { proto } from '@hiero-ledger/proto'
import { fromProtoKeys, isSignedBy } from '../ledger/account-key.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Status, toBigInt } from '../ledger/signed-transaction.ts'
import type { Plan, PlanRequest } from './plan.ts'
import { isMemoTooLong } from './precheck-transaction.ts'

/** Largest file, bytes (files.maxSizeKb). */
const FILE_BYTES_MAX = 1_048_576

/** The plan of a FileCreate, or why consensus refuses it. */
export function planFileCreate(
  ledger: Ledger,
  message: proto.IFileCreateTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const keys = (message.keys?.keys ?? []).map(fromProtoKeys)
  if (!keys.every((key) => key !== undefined)) return 'BAD_ENCODING'
  if (!keys.every((key) => isSignedBy(key, transaction.signed))) return 'INVALID_SIGNATURE'
  if (isMemoTooLong(message.memo ?? '')) return 'MEMO_TOO_LONG'
  return {
    moves: [],
    apply() {
      const fileID = ledger.accounts.takeNumber()
      const contents = Buffer.from(message.contents ?? [])
      ledger.files.byNumber.set(fileID, { contents, keys, memo: message.memo ?? '' })
      return { moves: [], created: { fileID } }
    },
  }
}

/** The plan of a FileAppend, or of a FileDelete where nothing is to be appended; or why consensus refuses it. */
export function planFileChange(
  ledger: Ledger,
  message: proto.IFileAppendTransactionBody | proto.IFileDeleteTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const number = Number(toBigInt(message.fileID?.fileNum))
  const file = ledger.files.byNumber.get(number)
  if (file === undefined) return 'INVALID_FILE_ID'
  if (file.contents === undefined) return 'FILE_DELETED'
  // A file without keys can never change.
  if (file.keys.length === 0) return 'UNAUTHORIZED'
  if (!file.keys.every((key) => isSignedBy(key, transaction.signed))) return 'INVALID_SIGNATURE'
  const contents =
    'contents' in message
      ? Buffer.concat([file.contents, message.contents ?? Buffer.alloc(0)])
      : undefined
  if ((contents?.length ?? 0) > FILE_BYTES_MAX) return 'MAX_FILE_SIZE_EXCEEDED'
  return {
    moves: [],
    apply() {
      file.contents = contents
      return { moves: [], entityId: entityId(number) }
    },
  }
}
