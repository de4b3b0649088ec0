import { Hbar, Status, TransferTransaction } from '@hiero-ledger/sdk'
import { manualClock } from '@tallystick/service-kit'
import { parseEther } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from './start-devnet.ts'
import {
  accountNamed,
  mirror,
  rpc,
  type TestClient,
  viemClient,
} from './testing/test-clients.fixture.ts'
import { sdkClient } from './testing/transfer.fixture.ts'

// The ledger's clock stands still here, so a lag ends when the test says so.
const clock = manualClock(1_800_000_000_000)

let devnet: Devnet
let client: TestClient
let gasPrice: bigint

beforeAll(async () => {
  devnet = await startDevnet({ clock })
  client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
  gasPrice = await client.getGasPrice()
})
afterEach(() => {
  devnet.controls.setReadLagMs(0)
  devnet.controls.setMirrorLagMs(0)
  devnet.controls.setNonceLagMs(0)
  devnet.controls.setUnavailable({ rpc: false, mirror: false, consensus: false })
  clock.advanceMs(60_000)
})
afterAll(async () => {
  await devnet.stop()
})

const receiver = '0x00000000000000000000000000000000000003ea'

async function sendOne(): Promise<`0x${string}`> {
  return client.sendTransaction({ to: receiver, value: parseEther('1'), gas: 21_000n, gasPrice })
}

describe('the injected clock', () => {
  test('is the ledger’s time', async () => {
    expect(devnet.nowSeconds()).toBe(Math.floor(clock.unixMs() / 1000))
    await sendOne()
    const { timestamp } = await client.getBlock()
    expect(Number(timestamp)).toBe(devnet.nowSeconds() - 2)
  })
})

describe('filters', () => {
  test('a filter unused for five minutes is gone', async () => {
    const { result: filter } = await rpc(devnet, 'eth_newBlockFilter')
    clock.advanceMs(300_000)
    expect((await rpc(devnet, 'eth_getFilterChanges', [filter])).result).toBeInstanceOf(Array)
    clock.advanceMs(300_001)
    expect((await rpc(devnet, 'eth_getFilterChanges', [filter])).error).toMatchObject({
      code: -32001,
    })
  })
})

describe('read lag', () => {
  test('JSON-RPC shows neither receipt, balance nor block until the lag is over', async () => {
    const before = await client.getBalance({ address: receiver })
    devnet.controls.setReadLagMs(10_000)
    const number = await client.getBlockNumber({ cacheTime: 0 })
    const hash = await sendOne()
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    expect((await rpc(devnet, 'eth_getTransactionByHash', [hash])).result).toBeNull()
    expect(await client.getBalance({ address: receiver })).toBe(before)
    expect(await client.getBlockNumber({ cacheTime: 0 })).toBe(number)
    clock.advanceMs(9_999)
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    clock.advanceMs(1)
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toMatchObject({
      status: '0x1',
    })
    expect(await client.getBalance({ address: receiver })).toBe(before + parseEther('1'))
  })

  test('the mirror node has its own lag, for transactions and balances', async () => {
    const path = '/api/v1/transactions?limit=1'
    const newest = async () => JSON.stringify((await mirror(devnet, path)).body['transactions'])
    const balance = async () => (await mirror(devnet, '/api/v1/accounts/0.0.1002')).body['balance']
    const before = { transactions: await newest(), balance: await balance() }
    devnet.controls.setMirrorLagMs(5_000)
    const hash = await sendOne()
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).not.toBeNull()
    expect(await newest()).toBe(before.transactions)
    expect(await balance()).toMatchObject({
      balance: (before.balance as { balance: number }).balance,
    })
    expect((await mirror(devnet, `/api/v1/contracts/results/${hash}`)).status).toBe(404)
    clock.advanceMs(5_000)
    expect(await newest()).not.toBe(before.transactions)
    expect((await mirror(devnet, `/api/v1/contracts/results/${hash}`)).status).toBe(200)
  })

  test('the mirror node does not list an account before its time', async () => {
    devnet.controls.setMirrorLagMs(5_000)
    const { accountId } = await devnet.createAccount({ name: 'unseen', balanceTinybar: 7n })
    const path = `/api/v1/accounts?account.id=${accountId}`
    expect((await mirror(devnet, path)).body['accounts']).toEqual([])
    clock.advanceMs(5_000)
    expect((await mirror(devnet, path)).body['accounts']).toMatchObject([{ account: accountId }])
  })

  test('nonces may lag behind receipts', async () => {
    const address = client.account.address
    const before = await client.getTransactionCount({ address })
    devnet.controls.setNonceLagMs(8_000)
    await sendOne().catch(() => undefined)
    expect(await client.getTransactionCount({ address })).toBe(before)
    clock.advanceMs(8_000)
    expect(await client.getTransactionCount({ address })).toBe(before + 1)
  })

  test('the nonce at an older block stays the same, however nonces lag', async () => {
    const address = client.account.address
    const blockNumber = await client.getBlockNumber({ cacheTime: 0 })
    const before = await client.getTransactionCount({ address, blockNumber })
    await sendOne()
    clock.advanceMs(10_000)
    devnet.controls.setNonceLagMs(8_000)
    expect(await client.getTransactionCount({ address })).toBe(before + 1)
    expect(await client.getTransactionCount({ address, blockNumber })).toBe(before)
  })
})

describe('L15: faults', () => {
  test('a dropped transaction is answered with its hash and never lands', async () => {
    const address = client.account.address
    const before = await client.getTransactionCount({ address })
    devnet.controls.dropNextTransactions(1)
    const hash = await sendOne()
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    expect(await client.getTransactionCount({ address })).toBe(before)
    // Signing is deterministic: the same bytes again, which now land.
    expect(await sendOne()).toBe(hash)
    expect(await client.getTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
  })

  test('an edge that is cut off answers nothing, and comes back', async () => {
    devnet.controls.setUnavailable({ rpc: true })
    await expect(rpc(devnet, 'eth_chainId')).rejects.toThrow('fetch failed')
    await expect(fetch(devnet.rpcUrl)).rejects.toThrow('fetch failed')
    await expect(fetch(`${devnet.rpcUrl}/other`, { method: 'POST' })).rejects.toThrow(
      'fetch failed',
    )
    expect((await mirror(devnet, '/api/v1/blocks')).status).toBe(200)
    devnet.controls.setUnavailable({ rpc: false, mirror: true })
    await expect(mirror(devnet, '/api/v1/blocks')).rejects.toThrow('fetch failed')
    expect((await rpc(devnet, 'eth_chainId')).result).toBe('0x128')
    devnet.controls.setUnavailable({ mirror: false, consensus: true })
    const own = sdkClient(devnet, accountNamed(devnet, 'agent-2')).setMaxAttempts(1)
    const transfer = () =>
      new TransferTransaction()
        .addHbarTransfer('0.0.1007', new Hbar(-1))
        .addHbarTransfer('0.0.1002', new Hbar(1))
        .execute(own)
    await expect(transfer()).rejects.toThrow(/UNAVAILABLE|max attempts/i)
    devnet.controls.setUnavailable({ consensus: false })
    const again = sdkClient(devnet, accountNamed(devnet, 'agent-2'))
    const response = await new TransferTransaction()
      .addHbarTransfer('0.0.1007', new Hbar(-1))
      .addHbarTransfer('0.0.1002', new Hbar(1))
      .execute(again)
    expect((await response.getReceipt(again)).status).toBe(Status.Success)
    own.close()
    again.close()
  })

  test('a new gas price is quoted, required and charged', async () => {
    devnet.controls.setGasPriceTinybar(200n)
    expect(await client.getGasPrice()).toBe(2_000_000_000_000n)
    await expect(sendOne()).rejects.toThrow(/below configured minimum/)
    const raised = await client.getGasPrice()
    const hash = await client.sendTransaction({ to: receiver, gasPrice: raised * 2n })
    expect((await client.getTransactionReceipt({ hash })).effectiveGasPrice).toBe(raised)
    devnet.controls.setGasPriceTinybar(109n)
  })

  test('L7: a new exchange rate is the same in the contract, the mirror node and the fees', async () => {
    await devnet.controls.setExchangeRate({ hbar: 1, cents: 100 })
    const { data } = await client.call({
      to: '0x0000000000000000000000000000000000000168',
      // tinycentsToTinybars(10^10): a dollar is an HBAR.
      data: `0x2e3cff6a${(10n ** 10n).toString(16).padStart(64, '0')}`,
    })
    expect(BigInt(data ?? 0)).toBe(10n ** 8n)
    const { body } = await mirror(devnet, '/api/v1/network/exchangerate')
    expect(body['current_rate']).toMatchObject({ cent_equivalent: 100, hbar_equivalent: 1 })
    await devnet.controls.setExchangeRate({ hbar: 30_000, cents: 234_500 })
  })
})

describe('devnet_* over JSON-RPC', () => {
  test('does what the controls do', async () => {
    const before = devnet.nowSeconds()
    expect(await rpc(devnet, 'devnet_advanceSeconds', [90])).toMatchObject({ result: null })
    expect((await rpc(devnet, 'devnet_nowSeconds')).result).toBe(before + 90)
    await rpc(devnet, 'devnet_setReadLagMs', [10_000])
    const hash = await sendOne()
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    await rpc(devnet, 'devnet_setReadLagMs', [0])
    expect((await rpc(devnet, 'eth_getTransactionReceipt', [hash])).result).not.toBeNull()
    await rpc(devnet, 'devnet_setUnavailable', [{ rpc: true }])
    await expect(rpc(devnet, 'eth_chainId')).rejects.toThrow('fetch failed')
    await rpc(devnet, 'devnet_setUnavailable', [{ rpc: false }])
    expect((await rpc(devnet, 'eth_chainId')).result).toBe('0x128')
    expect((await rpc(devnet, 'devnet_executions')).result).toEqual([])
  })

  test('makes funded accounts', async () => {
    const { result } = await rpc(devnet, 'devnet_createAccount', [
      { name: 'new', balanceTinybar: '500' },
    ])
    expect(result).toMatchObject({ name: 'new', keyType: 'ECDSA_SECP256K1' })
    expect((await rpc(devnet, 'devnet_accounts')).result).toContainEqual(result)
  })

  test('setAccountKey, with lists', async () => {
    const { accountId } = accountNamed(devnet, 'agent-9')
    const own = { kind: 'ED25519', publicKey: '07'.repeat(32) }
    const key = { kind: 'KEY_LIST', threshold: 1, keys: [own, { kind: 'KEY_LIST', keys: [own] }] }
    expect(await rpc(devnet, 'devnet_setAccountKey', [accountId, own])).toMatchObject({
      result: null,
    })
    const shown = (await mirror(devnet, `/api/v1/accounts/${accountId}`)).body['key']
    expect(shown).toEqual({ _type: 'ED25519', key: own.publicKey })
    expect(await rpc(devnet, 'devnet_setAccountKey', [accountId, key])).toMatchObject({
      result: null,
    })
    const short = { ...own, publicKey: '07' }
    expect((await rpc(devnet, 'devnet_setAccountKey', [accountId, short])).error).toMatchObject({
      code: -32602,
    })
  })

  test('an account that the treasury cannot fund is refused, and its name stays free', async () => {
    const account = { name: 'greedy', balanceTinybar: 10n ** 19n }
    await expect(devnet.createAccount(account)).rejects.toThrow('treasury')
    await expect(devnet.createAccount({ ...account, balanceTinybar: 1n })).resolves.toMatchObject({
      name: 'greedy',
    })
  })

  test('refuses what it does not understand', async () => {
    expect((await rpc(devnet, 'devnet_advanceSeconds', [-1])).error).toMatchObject({ code: -32602 })
    expect((await rpc(devnet, 'devnet_setReadLagMs', [])).error).toMatchObject({ code: -32602 })
    const twin = { name: 'treasury', balanceTinybar: '1' }
    expect((await rpc(devnet, 'devnet_createAccount', [twin])).error?.message).toMatch(
      /exists already/,
    )
    expect((await rpc(devnet, 'devnet_refuseNext', ['NOPE'])).error?.message).toMatch(
      /response code/,
    )
  })
})
