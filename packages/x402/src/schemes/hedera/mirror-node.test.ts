import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  credit,
  type ScriptedMirror,
  scriptedMirror,
} from '../../testing/scripted-mirror.fixture.ts'

let clock: ScriptedMirror['clock']
let server: ScriptedMirror['server']
let mirror: ScriptedMirror['mirror']
let answer: ScriptedMirror['answer']

beforeAll(async () => {
  ;({ answer, clock, mirror, server } = await scriptedMirror())
})
afterAll(async () => {
  await server.close()
})

describe('account', () => {
  test('by id, address or alias: number, address, key and balance', async () => {
    answer({
      account: '0.0.9001',
      evm_address: `0x${'AB'.repeat(20)}`,
      deleted: false,
      key: { _type: 'ECDSA_SECP256K1', key: `02${'11'.repeat(32)}` },
      balance: { balance: 5 },
    })
    expect(await mirror.account(`0x${'ab'.repeat(20)}`)).toEqual({
      accountId: '0.0.9001',
      balanceTinybar: 5n,
      evmAddress: `0x${'ab'.repeat(20)}`,
      key: { kind: 'ecdsa', publicKey: Buffer.from(`02${'11'.repeat(32)}`, 'hex') },
      isDeleted: false,
    })
    expect(server.requests[0]?.url).toBe(`/api/v1/accounts/0x${'ab'.repeat(20)}?transactions=false`)
  })

  test('without an alias has the long-zero address; without a key it is hollow', async () => {
    answer({ account: '0.0.9001', evm_address: null, key: null })
    expect(await mirror.account('0.0.9001')).toMatchObject({
      evmAddress: '0x0000000000000000000000000000000000002329',
      key: null,
    })
  })

  test.each([
    ['ED25519', '11'.repeat(32), 'ed25519'],
    ['ProtobufEncoded', `32260a221220${'11'.repeat(32)}0a00`, 'threshold'],
    ['SOMETHING_NEW', '00', 'unsupported'],
  ])('a key of type %s', async (type, key, kind) => {
    answer({ account: '0.0.9001', key: { _type: type, key } })
    expect((await mirror.account('0.0.9001'))?.key?.kind).toBe(kind)
  })

  test.each([404, 400])('status %i means no account', async (status) => {
    answer({ _status: { messages: [{ message: 'Not found' }] } }, status)
    expect(await mirror.account('0.0.9223372036854775807')).toBeUndefined()
  })
})

describe('transaction', () => {
  test('all records of an id, in either spelling', async () => {
    const duplicate = { ...credit, result: 'DUPLICATE_TRANSACTION', transfers: [] }
    answer({ transactions: [credit, duplicate] })
    const records = await mirror.transaction('0.0.5001@1795226009.183949169')
    expect(server.requests[0]?.url).toBe('/api/v1/transactions/0.0.5001-1795226009-183949169')
    expect(records.map(({ result }) => result)).toEqual(['SUCCESS', 'DUPLICATE_TRANSACTION'])
    expect(records[0]).toMatchObject({
      transactionId: '0.0.5001@1795226009.183949169',
      feePayer: '0.0.5001',
      consensusSeconds: 1_795_226_012,
      memo: 'x402:0xab',
      feeTinybar: 100_000n,
    })
  })

  test('404 means no record', async () => {
    answer({}, 404)
    expect(await mirror.transaction('0.0.5001-1-1')).toEqual([])
  })

  test('a text that is not a transaction id is the caller’s mistake', async () => {
    await expect(mirror.transaction('../accounts/1')).rejects.toThrow(RangeError)
  })
})

test('latestConsensusSeconds is the end of the last block', async () => {
  answer({ blocks: [{ timestamp: { from: '1795226010.5', to: '1795226012.7' } }] })
  expect(await mirror.latestConsensusSeconds()).toBe(1_795_226_012)
})

describe('LedgerUnavailable', () => {
  test.each<[string, unknown, number]>([
    ['status 500', {}, 500],
    ['status 429', {}, 429],
    ['other JSON', { account: 5 }, 200],
    ['an invalid account id', { account: 'x' }, 200],
    [
      'a key that is not protobuf',
      { account: '0.0.1', key: { _type: 'ProtobufEncoded', key: 'ff' } },
      200,
    ],
    ['an answer over 2 MiB', { account: 'x'.repeat(2_200_000) }, 200],
  ])('%s', async (_name, json, status) => {
    answer(json, status)
    await expect(mirror.account('0.0.1')).rejects.toMatchObject({ name: 'LedgerUnavailable' })
  })

  test('no answer within 10 s, and a dropped connection', async () => {
    server.requests.length = 0
    server.answer = 'hang'
    const waiting = mirror.account('0.0.1').catch((error: unknown) => error)
    await expect.poll(() => server.requests.length).toBe(1)
    await clock.advanceMsSettled(10_000)
    expect(await waiting).toMatchObject({ name: 'LedgerUnavailable' })
    server.requests.length = 0
    server.answer = 'drop'
    await expect(mirror.account('0.0.1')).rejects.toMatchObject({ name: 'LedgerUnavailable' })
    expect(server.requests).toHaveLength(2)
    expect(clock.pendingCount()).toBe(0)
  })

  test('a connection that is dropped once costs a second request, and nothing else', async () => {
    const body = JSON.stringify({ account: '0.0.9001', key: null })
    const answers = ['drop' as const, { status: 200, body }]
    server.answer = () => answers.shift() ?? 'drop'
    expect(await mirror.account('0.0.9001')).toMatchObject({ accountId: '0.0.9001' })
  })
})

describe('logs of a contract', () => {
  test('are searched for by topic in spans of 7 days, the most that a mirror node takes', async () => {
    const log = { timestamp: '1700000100.000000001', data: '0x01', topics: ['0xaa'] }
    answer({ logs: [log], links: { next: null } })
    const found = []
    const wanted = { address: '0xc0', topics: ['0xaa', '0xbb'], afterTimestamp: '1700000000.5' }
    for await (const entry of mirror.logs({ ...wanted, untilSeconds: 1_700_000_000 + 1_000_000 }))
      found.push(entry.consensusTimestamp)
    expect(found).toEqual([log.timestamp, log.timestamp])
    const spans = server.requests.map(({ url }) =>
      new URL(url ?? '', 'http://mirror').searchParams.getAll('timestamp'),
    )
    expect(spans).toEqual([
      ['gt:1700000000.5', 'lte:1700604800.000000000'],
      ['gt:1700604800.000000000', 'lte:1701000000.000000000'],
    ])
    expect(server.requests.at(-1)?.url).toContain('topic0=0xaa&topic0=0xbb')
  })

  test('the newest of one second topic are one page of 7 days; a contract that the node does not know has none', async () => {
    const log = { timestamp: '1700000100.000000001', data: '0x01', topics: ['0xaa', '0x0a'] }
    answer({ logs: [log], links: { next: '/api/v1/more' } })
    const wanted = { address: '0xc0', topics: ['0xaa'], topic1: '0x0a' }
    const found = await mirror.recentLogs({ ...wanted, untilSeconds: 1_700_604_800 })
    expect(found).toEqual([
      { consensusTimestamp: log.timestamp, data: log.data, topics: log.topics },
    ])
    expect(server.requests.map(({ url }) => decodeURIComponent(url ?? ''))).toEqual([
      '/api/v1/contracts/0xc0/results/logs?topic0=0xaa&topic1=0x0a&timestamp=gt:1700000000.000000000&timestamp=lte:1700604800.000000000&order=desc&limit=100',
    ])
    answer({}, 404)
    expect(await mirror.recentLogs({ ...wanted, untilSeconds: 1_700_604_800 })).toEqual([])
  })
})
