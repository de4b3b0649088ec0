import {
  type Hex,
  keccak256,
  numberToHex,
  parseEther,
  parseGwei,
  stringToHex,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevnetAccount } from '../ledger/genesis.ts'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import {
  accountNamed,
  mirror,
  rpc,
  type TestClient,
  viemClient,
} from '../testing/test-clients.fixture.ts'

let devnet: Devnet
let sender: DevnetAccount
let receiver: DevnetAccount
let client: TestClient
let gasPrice: bigint

beforeAll(async () => {
  devnet = await startDevnet()
  sender = accountNamed(devnet, 'agent-1')
  receiver = accountNamed(devnet, 'agent-2')
  client = viemClient(devnet, sender)
  gasPrice = await client.getGasPrice()
})
afterAll(async () => {
  await devnet.stop()
})

async function signed(changes: { [field: string]: unknown } = {}): Promise<Hex> {
  const nonce = await client.getTransactionCount({ address: sender.evmAddress })
  const base = { chainId: 296, type: 'legacy', to: receiver.evmAddress, value: parseEther('1') }
  const transaction = { ...base, gas: 21_000n, gasPrice, nonce, ...changes }
  return client.account.type === 'local'
    ? client.account.signTransaction(transaction as never)
    : '0x'
}

async function refusal(changes: { [field: string]: unknown }): Promise<unknown> {
  const { error } = await rpc(devnet, 'eth_sendRawTransaction', [await signed(changes)])
  return error
}

describe('L2: eth_sendRawTransaction refuses, in the relay’s words', () => {
  test('WRONG_NONCE: a used nonce is too low', async () => {
    await rpc(devnet, 'eth_sendRawTransaction', [await signed()])
    const current = await client.getTransactionCount({ address: sender.evmAddress })
    expect(await refusal({ nonce: 0 })).toEqual({
      code: -32000,
      message: `Nonce too low. Provided nonce: 0, current nonce: ${current}`,
    })
  })

  test('WRONG_NONCE: a future nonce is too high, and never gets a receipt', async () => {
    const current = await client.getTransactionCount({ address: sender.evmAddress })
    const raw = await signed({ nonce: current + 1 })
    const { error } = await rpc(devnet, 'eth_sendRawTransaction', [raw])
    expect(error).toEqual({
      code: -32000,
      message: `Nonce too high. Provided nonce: ${current + 1}, current nonce: ${current}`,
    })
    await rpc(devnet, 'eth_sendRawTransaction', [await signed()])
    const { result } = await rpc(devnet, 'eth_getTransactionReceipt', [keccak256(raw)])
    expect(result).toBeNull()
  })

  test('INSUFFICIENT_GAS_PRICE: below the network’s price', async () => {
    expect(await refusal({ gasPrice: gasPrice - 1n })).toMatchObject({ code: -32009 })
  })

  test('L20: the block header states the price in weibar; in tinybar, as on old relays, a wallet’s fee is refused', async () => {
    const derived = { type: 'eip1559', gasPrice: undefined, maxPriorityFeePerGas: 0n }
    const maxFeePerGas = (await client.getBlock()).baseFeePerGas ?? 0n
    expect(maxFeePerGas).toBe(gasPrice)
    expect(await refusal({ ...derived, maxFeePerGas })).toBeUndefined()
    devnet.controls.setOldRelay(true)
    expect((await client.getBlock()).baseFeePerGas).toBe(109n)
    expect(await refusal({ ...derived, maxFeePerGas: 131n })).toMatchObject({ code: -32009 })
    devnet.controls.setOldRelay(false)
  })

  test('the header of an old block keeps its price', async () => {
    const before = await client.getBlock()
    devnet.controls.setGasPriceTinybar(200n)
    const { baseFeePerGas } = await client.getBlock({ blockNumber: before.number })
    devnet.controls.setGasPriceTinybar(109n)
    expect(baseFeePerGas).toBe(gasPrice)
  })

  test.each([
    ['0x', -32602, /Invalid/],
    ['0xzz', -32602, /Invalid/],
    ['0x02c0', -32000, /Invalid/],
    ['0xdeadbeef', -32000, /Invalid/],
    ['0x03f8', -32611, /Unsupported transaction type/],
    ['0x04f8', -32611, /Unsupported transaction type/],
  ])('%s: no transaction, or one of a type without support', async (raw, code, message) => {
    const { error } = await rpc(devnet, 'eth_sendRawTransaction', [raw])
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  test('value for the zero address', async () => {
    expect(await refusal({ to: zeroAddress, value: parseEther('1') })).toEqual({
      code: -32003,
      message: 'Transaction rejected: INVALID_SOLIDITY_ADDRESS',
    })
  })

  test('a value below one tinybar', async () => {
    expect(await refusal({ value: 1n })).toEqual({
      code: -32602,
      message: "Value can't be non-zero and less than 10_000_000_000 wei which is 1 tinybar",
    })
  })

  test('another chain id', async () => {
    expect(await refusal({ chainId: 1 })).toEqual({
      code: -32000,
      message: 'ChainId (0x1) not supported. The correct chainId is 0x128',
    })
  })

  test('INSUFFICIENT_PAYER_BALANCE: value and gas at the offered price exceed the balance', async () => {
    expect(await refusal({ value: parseEther('100000') })).toEqual({
      code: -32000,
      message: 'Insufficient funds for transfer',
    })
    expect(await refusal({ gas: 15_000_000n, gasPrice: gasPrice * 1_000n })).toMatchObject({
      code: -32000,
    })
  })

  test('gas over 15 million, and gas below the intrinsic cost', async () => {
    expect(await refusal({ gas: 15_000_001n })).toMatchObject({ code: -32005 })
    expect(await refusal({ gas: 20_999n })).toMatchObject({ code: -32003 })
  })

  test('blob transactions, type 3', async () => {
    const { error } = await rpc(devnet, 'eth_sendRawTransaction', [`0x03${'ab'.repeat(200)}`])
    expect(error).toMatchObject({ code: -32611 })
  })

  test('L20: gas below what call data and access list cost, and creation code that is too long', async () => {
    const data = `0x${'ab'.repeat(1_000)}`
    expect(await refusal({ data, gas: 60_999n })).toMatchObject({
      code: -32003,
      message: expect.stringContaining("required '61000'"),
    })
    const accessList = [{ address: receiver.evmAddress, storageKeys: [`0x${'00'.repeat(32)}`] }]
    expect(await refusal({ type: 'eip2930', accessList })).toMatchObject({
      message: expect.stringContaining("required '25300'"),
    })
    const code = { to: undefined, value: 0n, data: `0x${'00'.repeat(49_153)}`, gas: 9_000_000n }
    expect(await refusal(code)).toMatchObject({ code: -32201 })
  })

  test('a sender unknown to the network', async () => {
    const stranger = privateKeyToAccount(generatePrivateKey())
    const raw = await stranger.signTransaction({
      chainId: 296,
      gas: 60_000n,
      gasPrice,
      type: 'legacy',
    })
    const { error } = await rpc(devnet, 'eth_sendRawTransaction', [raw])
    expect(error).toMatchObject({ code: -32001 })
  })

  test('call data over the relay’s limit', async () => {
    const data = `0x${'00'.repeat(131_073)}`
    expect(await refusal({ data, gas: 15_000_000n })).toMatchObject({ code: -32201 })
  })
})

describe('eth_sendRawTransaction takes', () => {
  test('when it answers, the transaction is already in a block, under the hash that the sender computed', async () => {
    const raw = await signed()
    const { result } = await rpc(devnet, 'eth_sendRawTransaction', [raw])
    const receipt = await client.getTransactionReceipt({ hash: result as Hex })
    expect(receipt).toMatchObject({ status: 'success', transactionHash: result })
  })

  test('L20: as relays before 0.79, a wrong nonce has a code of its own, and no request an id', async () => {
    devnet.controls.setOldRelay(true)
    const current = await client.getTransactionCount({ address: sender.evmAddress })
    expect(await refusal({ nonce: 0 })).toMatchObject({
      code: 32001,
      message: expect.stringMatching(/^Nonce too low/),
    })
    expect(await refusal({ nonce: current + 1 })).toMatchObject({ code: 32002 })
    devnet.controls.setOldRelay(false)
  })

  test('L3: types 0 and 2 alike; the network charges its own price, whatever was offered', async () => {
    const before = await client.getBalance({ address: sender.evmAddress })
    const hash = await client.sendTransaction({
      to: receiver.evmAddress,
      value: parseEther('2'),
      maxFeePerGas: gasPrice * 2n,
      maxPriorityFeePerGas: parseGwei('1'),
    })
    const receipt = await client.waitForTransactionReceipt({ hash })
    const after = await client.getBalance({ address: sender.evmAddress })
    expect(receipt).toMatchObject({ type: 'eip1559', effectiveGasPrice: gasPrice })
    expect(before - after).toBe(parseEther('2') + receipt.gasUsed * gasPrice)
  })

  test('L20: an access list, at both edges; shown is what was offered', async () => {
    const accessList = [{ address: receiver.evmAddress, storageKeys: [`0x${'00'.repeat(32)}`] }]
    const raw = await signed({ type: 'eip2930', accessList, gas: 30_000n, gasPrice: gasPrice * 2n })
    const { result: hash } = await rpc(devnet, 'eth_sendRawTransaction', [raw])
    const { result } = await rpc(devnet, 'eth_getTransactionByHash', [hash])
    expect(result).toMatchObject({ accessList, gasPrice: numberToHex(gasPrice * 2n) })
    const { body } = await mirror(devnet, `/api/v1/contracts/results/${String(hash)}`)
    expect(body['access_list']).toEqual([
      { address: receiver.evmAddress, storage_keys: accessList[0]?.storageKeys },
    ])
  })

  test('value to an unknown address creates a hollow account, which takes the gas of a creation', async () => {
    const address = '0x1234567890123456789012345678901234567890'
    const paid = { to: address, value: parseEther('3'), gasPrice } as const
    const starved = await client.sendTransaction({ ...paid, gas: 21_000n })
    expect((await client.getTransactionReceipt({ hash: starved })).status).toBe('reverted')
    expect((await mirror(devnet, `/api/v1/accounts/${address}`)).status).toBe(404)
    expect(await client.estimateGas({ ...paid, account: client.account })).toBe(610_000n)
    await client.sendTransaction(paid)
    const response = await fetch(`${devnet.mirrorUrl}/api/v1/accounts/${address}`)
    expect(await response.json()).toMatchObject({
      evm_address: address,
      key: null,
      balance: { balance: 300_000_000 },
    })
  })

  test('the long-zero address of an account as its alias', async () => {
    const before = await client.getBalance({ address: receiver.evmAddress })
    const number = Number(receiver.accountId.split('.')[2])
    const longZero = `0x${number.toString(16).padStart(40, '0')}` as const
    await client.sendTransaction({ to: longZero, value: parseEther('1'), gasPrice })
    expect(await client.getBalance({ address: longZero })).toBe(before + parseEther('1'))
    expect(await client.getBalance({ address: receiver.evmAddress })).toBe(before + parseEther('1'))
  })

  test.for([
    [
      'the network’s own account',
      '0x0000000000000000000000000000000000000062',
      'INVALID_CONTRACT_ID',
    ],
    ['a system contract', '0x0000000000000000000000000000000000000168', 'INVALID_CONTRACT_ID'],
    [
      'an account that does not exist',
      '0x00000000000000000000000000000000000f4240',
      'INVALID_ALIAS_KEY',
    ],
  ] as const)(
    'value for the long-zero address of %s: it fails, costs its gas and moves nothing',
    async ([, to, reason]) => {
      const [before, pending] = await Promise.all([
        client.getBalance({ address: sender.evmAddress }),
        client.getBalance({ address: to }),
      ])
      const nonce = await client.getTransactionCount({ address: sender.evmAddress })
      const hash = await client.sendTransaction({
        to,
        value: parseEther('1'),
        gas: 60_000n,
        gasPrice,
      })
      const { result: receipt } = await rpc(devnet, 'eth_getTransactionReceipt', [hash])
      expect(receipt).toMatchObject({ status: '0x0', to, revertReason: stringToHex(reason) })
      const after = await client.getBalance({ address: sender.evmAddress })
      expect(before - after).toBe(60_000n * gasPrice)
      const fees = to.endsWith('62') ? 60_000n * gasPrice : 0n
      expect(await client.getBalance({ address: to })).toBe(pending + fees)
      expect(await client.getTransactionCount({ address: sender.evmAddress })).toBe(nonce + 1)
      const shown = await mirror(devnet, `/api/v1/contracts/results/${hash}`)
      expect(shown.body).toMatchObject({ call_result: '0x', result: reason, status: '0x0', to })
      const { body } = await mirror(devnet, '/api/v1/transactions?limit=1')
      expect(body['transactions']).toMatchObject([{ result: reason, name: 'ETHEREUMTRANSACTION' }])
    },
  )

  test('L12: no account is created at a long-zero address', async () => {
    const { status } = await mirror(
      devnet,
      '/api/v1/accounts/0x00000000000000000000000000000000000f4240',
    )
    expect(status).toBe(404)
    const newest = await mirror(devnet, '/api/v1/accounts?limit=1&order=desc')
    const [last] = newest.body['accounts'] as { account: string }[]
    const made = await devnet.createAccount({ name: 'next', balanceTinybar: 1n })
    expect(Number(made.accountId.slice(4))).toBe(Number(last?.account.slice(4)) + 1)
  })
})
