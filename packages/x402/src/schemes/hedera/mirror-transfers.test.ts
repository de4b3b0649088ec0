// oxlint-disable unicorn/consistent-function-scoping -- what a test is about stands in it
/** A4: what a mirror node's list of transactions says about who paid an account, and whom it paid. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  credit,
  movement,
  type ScriptedMirror,
  scriptedMirror,
} from '../../testing/scripted-mirror.fixture.ts'
import type { LedgerTransfer } from './ledger-record.ts'

let server: ScriptedMirror['server']
let mirror: ScriptedMirror['mirror']
let answer: ScriptedMirror['answer']

beforeAll(async () => {
  ;({ answer, mirror, server } = await scriptedMirror())
})
afterAll(async () => {
  await server.close()
})

async function all(transfers: AsyncIterable<LedgerTransfer>): Promise<LedgerTransfer[]> {
  const found: LedgerTransfer[] = []
  for await (const transfer of transfers) found.push(transfer)
  return found
}

describe('A4: credits and debits', () => {
  const since = { accountId: '0.0.7001', afterTimestamp: '1795226000.000000000' }
  const toSeller = { ...since, direction: 'credit' } as const
  const fromSeller = { ...since, direction: 'debit' } as const

  test('tokens that moved beside it, more than JSON states exactly, hide no credit, and are none', async () => {
    const huge = { account: '0.0.66', amount: 2 ** 63, token_id: '0.0.6001' }
    const own = { account: '0.0.7001', amount: 5, token_id: '0.0.6001' }
    const unpaid = { ...credit, transfers: credit.transfers.slice(0, 2), token_transfers: [own] }
    answer({
      transactions: [{ ...credit, token_transfers: [huge] }, unpaid],
      links: { next: null },
    })
    expect(await all(mirror.transfers(toSeller))).toMatchObject([{ amountTinybar: 300_000_000n }])
  })

  test('a credit: who paid how much, with which memo, and its reference', async () => {
    answer({ transactions: [credit], links: { next: null } })
    expect(await all(mirror.transfers(toSeller))).toEqual([
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

  test('A4: two transfers under one parent are two payments, each with a reference of its own', async () => {
    const children = [1, 2].map((nonce) => ({ ...credit, nonce }))
    answer({ transactions: [credit, ...children], links: { next: null } })
    const found = await all(mirror.transfers(toSeller))
    const id = '0.0.5001@1795226009.183949169'
    expect(found.map(({ transactionId }) => transactionId)).toEqual([id, `${id}/1`, `${id}/2`])
    expect(new Set(found.map(({ reference }) => reference.hash)).size).toBe(3)
    expect(found.map(({ memo }) => memo)).toEqual(['x402:0xab', '', ''])
  })

  test('X10: the memo of an Ethereum transaction proves nothing: whoever submits it writes it', async () => {
    answer({
      transactions: [{ ...credit, name: 'ETHEREUMTRANSACTION' }],
      links: { next: null },
    })
    expect(await all(mirror.transfers(toSeller))).toMatchObject([{ memo: '' }])
  })

  test('a payer that paid its own fee: the fee is not part of the purchase', async () => {
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
    const [found] = await all(mirror.transfers(toSeller))
    expect(found?.counterparties).toEqual([{ accountId: '0.0.9001', amountTinybar: 300_000_000n }])
  })

  test('a transfer from an Ethereum wallet: the relay is nobody’s payer, and the sender’s gas is not part of the purchase', async () => {
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
      const [found] = await all(mirror.transfers(toSeller))
      expect(found?.counterparties).toEqual([
        { accountId: '0.0.9001', amountTinybar: 300_000_000n },
      ])
    }
    const byContract = [movement('0.0.9002', -300_000_000), movement('0.0.9001', -100_000)]
    answer({ transactions: [sent(byContract)] })
    expect((await all(mirror.transfers(toSeller)))[0]?.counterparties).toHaveLength(2)
  })

  test('transactions that created the account or that the network called paid for nothing', async () => {
    answer({
      transactions: ['CRYPTOCREATEACCOUNT', 'CONTRACTCALL'].map((name) => ({ ...credit, name })),
    })
    expect(await all(mirror.transfers(toSeller))).toEqual([])
  })

  test('staking rewards paid out along the way are not part of it', async () => {
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
    const [found] = await all(mirror.transfers(toSeller))
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
    const [found] = await all(mirror.transfers(toSeller))
    expect(found?.counterparties).toHaveLength(2)
  })

  test('failed transactions and the account’s own fees are neither credits nor debits', async () => {
    const failed = { ...credit, result: 'INSUFFICIENT_ACCOUNT_BALANCE' }
    const fee = {
      ...credit,
      transaction_id: '0.0.7001-1-1',
      transfers: [movement('0.0.7001', -100_000), movement('0.0.98', 100_000)],
    }
    answer({ transactions: [failed, fee] })
    expect(await all(mirror.transfers(toSeller))).toEqual([])
    expect(await all(mirror.transfers(fromSeller))).toEqual([])
  })

  test('A15: a refund is a debit, with its recipient', async () => {
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
    expect(await all(mirror.transfers(fromSeller))).toMatchObject([
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
    for await (const transfer of mirror.transfers(toSeller)) {
      seen.push(transfer)
      if (seen.length === 2) server.answer = { status: 200, body: page(null) }
    }
    expect(seen).toHaveLength(3)
    expect(server.requests[1]?.url).toBe('/api/v1/transactions?timestamp=gt:5')
    server.answer = { status: 200, body: page('http://elsewhere.example/api/v1/x') }
    await expect(all(mirror.transfers(toSeller))).rejects.toMatchObject({
      name: 'LedgerUnavailable',
    })
  })
})
