import { createHash } from 'node:crypto'
import {
  PrivateKey,
  TopicCreateTransaction,
  TopicDeleteTransaction,
  TopicInfoQuery,
  TopicMessageSubmitTransaction,
  type Transaction,
} from '@hiero-ledger/sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { mirror } from '../testing/test-clients.fixture.ts'
import { startTransferFixture } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, readStatus, stop } = await startTransferFixture()
afterAll(stop)

const get = async (path: string) => (await mirror(devnet, `/api/v1/${path}`)).body
const execute = async (transaction: Transaction) =>
  (await transaction.execute(client)).getReceipt(client)
const submitKey = PrivateKey.generateED25519()

async function createTopic(key?: PrivateKey): Promise<string> {
  const create = new TopicCreateTransaction().setTopicMemo('about')
  if (key !== undefined) create.setSubmitKey(key.publicKey)
  return String((await execute(create)).topicId)
}

const message = (topic: string, text: string) =>
  new TopicMessageSubmitTransaction().setTopicId(topic).setMessage(text)

const int64 = (value: string | number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}
const number = (id: string) => Number(id.split('.')[2])

describe('L23: topics', () => {
  test('messages are numbered, each with the hash of all before, in receipts, queries and at the mirror node', async () => {
    const topic = await createTopic()
    const receipts = []
    for (const text of ['first', 'second']) receipts.push(await execute(message(topic, text)))
    expect(receipts.map(({ topicSequenceNumber }) => Number(topicSequenceNumber))).toEqual([1, 2])
    expect(await get(`topics/${topic}`)).toMatchObject({ memo: 'about', topic_id: topic })
    const { messages } = (await get(`topics/${topic}/messages`)) as {
      messages: { running_hash: string; consensus_timestamp: string }[]
    }
    expect(messages).toMatchObject([
      { message: btoa('first'), payer_account_id: payer.accountId, sequence_number: 1 },
      { message: btoa('second'), chunk_info: { number: 1, total: 1 }, sequence_number: 2 },
    ])
    const [first, second] = messages
    const [seconds = '', nanos = ''] = second?.consensus_timestamp.split('.') ?? []
    const nanosBytes = Buffer.alloc(4)
    nanosBytes.writeInt32BE(Number(nanos))
    const wanted = createHash('sha384')
      .update(Buffer.from(first?.running_hash ?? '', 'base64'))
      .update(Buffer.concat([3, 0, 0, number(payer.accountId), 0, 0, number(topic)].map(int64)))
      .update(Buffer.concat([int64(seconds), nanosBytes, int64(2)]))
      .update(createHash('sha384').update('second').digest())
      .digest('base64')
    expect(second?.running_hash).toBe(wanted)
    const info = await new TopicInfoQuery().setTopicId(topic).execute(client)
    expect(Number(info.sequenceNumber)).toBe(2)
    expect(Buffer.from(info.runningHash).toString('base64')).toBe(wanted)
    expect(Buffer.from(receipts[1]?.topicRunningHash ?? []).toString('base64')).toBe(wanted)
  })

  test('a list is asked for by number, time and encoding, and one message by its number', async () => {
    const topic = await createTopic()
    for (const text of ['a', 'b', 'c']) await execute(message(topic, text))
    const texts = async (query: string) =>
      ((await get(`topics/${topic}/messages?${query}`))['messages'] as { message: string }[]).map(
        (row) => row.message,
      )
    expect(await texts('encoding=utf-8&sequencenumber=gt:1')).toEqual(['b', 'c'])
    expect(await texts('encoding=utf-8&order=desc&limit=1')).toEqual(['c'])
    const page = await get(`topics/${topic}/messages?limit=2`)
    const { next } = page['links'] as { next: string }
    expect((await mirror(devnet, next)).body['messages']).toMatchObject([{ message: btoa('c') }])
    expect(await get(`topics/${topic}/messages/2`)).toMatchObject({ message: btoa('b') })
    expect((await mirror(devnet, `/api/v1/topics/${topic}/messages/9`)).status).toBe(404)
    expect((await mirror(devnet, `/api/v1/topics/${topic}/messages?nosuch=1`)).status).toBe(400)
  })

  test('a message in parts names its first transaction', async () => {
    const topic = await createTopic()
    const sent = await message(topic, 'x'.repeat(2_000)).executeAll(client)
    for (const response of sent) await response.getReceipt(client)
    expect((await get(`topics/${topic}/messages`))['messages']).toMatchObject([
      { chunk_info: { number: 1, total: 2 } },
      {
        chunk_info: { number: 2, initial_transaction_id: { account_id: payer.accountId } },
      },
    ])
  })

  test('what a topic does not take changes nothing, and what is not there is refused by name', async () => {
    const topic = await createTopic(submitKey)
    expect(await readStatus(message(topic, 'x'))).toBe('INVALID_SIGNATURE')
    const signed = await message(topic, 'x').freezeWith(client).sign(submitKey)
    expect(await readStatus(signed)).toBe('SUCCESS')
    expect(await readStatus(message('0.0.9', 'x'))).toBe('INVALID_TOPIC_ID')
    const info = await new TopicInfoQuery().setTopicId(topic).execute(client)
    expect(Number(info.sequenceNumber)).toBe(1)
    const remove = new TopicDeleteTransaction().setTopicId(topic)
    expect(await readStatus(remove)).toBe('NOT_SUPPORTED')
  })
})
