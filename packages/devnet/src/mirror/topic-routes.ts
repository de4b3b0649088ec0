import type { FastifyInstance } from 'fastify'
import { toMirrorKey } from '../ledger/account-key.ts'
import { entityId, entityNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { RUNNING_HASH_VERSION, type Topic, type TopicMessage } from '../ledger/topic.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import {
  cutPage,
  invalidParameter,
  isVisible,
  isWithin,
  notFound,
  parseWhole,
} from './mirror-query.ts'

const { paging, times, wholes, word } = PARAMETERS

/** `/api/v1/topics/{id}`, `…/{id}/messages` and `…/{id}/messages/{number}`. */
export function addTopicRoutes(app: FastifyInstance, ledger: Ledger): void {
  addMirrorRoute(app, { path: 'topics/:id', parameters: {} }, ({ params }) => {
    const topic = findTopic(ledger, params.id)
    return {
      admin_key: toMirrorKey(topic.adminKey),
      auto_renew_account: topic.renewal.account?.id ?? null,
      auto_renew_period: topic.renewal.periodSeconds,
      created_timestamp: formatTimestamp(topic.createdNs),
      custom_fees: { created_timestamp: formatTimestamp(topic.createdNs), fixed_fees: [] },
      deleted: false,
      fee_exempt_key_list: [],
      fee_schedule_key: null,
      memo: topic.memo,
      submit_key: toMirrorKey(topic.submitKey),
      timestamp: { from: formatTimestamp(topic.createdNs), to: null },
      topic_id: entityId(topic.number),
    }
  })

  const encoding = word('base64', 'utf-8')
  const listed = { ...paging, encoding, sequencenumber: wholes, timestamp: times }
  const messages = { path: 'topics/:id/messages', parameters: listed }
  addMirrorRoute(app, messages, ({ params, query, list }) => {
    const topic = findTopic(ledger, params.id)
    const rows = visibleMessages(ledger, topic).filter(
      ({ consensusNs, sequence }) =>
        isWithin(query.sequencenumber, BigInt(sequence)) && isWithin(query.timestamp, consensusNs),
    )
    const { page, links } = cutPage(list, rows, {
      name: 'timestamp',
      order: 'asc',
      pageKey: ({ consensusNs }) => formatTimestamp(consensusNs),
    })
    return { messages: page.map((row) => toMirrorMessage(topic, row, query.encoding)), links }
  })

  const single = { path: 'topics/:id/messages/:at', parameters: {} }
  addMirrorRoute(app, single, ({ params }) => {
    const topic = findTopic(ledger, params.id)
    const sequence = parseWhole(params.at)
    if (sequence === undefined) throw invalidParameter('sequenceNumber')
    const [found] = visibleMessages(ledger, topic).filter(
      (row) => BigInt(row.sequence) === sequence,
    )
    if (found === undefined) throw notFound()
    return toMirrorMessage(topic, found)
  })
}

const visibleMessages = (ledger: Ledger, { messages }: Topic): TopicMessage[] =>
  messages.filter(({ consensusNs }) => isVisible(ledger, consensusNs))

function findTopic(ledger: Ledger, text: string): Topic {
  const number = entityNumber(text)
  if (number === undefined) throw invalidParameter('topicId')
  const topic = ledger.topics.byNumber.get(number)
  if (topic === undefined || !isVisible(ledger, topic.createdNs)) throw notFound()
  return topic
}

function toMirrorMessage(topic: Topic, row: TopicMessage, encoding: 'base64' | 'utf-8' = 'base64') {
  const { chunk } = row
  return {
    chunk_info: chunk && {
      initial_transaction_id: {
        account_id: chunk.initial.account,
        nonce: 0,
        scheduled: false,
        transaction_valid_start: formatTimestamp(chunk.initial.validStartNs),
      },
      number: chunk.number,
      total: chunk.total,
    },
    consensus_timestamp: formatTimestamp(row.consensusNs),
    message: Buffer.from(row.contents).toString(encoding),
    payer_account_id: row.payer,
    running_hash: Buffer.from(row.runningHash).toString('base64'),
    running_hash_version: RUNNING_HASH_VERSION,
    sequence_number: row.sequence,
    topic_id: entityId(topic.number),
  }
}
