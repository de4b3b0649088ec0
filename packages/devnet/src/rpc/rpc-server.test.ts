import { exchangeRateAbi } from '@tallystick/contracts'
import {
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  keccak256,
  numberToHex,
  parseAbi,
  parseEther,
  type Signature,
  serializeTransaction,
  type TransactionSerializable,
} from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import { accountNamed, rpc, type TestClient, viemClient } from '../testing/test-clients.fixture.ts'
import {
  FORWARDING_CONTRACT,
  LOGGING_CONTRACT,
  REVERTING_CONTRACT,
} from '../testing/tiny-contracts.fixture.ts'

const EXCHANGE_RATE = '0x0000000000000000000000000000000000000168'
const TOPIC = `0x${'2a'.padStart(64, '0')}` as const
/** Enough for both parities to occur; signing is deterministic. */
const SIGNATURES = 12
const LOG_ABI = parseAbi(['function note(uint256 number)', 'error Refused(uint256 why)'])

let devnet: Devnet
let client: TestClient
let gasPrice: bigint

beforeAll(async () => {
  devnet = await startDevnet()
  client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
  gasPrice = await client.getGasPrice()
})
afterAll(async () => {
  await devnet.stop()
})

async function deploy(bytecode: Hex): Promise<`0x${string}`> {
  const hash = await client.deployContract({ abi: [], bytecode, gasPrice })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  if (contractAddress == null) throw new Error('nothing was deployed')
  return contractAddress
}

async function post(body: string): Promise<unknown> {
  return (await fetch(devnet.rpcUrl, { method: 'POST', body })).json()
}

function call(id: number, method: string): { [field: string]: unknown } {
  return { jsonrpc: '2.0', id, method, params: [] }
}

describe('viem works unmodified', () => {
  test('readContract: the exchange-rate contract at 0x168', async () => {
    const tinybar = await client.readContract({
      address: EXCHANGE_RATE,
      abi: exchangeRateAbi,
      functionName: 'tinycentsToTinybars',
      args: [782_000_000n],
    })
    expect(Number(tinybar) / 1e8).toBeCloseTo(1, 2)
  })

  test('deployContract, simulateContract, writeContract, waitForTransactionReceipt and getLogs', async () => {
    const address = await deploy(LOGGING_CONTRACT)
    const note = { address, abi: LOG_ABI, functionName: 'note', args: [7n] } as const
    const { request } = await client.simulateContract({ ...note, gasPrice })
    const hash = await client.writeContract(request)
    const receipt = await client.waitForTransactionReceipt({ hash })
    expect(receipt.logs).toHaveLength(1)
    const logs = await client.getLogs({ address, fromBlock: receipt.blockNumber })
    expect(logs).toMatchObject([{ transactionHash: hash, topics: [TOPIC] }])
    expect(logs[0]?.data).toBe(
      encodeFunctionData({ abi: LOG_ABI, functionName: 'note', args: [7n] }),
    )
  })

  test('a revert carries its data, so that custom errors and reasons can be named', async () => {
    const address = await deploy(REVERTING_CONTRACT)
    const reason = `0x08c379a0${encodeAbiParameters([{ type: 'string' }], ['too late']).slice(2)}`
    const { error } = await rpc(devnet, 'eth_call', [{ to: address, data: reason }, 'latest'])
    expect(error).toEqual({ code: 3, message: 'execution reverted: too late', data: reason })
    const custom = `${keccak256('0x526566757365642875696e7432353629').slice(0, 10)}${'9'.padStart(64, '0')}`
    const answer = await rpc(devnet, 'eth_estimateGas', [{ to: address, data: custom }])
    expect(answer.error).toEqual({
      code: 3,
      message: 'execution reverted: CONTRACT_REVERT_EXECUTED',
      data: custom,
    })
  })

  test('a reverted transaction has a receipt with status 0 and the reason', async () => {
    const to = await deploy(REVERTING_CONTRACT)
    const hash = await client.sendTransaction({ to, data: '0xdeadbeef', gas: 60_000n, gasPrice })
    const { result } = await rpc(devnet, 'eth_getTransactionReceipt', [hash])
    expect(result).toMatchObject({ status: '0x0', revertReason: '0xdeadbeef' })
  })

  test('blocks, transactions and receipts agree on the hash that the sender computed', async () => {
    const to = accountNamed(devnet, 'agent-2').evmAddress
    const hash = await client.sendTransaction({ to, value: parseEther('1'), gasPrice })
    const transaction = await client.getTransaction({ hash })
    const { blockNumber, blockHash } = transaction
    const whole = await client.getBlock({ blockNumber, includeTransactions: true })
    const hashes = await client.getBlock({ blockHash })
    const receipts = await rpc(devnet, 'eth_getBlockReceipts', [blockHash])
    const byIndex = await client.getTransaction({ blockNumber, index: 0 })
    expect(whole.transactions).toEqual([transaction])
    expect(hashes.transactions).toEqual([hash])
    expect(receipts.result).toMatchObject([{ transactionHash: hash }])
    expect(byIndex.hash).toBe(hash)
    expect(transaction).toMatchObject({ value: parseEther('1'), gasPrice, chainId: 296 })
    expect(await client.getBlockTransactionCount({ blockNumber })).toBe(1)
  })

  test.each([
    ['legacy', 'v'],
    ['eip1559', 'v'],
    ['eip1559', 'yParity'],
  ] as const)('a transaction of type %s carries its signature, with %s', async (type, parity) => {
    const price =
      type === 'legacy' ? { gasPrice } : { maxFeePerGas: gasPrice, maxPriorityFeePerGas: 0n }
    const plain = { to: client.account.address, gas: 21_000n, type, ...price } as const
    for (let count = 0; count < SIGNATURES; count += 1) {
      const hash = await client.sendTransaction(plain as never)
      const shown = await client.getTransaction({ hash })
      const { r, s, v, nonce, value, input: data } = shown
      const unsigned = { ...plain, chainId: 296, nonce, value, data } as TransactionSerializable
      const signature = type === 'legacy' ? { r, s, v } : { r, s, yParity: Number(shown[parity]) }
      expect(keccak256(serializeTransaction(unsigned, signature as Signature))).toBe(hash)
    }
  })

  test('state of earlier blocks', async () => {
    const { evmAddress: address } = accountNamed(devnet, 'agent-3')
    const blockNumber = await client.getBlockNumber()
    const before = await client.getBalance({ address })
    await client.sendTransaction({ to: address, value: parseEther('5'), gasPrice })
    expect(await client.getBalance({ address, blockNumber })).toBe(before)
    expect(await client.getBalance({ address })).toBe(before + parseEther('5'))
  })

  test('state of a block named by its hash, with a transaction in it or without', async () => {
    const { evmAddress: address, accountId } = accountNamed(devnet, 'agent-4')
    const hash = await client.sendTransaction({ to: address, value: parseEther('5'), gasPrice })
    const { blockHash } = await client.getTransactionReceipt({ hash })
    const paid = await rpc(devnet, 'eth_getBalance', [address, { blockHash }])
    await devnet.controls.setBalanceTinybar(accountId, 7n)
    const { hash: idleHash } = await client.getBlock()
    await client.sendTransaction({ to: address, value: parseEther('5'), gasPrice })
    const set = await rpc(devnet, 'eth_getBalance', [address, { blockHash: idleHash }])
    expect(paid.result).toBe(numberToHex(parseEther('10005')))
    expect(set.result).toBe(numberToHex(70_000_000_000n))
    for (const unknown of [hash, '0x1']) {
      const { error } = await rpc(devnet, 'eth_getBalance', [address, { blockHash: unknown }])
      expect(error).toMatchObject({ code: -39012, message: 'Unknown block' })
    }
  })

  test('fee history, in the relay’s shape', async () => {
    const history = await client.getFeeHistory({ blockCount: 20, rewardPercentiles: [50] })
    expect(history.baseFeePerGas).toHaveLength(11)
    expect(new Set(history.baseFeePerGas)).toEqual(new Set([gasPrice]))
    expect(history.reward).toEqual(Array.from({ length: 10 }, () => [0n]))
  })

  test('filters: logs and blocks since the last poll', async () => {
    const address = await deploy(LOGGING_CONTRACT)
    const logs = await client.createEventFilter({ address })
    const blocks = await client.createBlockFilter()
    const hash = await client.sendTransaction({ to: address, data: '0x01', gasPrice })
    const changes = await client.getFilterChanges({ filter: logs })
    expect(changes).toMatchObject([{ transactionHash: hash }])
    const { blockHash } = await client.getTransactionReceipt({ hash })
    expect(await client.getFilterChanges({ filter: blocks })).toContain(blockHash)
    expect(await client.getFilterChanges({ filter: logs })).toEqual([])
    expect(await client.uninstallFilter({ filter: logs })).toBe(true)
    expect((await rpc(devnet, 'eth_getFilterChanges', [logs.id])).error).toMatchObject({
      code: -32001,
    })
  })

  test('a call sees the time and number of the last block', async () => {
    const { number, timestamp } = await client.getBlock()
    const { data } = await client.call({ data: '0x425f524360205260405ff3' })
    expect(data).toBe(
      encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [timestamp, number]),
    )
  })

  test('L4: block time trails consensus time by two seconds', async () => {
    await client.sendTransaction({ to: client.account.address, gasPrice })
    const { timestamp } = await client.getBlock()
    const lag = devnet.nowSeconds() - Number(timestamp)
    expect(lag).toBeGreaterThanOrEqual(2)
    expect(lag).toBeLessThanOrEqual(3)
  })

  test('a contract at an address that had value before it', async () => {
    const nonce = await client.getTransactionCount({ address: client.account.address })
    const address = getContractAddress({ from: client.account.address, nonce: BigInt(nonce + 1) })
    await client.sendTransaction({ to: address, value: parseEther('1'), gasPrice })
    expect(await deploy(LOGGING_CONTRACT)).toBe(address.toLowerCase())
    const response = await fetch(`${devnet.mirrorUrl}/api/v1/contracts/${address}`)
    expect(response.status).toBe(200)
  })

  test('a contract’s payments to others arrive', async () => {
    const to = await deploy(FORWARDING_CONTRACT)
    const { evmAddress } = accountNamed(devnet, 'agent-4')
    const before = await client.getBalance({ address: evmAddress })
    const data = encodeAbiParameters([{ type: 'address' }], [evmAddress])
    await client.sendTransaction({ to, data, value: parseEther('2'), gasPrice })
    expect(await client.getBalance({ address: evmAddress })).toBe(before + parseEther('2'))
  })
})

describe('the edge answers as the relay does', () => {
  test('a batch of up to 100 calls, each on its own', async () => {
    const answers = await post(JSON.stringify([call(1, 'eth_chainId'), call(2, 'eth_nonsense')]))
    expect(answers).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x128' },
      {
        jsonrpc: '2.0',
        id: 2,
        error: {
          code: -32601,
          message: expect.stringMatching(/^\[Request ID: [0-9a-f-]{36}\] Method/),
        },
      },
    ])
    const many = Array.from({ length: 101 }, (_, id) => call(id, 'eth_chainId'))
    expect(await post(JSON.stringify(many))).toMatchObject({ error: { code: -32203 } })
  })

  test('GET with a hint, bad JSON with -32700, a non-request with -32600', async () => {
    const hint = await (await fetch(devnet.rpcUrl)).text()
    expect(hint).toContain('JSON-RPC endpoint')
    expect(await post('{')).toMatchObject({ error: { code: -32700 } })
    expect(await post('{"jsonrpc":"2.0","id":1}')).toMatchObject({ error: { code: -32600 } })
    expect(await post('[]')).toMatchObject({ error: { code: -32600 } })
  })

  test('browsers from any origin, including preflights', async () => {
    const preflight = await fetch(devnet.rpcUrl, { method: 'OPTIONS' })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST')
  })

  test('a body over one megabyte with 413', async () => {
    const response = await fetch(devnet.rpcUrl, { method: 'POST', body: 'x'.repeat(1_048_577) })
    expect(response.status).toBe(413)
  })

  test.each([
    'eth_getProof',
    'eth_signTransaction',
    'eth_sendTransaction',
    'eth_sign',
    'eth_coinbase',
    'eth_blobBaseFee',
    'engine_newPayloadV4',
    'txpool_content',
  ])('%s is not supported', async (method) => {
    expect((await rpc(devnet, method)).error).toEqual({
      code: -32601,
      message: 'Unsupported JSON-RPC method',
    })
  })

  test('what does not exist is null', async () => {
    const hash = `0x${'00'.repeat(32)}`
    for (const [method, parameters] of [
      ['eth_getTransactionByHash', [hash]],
      ['eth_getTransactionReceipt', [hash]],
      ['eth_getBlockByHash', [hash, false]],
      ['eth_getBlockByNumber', ['0xffffff', false]],
    ] as const) {
      expect((await rpc(devnet, method, parameters)).result).toBeNull()
    }
  })

  test('net_version, web3_clientVersion, web3_sha3, eth_syncing, eth_accounts', async () => {
    expect((await rpc(devnet, 'net_version')).result).toBe('296')
    expect((await rpc(devnet, 'web3_clientVersion')).result).toMatch(/^tallystick-devnet\//)
    expect((await rpc(devnet, 'web3_sha3', ['0x'])).result).toBe(keccak256('0x'))
    expect((await rpc(devnet, 'eth_syncing')).result).toBe(false)
    expect((await rpc(devnet, 'eth_accounts')).result).toEqual([])
  })
})
