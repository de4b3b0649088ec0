// oxlint-disable unicorn/consistent-function-scoping -- what a test is about stands in it
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ScriptedServer, scriptedServer } from '../../testing/json-server.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import type { LedgerTransfer } from './ledger-record.ts'
import { createMirrorNode, type MirrorNode } from './mirror-node.ts'

const clock = manualClock(1_795_226_000_000)
let server: ScriptedServer
let mirror: MirrorNode

beforeAll(async () => {
  server = await scriptedServer()
  mirror = createMirrorNode({ url: server.url, clock })
})
afterAll(async () => {
  await server.close()
})

function answer(json: unknown, status = 200): void {
  server.requests.length = 0
  server.answer = { status, body: JSON.stringify(json) }
}

const movement = (account: string, amount: number): object => ({
  account,
  amount,
  is_approval: false,
})

/** A credit of 3 HBAR to 0.0.7001, its fee of 0.001 HBAR paid by 0.0.5001, as a mirror node tells it. */
const credit = {
  transaction_id: '0.0.5001-1795226009-183949169',
  consensus_timestamp: '1795226012.000000042',
  valid_start_timestamp: '1795226009.183949169',
  charged_tx_fee: 100_000,
  memo_base64: Buffer.from('x402:0xab').toString('base64'),
  name: 'CRYPTOTRANSFER',
  nonce: 0,
  scheduled: false,
  result: 'SUCCESS',
  transfers: [
    movement('0.0.98', 100_000),
    movement('0.0.5001', -100_000),
    movement('0.0.7001', 300_000_000),
    movement('0.0.9001', -300_000_000),
  ],
}

async function all(transfers: AsyncIterable<LedgerTransfer>): Promise<LedgerTransfer[]> {
  const found: LedgerTransfer[] = []
  for await (const transfer of transfers) found.push(transfer)
  return found
}

describe('account', () => {
  test('by id, address or alias: number, address and key', async () => {
    answer({
      account: '0.0.9001',
      evm_address: `0x${'AB'.repeat(20)}`,
      deleted: false,
      key: { _type: 'ECDSA_SECP256K1', key: `02${'11'.repeat(32)}` },
      balance: { balance: 5 },
    })
    expect(await mirror.account(`0x${'ab'.repeat(20)}`)).toEqual({
      accountId: '0.0.9001',
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

  test.each([404, 400])('status %i is no account', async (status) => {
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

  test('404 is no record', async () => {
    answer({}, 404)
    expect(await mirror.transaction('0.0.5001-1-1')).toEqual([])
  })

  test('what is no transaction id is a mistake of the caller', async () => {
    await expect(mirror.transaction('../accounts/1')).rejects.toThrow(RangeError)
  })
})

describe('A4: credits and debits', () => {
  const since = { accountId: '0.0.7001', afterTimestamp: '1795226000.000000000' }

  test('a credit: who paid how much, with what memo, and its reference', async () => {
    answer({ transactions: [credit], links: { next: null } })
    expect(await all(mirror.credits(since))).toEqual([
      {
        direction: 'credit',
        transactionId: '0.0.5001@1795226009.183949169',
        reference: {
          text: '0.0.5001@1795226009.183949169',
          hash: '0xee16266516e31d78de7ce6e87885e15d16efca9f15595b9c8efe65e3b86816dc',
        },
        feePayer: '0.0.5001',
        consensusTimestamp: '1795226012.000000042',
        consensusSeconds: 1_795_226_012,
        memo: 'x402:0xab',
        amountTinybar: 300_000_000n,
        counterparties: [{ accountId: '0.0.9001', amountTinybar: 300_000_000n }],
      },
    ])
    const query = new URL(`http://mirror${server.requests[0]?.url}`).searchParams
    expect(Object.fromEntries(query)).toEqual({
      'account.id': '0.0.7001',
      timestamp: 'gt:1795226000.000000000',
      type: 'credit',
      result: 'success',
      order: 'asc',
      limit: '100',
    })
  })

  test('a payer that paid its own fee: the fee is no part of the purchase', async () => {
    const own = {
      ...credit,
      transaction_id: '0.0.9001-1795226009-000000001',
      transfers: [
        movement('0.0.98', 100_000),
        movement('0.0.7001', 300_000_000),
        movement('0.0.9001', -300_100_000),
      ],
    }
    answer({ transactions: [own] })
    const [found] = await all(mirror.credits(since))
    expect(found?.counterparties).toEqual([{ accountId: '0.0.9001', amountTinybar: 300_000_000n }])
  })

  test('a transfer from an Ethereum wallet: the relay is nobody’s payer, and the sender’s gas no part of the purchase', async () => {
    const sent = (transfers: readonly object[]) => ({
      ...credit,
      name: 'ETHEREUMTRANSACTION',
      memo_base64: '',
      transfers: [movement('0.0.98', 100_000), movement('0.0.7001', 300_000_000), ...transfers],
    })
    for (const debits of [
      [movement('0.0.9001', -300_100_000)],
      [movement('0.0.9001', -300_040_000), movement('0.0.5001', -60_000)],
    ]) {
      answer({ transactions: [sent(debits)] })
      const [found] = await all(mirror.credits(since))
      expect(found?.counterparties).toEqual([
        { accountId: '0.0.9001', amountTinybar: 300_000_000n },
      ])
    }
    const byContract = [movement('0.0.9002', -300_000_000), movement('0.0.9001', -100_000)]
    answer({ transactions: [sent(byContract)] })
    expect((await all(mirror.credits(since)))[0]?.counterparties).toHaveLength(2)
  })

  test('what created the account, and what the network called, paid for nothing', async () => {
    answer({
      transactions: ['CRYPTOCREATEACCOUNT', 'CONTRACTCALL'].map((name) => ({ ...credit, name })),
    })
    expect(await all(mirror.credits(since))).toEqual([])
  })

  test('staking rewards paid out on the way are no part of it', async () => {
    const rewarded = {
      ...credit,
      transfers: [
        ...credit.transfers.slice(0, 3),
        movement('0.0.9001', -299_999_000),
        movement('0.0.800', -1_000),
      ],
      staking_reward_transfers: [{ account: '0.0.9001', amount: 1_000 }],
    }
    answer({ transactions: [rewarded] })
    const [found] = await all(mirror.credits(since))
    expect(found?.counterparties).toEqual([{ accountId: '0.0.9001', amountTinybar: 300_000_000n }])
  })

  test('several payers are all named', async () => {
    const shared = {
      ...credit,
      transfers: [
        ...credit.transfers.slice(0, 3),
        movement('0.0.9001', -100_000_000),
        movement('0.0.9002', -200_000_000),
      ],
    }
    answer({ transactions: [shared] })
    const [found] = await all(mirror.credits(since))
    expect(found?.counterparties).toHaveLength(2)
  })

  test('failed transactions and the account’s own fees are no credits or debits', async () => {
    const failed = { ...credit, result: 'INSUFFICIENT_ACCOUNT_BALANCE' }
    const fee = {
      ...credit,
      transaction_id: '0.0.7001-1-1',
      transfers: [movement('0.0.7001', -100_000), movement('0.0.98', 100_000)],
    }
    answer({ transactions: [failed, fee] })
    expect(await all(mirror.credits(since))).toEqual([])
    expect(await all(mirror.debits(since))).toEqual([])
  })

  test('A15: a refund is a debit, with whom it went to', async () => {
    const refund = {
      ...credit,
      transaction_id: '0.0.7001-1795226100-000000001',
      memo_base64: Buffer.from('refund:0.0.5001@1795226009.183949169').toString('base64'),
      transfers: [
        movement('0.0.98', 100_000),
        movement('0.0.7001', -300_100_000),
        movement('0.0.9001', 300_000_000),
      ],
    }
    answer({ transactions: [refund] })
    expect(await all(mirror.debits(since))).toMatchObject([
      {
        direction: 'debit',
        amountTinybar: 300_000_000n,
        memo: 'refund:0.0.5001@1795226009.183949169',
        counterparties: [
          { accountId: '0.0.98', amountTinybar: 100_000n },
          { accountId: '0.0.9001', amountTinybar: 300_000_000n },
        ],
      },
    ])
  })

  test('pages are followed to the last, and only on this node', async () => {
    server.requests.length = 0
    const page = (next: string | null): string =>
      JSON.stringify({ transactions: [credit], links: { next } })
    server.answer = { status: 200, body: page('/api/v1/transactions?timestamp=gt:5') }
    const seen: LedgerTransfer[] = []
    for await (const one of mirror.credits(since)) {
      seen.push(one)
      if (seen.length === 2) server.answer = { status: 200, body: page(null) }
    }
    expect(seen).toHaveLength(3)
    expect(server.requests[1]?.url).toBe('/api/v1/transactions?timestamp=gt:5')
    server.answer = { status: 200, body: page('http://elsewhere.example/api/v1/x') }
    await expect(all(mirror.credits(since))).rejects.toMatchObject({ name: 'LedgerUnavailable' })
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
    ['an account id that is none', { account: 'x' }, 200],
    [
      'a key that is no protobuf',
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
    await clock.advanceMs(10_000)
    expect(await waiting).toMatchObject({ name: 'LedgerUnavailable' })
    server.answer = 'drop'
    await expect(mirror.account('0.0.1')).rejects.toMatchObject({ name: 'LedgerUnavailable' })
    expect(clock.timers()).toBe(0)
  })
})
