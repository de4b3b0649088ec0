import { Hbar, TransferTransaction } from '@hiero-ledger/sdk'
import { encodeAbiParameters, parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevnetAccount } from '../ledger/genesis.ts'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import {
  accountNamed,
  mirror,
  type TestClient,
  viemClient,
} from '../testing/test-clients.fixture.ts'
import { FORWARDING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'
import { sdkClient } from '../testing/transfer.fixture.ts'

type Line = { account: string; amount: number; is_approval: boolean }
type Row = {
  consensus_timestamp: string
  memo_base64: string
  name: string
  result: string
  transaction_id: string
  transfers: Line[]
}

let devnet: Devnet
let payer: DevnetAccount
let payTo: DevnetAccount
let client: TestClient
let gasPrice: bigint
const PAYMENTS = 7

beforeAll(async () => {
  devnet = await startDevnet()
  payer = accountNamed(devnet, 'agent-1')
  payTo = accountNamed(devnet, 'operator')
  client = viemClient(devnet, accountNamed(devnet, 'agent-2'))
  gasPrice = await client.getGasPrice()
  const sdk = sdkClient(devnet, payer)
  for (let index = 0; index < PAYMENTS; index += 1) {
    const response = await new TransferTransaction()
      .addHbarTransfer(payer.accountId, new Hbar(-3))
      .addHbarTransfer(payTo.accountId, new Hbar(3))
      .setTransactionMemo(`payment ${index}`)
      .execute(sdk)
    await response.getReceipt(sdk)
  }
  await (
    await new TransferTransaction()
      .addHbarTransfer(payer.accountId, new Hbar(-1_000_000))
      .addHbarTransfer(payTo.accountId, new Hbar(1_000_000))
      .execute(sdk)
  )
    .getReceipt(sdk)
    .catch(() => undefined)
  sdk.close()
})
afterAll(async () => {
  await devnet.stop()
})

async function rows(path: string): Promise<{ rows: Row[]; next: string | null }> {
  const { status, body } = await mirror(devnet, path)
  expect(status).toBe(200)
  const links = body['links'] as { next: string | null }
  return { rows: body['transactions'] as Row[], next: links.next }
}

/** The query with which a service reads payments to its account. */
function payments(): string {
  return `/api/v1/transactions?account.id=${payTo.accountId}&type=credit&transactiontype=CRYPTOTRANSFER&result=success`
}

describe('L13: /api/v1/transactions', () => {
  test('credits of an account, with memo, lines, ids and timestamps in the mirror node’s forms', async () => {
    const found = await rows(`${payments()}&order=asc`)
    expect(found.rows).toHaveLength(PAYMENTS)
    const [first] = found.rows
    expect(Buffer.from(first?.memo_base64 ?? '', 'base64').toString()).toBe('payment 0')
    expect(first?.consensus_timestamp).toMatch(/^\d{10}\.\d{9}$/)
    expect(first?.transaction_id).toMatch(/^0\.0\.1006-\d{10}-\d{9}$/)
    expect(first?.transfers.reduce((sum, { amount }) => sum + amount, 0)).toBe(0)
    expect(first?.transfers).toContainEqual({
      account: payTo.accountId,
      amount: 300_000_000,
      is_approval: false,
    })
    const stamps = found.rows.map((row) => row.consensus_timestamp)
    expect(new Set(stamps).size).toBe(PAYMENTS)
    expect(stamps).toEqual(stamps.toSorted())
  })

  test('pages: links.next leads through all of them, once each, in both orders', async () => {
    for (const order of ['asc', 'desc']) {
      const seen: string[] = []
      let path: string | null = `${payments()}&order=${order}&limit=2`
      while (path !== null) {
        const page: { rows: Row[]; next: string | null } = await rows(path)
        seen.push(
          ...page.rows.map(({ memo_base64 }) => Buffer.from(memo_base64, 'base64').toString()),
        )
        path = page.next
      }
      const expected = Array.from({ length: PAYMENTS }, (_, index) => `payment ${index}`)
      expect(seen).toEqual(order === 'asc' ? expected : expected.toReversed())
    }
  })

  test('timestamp takes gt, gte, lt, lte, eq and may be repeated', async () => {
    const all = (await rows(`${payments()}&order=asc`)).rows
    const [, second, third, fourth] = all.map(({ consensus_timestamp }) => consensus_timestamp)
    const count = async (query: string) => (await rows(`${payments()}&${query}`)).rows.length
    expect(await count(`timestamp=gt:${second}`)).toBe(PAYMENTS - 2)
    expect(await count(`timestamp=gte:${second}`)).toBe(PAYMENTS - 1)
    expect(await count(`timestamp=lt:${second}`)).toBe(1)
    expect(await count(`timestamp=lte:${second}`)).toBe(2)
    expect(await count(`timestamp=${third}`)).toBe(1)
    expect(await count(`timestamp=gte:${second}&timestamp=lt:${fourth}`)).toBe(2)
  })

  test('debits, and failures with the fee alone', async () => {
    const failed = await rows(
      `/api/v1/transactions?account.id=${payer.accountId}&type=debit&result=fail`,
    )
    expect(failed.rows.map(({ result }) => result)).toEqual(['INSUFFICIENT_ACCOUNT_BALANCE'])
    expect(failed.rows[0]?.transfers.map(({ account }) => account)).toEqual([
      payer.accountId,
      '0.0.98',
    ])
    const debits = await rows(`/api/v1/transactions?account.id=${payTo.accountId}&type=debit`)
    expect(debits.rows).toEqual([])
  })

  test('EVM transactions are listed with what contracts paid on', async () => {
    const hash = await client.deployContract({ abi: [], bytecode: FORWARDING_CONTRACT, gasPrice })
    const { contractAddress } = await client.waitForTransactionReceipt({ hash })
    const { evmAddress, accountId } = accountNamed(devnet, 'agent-3')
    const data = encodeAbiParameters([{ type: 'address' }], [evmAddress])
    await client.sendTransaction({ to: contractAddress, data, value: parseEther('2'), gasPrice })
    const found = await rows(`/api/v1/transactions?account.id=${accountId}&type=credit&limit=1`)
    expect(found.rows[0]).toMatchObject({ name: 'ETHEREUMTRANSACTION', result: 'SUCCESS' })
    const lines = new Map(found.rows[0]?.transfers.map(({ account, amount }) => [account, amount]))
    expect(lines.get(accountId)).toBe(200_000_000)
    expect([...lines.values()].reduce((sum, amount) => sum + amount, 0)).toBe(0)
    const only = await rows(`${payments()}&limit=100`)
    expect(only.rows.every(({ name }) => name === 'CRYPTOTRANSFER')).toBe(true)
  })

  test('one transaction by its id; 404 for an unknown and 400 for a malformed id', async () => {
    const [row] = (await rows(`${payments()}&limit=1`)).rows
    const single = await mirror(devnet, `/api/v1/transactions/${row?.transaction_id}`)
    expect(single.body['transactions']).toEqual([row])
    const scheduled = await mirror(
      devnet,
      `/api/v1/transactions/${row?.transaction_id}?scheduled=true`,
    )
    expect(scheduled.status).toBe(404)
    const unknown = await mirror(devnet, '/api/v1/transactions/0.0.1006-1700000000-000000001')
    expect(unknown).toEqual({
      status: 404,
      body: { _status: { messages: [{ message: 'Not found' }] } },
    })
    const malformed = await mirror(devnet, '/api/v1/transactions/0.0.1006@1700000000.000000001')
    expect(malformed.status).toBe(400)
  })

  test.each([
    'limit=0',
    'limit=x',
    'order=up',
    'account.id=bob',
    'type=both',
    'timestamp=ne:1',
    'timestamp=soon',
    'result=maybe',
  ])('refuses %s with 400 and the parameter’s name', async (query) => {
    const name = query.split('=')[0]
    expect(await mirror(devnet, `/api/v1/transactions?${query}`)).toEqual({
      status: 400,
      body: { _status: { messages: [{ message: `Invalid parameter: ${name}` }] } },
    })
  })

  test('a limit over 100 is treated as 100', async () => {
    const { rows: page } = await rows('/api/v1/transactions?limit=500')
    expect(page.length).toBeGreaterThan(PAYMENTS)
    expect(page.length).toBeLessThanOrEqual(100)
  })
})
