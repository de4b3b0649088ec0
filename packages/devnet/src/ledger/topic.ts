// A topic: its messages, each with a number and the hash of all before it.

import { hash } from 'node:crypto'
import type { AccountKey } from './account-key.ts'
import { nsToSeconds, type TransactionId } from './records.ts'
import type { Renewal } from './token.ts'

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
  renewal: Renewal
  messages: TopicMessage[]
  createdNs: bigint
}

/** The hash before a topic's first message. */
const NO_HASH = new Uint8Array(48)

export const runningHash = ({ messages }: Topic): Uint8Array =>
  messages.at(-1)?.runningHash ?? NO_HASH

/** SHA-384 over the hash before, the version, payer, topic, time, sequence number and the message's own hash. */
export function nextHash(
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
