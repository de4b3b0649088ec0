// What stood between this mirror node and the official relay: filters that were ignored, ranges that overlapped, units that
// disagreed, and routes that were missing.
import { Hbar, TransferTransaction } from '@hiero-ledger/sdk'
import { scheduleServiceAbi } from '@tallystick/contracts'
import { encodeFunctionData, type Hex, parseEther, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import {
  LOGGING_CONTRACT,
  REVERTING_CONTRACT,
  SCHEDULING_CONTRACT,
} from '../testing/tiny-contracts.fixture.ts'
import { sdkClient } from '../testing/transfer.fixture.ts'

type Row = { [name: string]: unknown }

const devnet = await startDevnet()
afterAll(() => devnet.stop())

const payer = accountNamed(devnet, 'agent-1')
const other = accountNamed(devnet, 'agent-2')
const edKey = accountNamed(devnet, 'ed25519')
const client = viemClient(devnet, payer)
const gasPrice = await client.getGasPrice()

const get = async (path: string): Promise<Row> => {
  const { status, body } = await mirror(devnet, `/api/v1/${path}`)
  expect({ path, status, ...(status === 200 ? {} : body) }).toEqual({ path, status: 200 })
  return body
}
const rows = async (path: string, name: string): Promise<Row[]> => (await get(path))[name] as Row[]
const refusal = async (path: string): Promise<unknown> => {
  const { status, body } = await mirror(devnet, `/api/v1/${path}`)
  const { messages } = body['_status'] as { messages: { message: string }[] }
  return [status, ...messages.map(({ message }) => message)]
}
const post = async (requested: Row): Promise<{ status: number; body: Row }> => {
  const response = await fetch(`${devnet.mirrorUrl}/api/v1/contracts/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(requested),
  })
  return { status: response.status, body: (await response.json()) as Row }
}

/** The schedule service, whose settings fill slots. */
const SCHEDULES = `0x${'16b'.padStart(40, '0')}`

const deploy = async (bytecode: Hex): Promise<Hex> => {
  const deployed = await client.deployContract({ abi: [], bytecode, gasPrice })
  const receipt = await client.waitForTransactionReceipt({ hash: deployed })
  return receipt.contractAddress ?? '0x'
}

const ids = async (filter: string, list = 'accounts') =>
  (await rows(`${list}?${filter}&limit=100`, list)).map(({ account }) => account)
const gas = async (query = '') => (await rows(`network/fees${query}`, 'fees'))[0]?.['gas']
const cents = async (query = '') =>
  ((await get(`network/exchangerate${query}`))['current_rate'] as Row)['cent_equivalent']

let logging: Hex
let reverting: Hex
let hash: Hex
let paid: Hex
let result: Row

beforeAll(async () => {
  logging = await deploy(LOGGING_CONTRACT)
  reverting = await deploy(REVERTING_CONTRACT)
  const value = 50n * 10n ** 18n
  paid = await client.sendTransaction({ to: other.evmAddress, value, gasPrice })
  hash = await client.sendTransaction({ to: logging, data: '0xabcd', gasPrice })
  result = await get(`contracts/results/${hash}`)
})

describe('L13: a parameter that a route does not honour is refused', () => {
  test.each([
    'accounts',
    'accounts/0.0.2',
    'balances',
    'blocks',
    'blocks/1',
    'contracts',
    'contracts/0.0.360',
    'contracts/0.0.360/results',
    'contracts/0.0.360/results/1.0',
    'contracts/0.0.360/results/logs',
    'contracts/0.0.360/state',
    'contracts/results',
    'contracts/results/logs',
    `contracts/results/0x${'12'.repeat(32)}`,
    `contracts/results/0x${'12'.repeat(32)}/actions`,
    'network/exchangerate',
    'network/fees',
    'network/nodes',
    'network/supply',
    'schedules/0.0.5',
    'transactions',
    'transactions/0.0.2-1700000000-000000001',
  ])('%s', async (path) => {
    expect(await refusal(`${path}?nosuch=1`)).toEqual([400, 'Unknown query parameter: nosuch'])
  })

  test('one that is honoured, with a value that cannot be read, is named', async () => {
    for (const [path, name] of [
      ['contracts/results?transaction.index=x', 'transaction.index'],
      ['contracts/results?block.hash=0x11', 'block.hash'],
      ['contracts/results?internal=maybe', 'internal'],
      ['contracts/results/logs?transaction.hash=0x12', 'transaction.hash'],
      ['accounts?account.balance=much', 'account.balance'],
      ['accounts?account.publickey=abc', 'account.publickey'],
      ['balances?timestamp=soon', 'timestamp'],
      ['transactions?transactiontype=NOSUCH', 'transactiontype'],
      ['contracts/results?from=0.0.2&from=0.0.3', 'from'],
    ]) {
      expect([path, await refusal(path ?? '')]).toEqual([path, [400, `Invalid parameter: ${name}`]])
    }
  })
})

describe('L13: filters choose', () => {
  test('logs by the hash of their transaction: none for a transaction that never existed', async () => {
    const path = 'contracts/results/logs?transaction.hash='
    expect(await rows(`${path}0x${'12'.repeat(32)}`, 'logs')).toEqual([])
    expect(await rows(path + hash, 'logs')).toMatchObject([
      { transaction_hash: hash, data: '0xabcd' },
    ])
  })

  test('results by the hash of their block, by its number in hex, and by their index', async () => {
    const block = String(result['block_hash'])
    const number = Number(result['block_number'])
    const found = (filter: string) => rows(`contracts/results?${filter}`, 'results')
    for (const filter of [
      `block.hash=${block}`,
      `block.hash=${block.slice(0, 66)}`,
      `block.number=${number}`,
      `block.number=${toHex(number)}&transaction.index=${Number(result['transaction_index'])}`,
    ]) {
      expect([filter, await found(filter)]).toMatchObject([filter, [{ hash }]])
    }
    expect(await found(`block.hash=0x${'11'.repeat(32)}`)).toEqual([])
    expect(await found(`block.number=${number}&transaction.index=7`)).toEqual([])
    expect(await rows(`blocks?block.number=${toHex(number)}`, 'blocks')).toMatchObject([{ number }])
    expect(await get(`blocks/${toHex(number)}`)).toMatchObject({ number })
  })

  test('accounts by key and by balance', async () => {
    const { key } = (await get(`accounts/${edKey.accountId}`)) as { key: { key: string } }
    expect(await ids(`account.publickey=${key.key}`)).toEqual([edKey.accountId])
    expect(await ids(`account.publickey=302a300506032b6570032100${key.key}`)).toEqual([
      edKey.accountId,
    ])
    expect(await ids(`account.publickey=${key.key}`, 'balances')).toEqual([edKey.accountId])
    const rich = await ids('account.balance=gte:4000000000000000000')
    expect(rich).toEqual(['0.0.2'])
    expect(await ids('account.balance=0&account.id=lt:0.0.5')).toEqual(['0.0.3', '0.0.4'])
    expect(await ids(`account.id=0.0.2&account.id=${payer.accountId}`)).toEqual([
      '0.0.2',
      payer.accountId,
    ])
  })

  test('an account by its alias in base32', async () => {
    const alias = String((await get(`accounts/${payer.accountId}`))['alias'])
    expect(alias).toMatch(/^[A-Z2-7]+$/)
    for (const name of [alias, `0.0.${alias}`, `0.0.${payer.evmAddress.slice(2)}`]) {
      expect(await get(`accounts/${name}?transactions=false`)).toMatchObject({
        account: payer.accountId,
        transactions: [],
      })
    }
    expect(await refusal(`accounts/${'A'.repeat(55)}`)).toEqual([404, 'Not found'])
  })
})

describe('L13: time', () => {
  test('an account’s transactions, newest first, by kind and time', async () => {
    const account = await get(`accounts/${payer.accountId}?limit=2`)
    const shown = account['transactions'] as Row[]
    expect(shown.map(({ name }) => name)).toEqual(['ETHEREUMTRANSACTION', 'ETHEREUMTRANSACTION'])
    expect(String((account['links'] as Row)['next'])).toContain('timestamp=lt:')
    const before = `accounts/${payer.accountId}?timestamp=lt:${String(result['timestamp'])}`
    expect(
      await rows(`${before}&transactiontype=ethereumtransaction&limit=1`, 'transactions'),
    ).toMatchObject([
      { consensus_timestamp: (await get(`contracts/results/${paid}`))['timestamp'] },
    ])
  })

  test('balances as they were', async () => {
    const at = String((await get(`contracts/results/${paid}`))['timestamp'])
    const balance = async (filter: string) => {
      const query = `account.id=${other.accountId}&timestamp=${filter}`
      return (await rows(`balances?${query}`, 'balances'))[0]?.['balance']
    }
    const now = (await rows(`balances?account.id=${other.accountId}`, 'balances'))[0]?.['balance']
    expect(await balance(at)).toBe(now)
    expect(await balance(`lt:${at}`)).toBe(Number(now) - 5_000_000_000)
    const then = await get(`accounts/${other.accountId}?timestamp=lt:${at}`)
    expect(then['balance']).toMatchObject({ balance: Number(now) - 5_000_000_000 })
    expect(await rows('balances?timestamp=1.0', 'balances')).toEqual([])
  })

  test('prices and rates as they were, and a contract not before it was there', async () => {
    const before = `?timestamp=${String(result['timestamp'])}`
    devnet.controls.setGasPriceTinybar(200n)
    await devnet.controls.setExchangeRate({ hbar: 1, cents: 9 })
    expect([await gas(), await gas(before)]).toEqual([200, 109])
    expect([await cents(), await cents(before)]).toEqual([9, 234_500])
    devnet.controls.setGasPriceTinybar(109n)
    await devnet.controls.setExchangeRate({ hbar: 30_000, cents: 234_500 })
    const created = String((await get(`contracts/${logging}`))['created_timestamp'])
    expect(await get(`contracts/${logging}?timestamp=${created}`)).toMatchObject({
      evm_address: logging,
    })
    expect(await refusal(`contracts/${logging}?timestamp=lt:${created}`)).toEqual([
      404,
      'Not found',
    ])
  })

  test('blocks’ ranges do not overlap, and what lies in a range is what its block counts', async () => {
    const sdk = sdkClient(devnet, payer)
    for (let index = 0; index < 3; index += 1) {
      await client.sendTransaction({ to: logging, data: '0xabcd', gasPrice })
      await (
        await new TransferTransaction()
          .addHbarTransfer(payer.accountId, new Hbar(-1))
          .addHbarTransfer(other.accountId, new Hbar(1))
          .execute(sdk)
      ).getReceipt(sdk)
    }
    sdk.close()
    const blocks = (await rows('blocks?limit=20&order=asc&block.number=gt:0x5', 'blocks')) as {
      count: number
      timestamp: { from: string; to: string }
    }[]
    let end = ''
    for (const { count, timestamp } of blocks) {
      expect(timestamp.from > end).toBe(true)
      expect(timestamp.to >= timestamp.from).toBe(true)
      end = timestamp.to
      const within = `timestamp=gte:${timestamp.from}&timestamp=lte:${timestamp.to}`
      expect(await rows(`transactions?${within}`, 'transactions')).toHaveLength(count)
    }
  })
})

describe('L13: units', () => {
  test('amount and prices of a result are tinybar, and with hbar=false weibar', async () => {
    expect(await get(`contracts/results/${paid}`)).toMatchObject({ amount: 5_000_000_000 })
    const path = `${devnet.mirrorUrl}/api/v1/contracts/results/${paid}?hbar=false`
    const text = await (await fetch(path)).text()
    expect(text).toContain('"amount":50000000000000000000,')
    expect(text).toContain(`"max_fee_per_gas":null`)
    expect(text).toContain(`"gas_price":"${toHex(gasPrice)}"`)
    expect(await get(`contracts/results/${paid}?hbar=true`)).toMatchObject({ gas_price: '0x6d' })
    const listed = await rows(`contracts/results?hbar=false&limit=1`, 'results')
    expect(listed).toMatchObject([{ gas_price: toHex(gasPrice) }])
  })
})

describe('L13: routes', () => {
  test('a result by its contract and its time', async () => {
    const at = String(result['timestamp'])
    expect(await get(`contracts/${logging}/results/${at}`)).toEqual(result)
    expect(await refusal(`contracts/${reverting}/results/${at}`)).toEqual([404, 'Not found'])
  })

  test('a contract’s state, all of it or one slot', async () => {
    expect(await rows(`contracts/${logging}/state`, 'state')).toEqual([])
    expect(await rows(`contracts/${logging}/state?slot=0x0`, 'state')).toEqual([])
    const schedules = await rows(`contracts/${SCHEDULES}/state?limit=100`, 'state')
    const [first] = schedules as { slot: Hex; value: Hex }[]
    expect(first?.slot).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await rows(`contracts/${SCHEDULES}/state?slot=${first?.slot}`, 'state')).toMatchObject([
      { slot: first?.slot, value: first?.value, contract_id: '0.0.363' },
    ])
  })

  test('POST contracts/call calls, estimates, and refuses in the mirror node’s words', async () => {
    const call = { to: logging, data: '0xabcd', from: payer.evmAddress }
    expect(await post(call)).toEqual({ status: 200, body: { result: '0x' } })
    // SDKs leave the prefix out.
    const bare = { to: reverting.slice(2), data: 'dead', from: payer.evmAddress.slice(2) }
    expect(JSON.stringify(await post(bare))).toContain('"data":"0xdead"')
    const estimate = await post({ ...call, estimate: true })
    expect(BigInt(String(estimate.body['result']))).toBeGreaterThan(21_000n)
    expect(await post({ to: reverting, data: '0xdead', block: 'latest' })).toEqual({
      status: 400,
      body: {
        _status: {
          messages: [{ message: 'CONTRACT_REVERT_EXECUTED', detail: '', data: '0xdead' }],
        },
      },
    })
    expect((await post({ to: 'x' })).status).toBe(400)
    const poor = { to: logging, from: other.evmAddress, value: 2_000_000_000_000_000 }
    expect(await post(poor)).toMatchObject({
      status: 400,
      body: { _status: { messages: [{ message: 'INSUFFICIENT_PAYER_BALANCE' }] } },
    })
  })

  test('the calls of a transaction, outermost first', async () => {
    expect(await rows(`contracts/results/${hash}/actions`, 'actions')).toMatchObject([
      {
        call_depth: 0,
        call_operation_type: 'CALL',
        caller: payer.accountId,
        from: payer.evmAddress,
        index: 0,
        input: '0xabcd',
        recipient_type: 'CONTRACT',
        result_data_type: 'OUTPUT',
        to: logging,
        value: 0,
      },
    ])
  })

  test('contracts, newest first', async () => {
    expect(await rows('contracts?limit=2', 'contracts')).toMatchObject([
      { evm_address: reverting },
      { evm_address: logging },
    ])
  })

  test('one that a mirror node has and this one does not says so', async () => {
    for (const path of [
      'accounts/0.0.2/allowances/tokens',
      'network/stake',
      'accounts/0.0.2/rewards',
    ]) {
      expect([path, await refusal(path)]).toEqual([
        path,
        [501, `Not implemented by this local mirror node: /api/v1/${path}`],
      ])
    }
  })

  test('a browser asks first', async () => {
    const response = await fetch(`${devnet.mirrorUrl}/api/v1/contracts/call`, {
      method: 'OPTIONS',
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-methods')).toContain('POST')
    expect(response.headers.get('access-control-allow-headers')).toBe('*')
  })
})

test('L13: a call that the network made for a schedule is listed only with internal=true', async () => {
  const to = await deploy(SCHEDULING_CONTRACT)
  await client.sendTransaction({ to, value: parseEther('100'), gasPrice })
  const args = [to, BigInt(devnet.nowSeconds() + 10), 100_000n, 0n, '0x'] as const
  const data = encodeFunctionData({ abi: scheduleServiceAbi, functionName: 'scheduleCall', args })
  await client.sendTransaction({ to, data, gas: 3_000_000n, gasPrice })
  await devnet.controls.advanceSeconds(20)
  const [execution] = devnet.executions()
  const listed = async (query = '') =>
    (await rows(`contracts/${to}/results?limit=100${query}`, 'results')).map((row) => row['hash'])
  expect(await listed()).toHaveLength(3)
  expect(await listed('&internal=true')).toEqual([execution?.hash, ...(await listed())])
  expect(await get(`contracts/results/${execution?.hash}`)).toMatchObject({ result: 'SUCCESS' })
})
