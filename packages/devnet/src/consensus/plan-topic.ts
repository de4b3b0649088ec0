// What the creation of a topic, and a message to it, change.

import type { proto } from '@hiero-ledger/proto'
import { fromProtoKeys, isSignedBy } from '../ledger/account-key.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { secondsToNs } from '../ledger/records.ts'
import { type Status, toBigInt } from '../ledger/signed-transaction.ts'
import { nextHash, type TopicMessage } from '../ledger/topic.ts'
import type { Plan, PlanRequest } from './plan.ts'
import { isMemoTooLong } from './precheck-transaction.ts'
import { readRenewal } from './read-renewal.ts'

/** Largest message, or part of one, bytes (consensus.message.maxBytesAllowed). */
const MESSAGE_BYTES_MAX = 1_024

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
  const renewal = readRenewal(ledger, message, transaction.signed)
  if (typeof renewal === 'string') return renewal
  return {
    moves: [],
    apply(createdNs) {
      const number = ledger.accounts.takeNumber()
      const memo = message.memo ?? ''
      const topic = { number, memo, adminKey, submitKey, renewal, messages: [], createdNs }
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
