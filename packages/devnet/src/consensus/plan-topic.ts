// What the creation of a topic, and a message to it, change.

import { hash } from 'node:crypto'
import type { proto } from '@hiero-ledger/proto'
import { type AccountKey, fromProtoKeys, isSignedBy } from '../ledger/account-key.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { nsToSeconds, secondsToNs, type TransactionId } from '../ledger/records.ts'
import type { Plan, PlanRequest } from './handle-transaction.ts'
import { isMemoTooLong } from './precheck-transaction.ts'
import { type Status, toBigInt } from './signed-transaction.ts'

/** Largest message, or part of one, bytes (consensus.message.maxBytesAllowed). */
const MESSAGE_BYTES_MAX = 1_024

/** Version of the formula of running hashes. */
export const RUNNING_HASH_VERSION = 3

/** A message, or a part of one, that a topic has taken. */
export type TopicMessage = {
  sequence: number
  contents: Uint8Array
  /** `0.0.x`. */
  payer: string
  consensusNs: bigint
  runningHash: Uint8Array
  /** Which part of a message it is, as its sender says, and the id of the first part. */
  chunk: { number: number; total: number; initial: TransactionId } | null
}

export type Topic = {
  number: number
  memo: string
  adminKey: AccountKey | null
  submitKey: AccountKey | null
  messages: TopicMessage[]
  createdNs: bigint
}

/** The hash before a topic's first message. */
const NO_HASH = new Uint8Array(48)

export const runningHash = ({ messages }: Topic): Uint8Array =>
  messages.at(-1)?.runningHash ?? NO_HASH

/** The plan of a ConsensusCreateTopic, or why consensus refuses it. */
export function planTopicCreate(
  ledger: Ledger,
  message: proto.IConsensusCreateTopicTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const hasFees = [message.customFees, message.feeExemptKeyList].some((list) => list?.length)
  if (hasFees || message.feeScheduleKey != null) return 'NOT_SUPPORTED'
  if (isMemoTooLong(message.memo ?? '')) return 'MEMO_TOO_LONG'
  const [adminKey, submitKey] = [message.adminKey, message.submitKey].map((key) =>
    key == null ? null : fromProtoKeys(key),
  )
  if (adminKey === undefined || submitKey === undefined) return 'BAD_ENCODING'
  if (adminKey !== null && !isSignedBy(adminKey, transaction.signed)) return 'INVALID_SIGNATURE'
  return {
    moves: [],
    apply(createdNs) {
      const number = ledger.accounts.takeNumber()
      const memo = message.memo ?? ''
      const topic = { number, memo, adminKey, submitKey, messages: [], createdNs }
      ledger.topics.byNumber.set(number, topic)
      return { moves: [], created: { topicID: number } }
    },
  }
}

/** The plan of a ConsensusSubmitMessage, or why consensus refuses it. */
export function planTopicMessage(
  ledger: Ledger,
  message: proto.IConsensusSubmitMessageTransactionBody,
  { transaction, payer }: PlanRequest,
): Status | Plan {
  const contents = message.message ?? new Uint8Array()
  const topic = ledger.topics.byNumber.get(Number(toBigInt(message.topicID?.topicNum)))
  if (topic === undefined) return 'INVALID_TOPIC_ID'
  if (contents.length === 0) return 'INVALID_TOPIC_MESSAGE'
  if (contents.length > MESSAGE_BYTES_MAX) return 'MESSAGE_SIZE_TOO_LARGE'
  const chunk = readChunk(message.chunkInfo)
  if (chunk !== null) {
    if (chunk.number < 1 || chunk.number > chunk.total) return 'INVALID_CHUNK_NUMBER'
    if (chunk.initial.account !== payer.id) return 'INVALID_CHUNK_TRANSACTION_ID'
  }
  const { submitKey } = topic
  if (submitKey !== null && !isSignedBy(submitKey, transaction.signed)) return 'INVALID_SIGNATURE'
  return {
    moves: [],
    apply(consensusNs) {
      const sequence = topic.messages.length + 1
      const sent = { sequence, contents, payer: payer.id, consensusNs }
      const next = nextHash(topic, { ...sent, payer: payer.number })
      topic.messages.push({ ...sent, chunk, runningHash: next })
      const taken = { sequence, runningHash: next }
      return { moves: [], entityId: entityId(topic.number), topicMessage: taken }
    },
  }
}

/** A part's number and first transaction, as values that a saved ledger keeps. */
function readChunk(
  info: proto.IConsensusMessageChunkInfo | null | undefined,
): TopicMessage['chunk'] {
  if (info == null) return null
  const { accountID, transactionValidStart: start } = info.initialTransactionID ?? {}
  const account = entityId(Number(toBigInt(accountID?.accountNum)))
  const validStartNs = secondsToNs(toBigInt(start?.seconds)) + BigInt(start?.nanos ?? 0)
  return { number: info.number ?? 0, total: info.total ?? 0, initial: { account, validStartNs } }
}

/** SHA-384 over the hash before, the version, payer, topic, time, sequence number and the message's own hash. */
function nextHash(
  topic: Topic,
  sent: Pick<TopicMessage, 'sequence' | 'contents' | 'consensusNs'> & { payer: number },
): Buffer {
  const { consensusNs, contents, payer, sequence } = sent
  const before = [RUNNING_HASH_VERSION, 0, 0, payer, 0, 0, topic.number, nsToSeconds(consensusNs)]
  const nanos = Buffer.alloc(4)
  nanos.writeInt32BE(Number(consensusNs % 1_000_000_000n))
  const own = hash('sha384', contents, 'buffer')
  const parts = [runningHash(topic), ...before.map(int64), nanos, int64(sequence), own]
  return hash('sha384', Buffer.concat(parts), 'buffer')
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}
