/** The submitting account against a node that misbehaves on purpose. */

import { createServer, type ServerResponse } from 'node:http'
import { LedgerUnavailable } from '@tallystick/x402'
import { keccak256, parseTransaction } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import { ConsensusUnavailable } from '../settlement.ts'
import { createEvmWallet, parseEvmKey } from './evm-wallet.ts'

const KEY = 'd289f268a25dc94a9c65c87995dabdd5d7d1ba7f0255ea97264bf7c54dc8e733'
const call = { to: `0x${'12'.repeat(20)}`, data: '0x12', gas: 100_000n } as const

/** What the node does with the next submissions; without a fault it accepts them. */
type Fault = 'drop' | 'take_and_drop' | { readonly code: number; readonly message: string }

type Taken = { readonly nonce: number; readonly hash: string; readonly price: object }

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function faultyNode(faults: Fault[] = []) {
  const node = {
    nonce: 5,
    taken: [] as Taken[],
    counts: 0,
    gasPrice: '0x3b9aca00',
    baseFee: '0x5',
    estimate: { error: { code: -32603, message: 'busy' } } as object,
  }
  const submit = (raw: `0x${string}`, response: ServerResponse): unknown => {
    const fault = faults.shift()
    const { nonce = 0, ...price } = parseTransaction(raw)
    if (typeof fault === 'object') return { error: fault }
    if (fault === 'drop') return response.destroy()
    if (nonce !== node.nonce) return { error: { code: -32000, message: 'nonce too low' } }
    node.nonce += 1
    node.taken.push({ nonce, hash: keccak256(raw), price })
    return fault === 'take_and_drop' ? response.destroy() : { result: keccak256(raw) }
  }
  const answers: Record<string, () => unknown> = {
    eth_gasPrice: () => ({ result: node.gasPrice }),
    eth_maxPriorityFeePerGas: () => ({ result: node.gasPrice }),
    eth_getBlockByNumber: () => ({
      result: {
        number: '0x1',
        timestamp: '0x1',
        transactions: [],
        ...(node.baseFee === '' ? {} : { baseFeePerGas: node.baseFee }),
      },
    }),
    eth_getBalance: () => ({ result: '0x5' }),
    eth_estimateGas: () => node.estimate,
    eth_getTransactionCount: () => {
      node.counts += 1
      return { result: `0x${node.nonce.toString(16)}` }
    },
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: number
        method: string
        params: [`0x${string}`]
      }
      const answer =
        method === 'eth_sendRawTransaction' ? submit(params[0], response) : answers[method]?.()
      if (response.destroyed) return
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(answer as object) }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const wallet = createEvmWallet({
    rpcUrl: `http://127.0.0.1:${port}`,
    chainId: 196,
    privateKey: KEY,
  })
  return { node, wallet }
}

describe('the queue of nonces', () => {
  test('20 concurrent transactions leave in the order requested, after one look at the chain', async () => {
    const { node, wallet } = await faultyNode()
    const sent = await Promise.all(Array.from({ length: 20 }, () => wallet.send(call)))
    expect(node.taken.map(({ nonce }) => nonce)).toEqual(
      Array.from({ length: 20 }, (_, at) => 5 + at),
    )
    expect(sent.map(({ hash }) => hash)).toEqual(node.taken.map(({ hash }) => hash))
    expect(node.counts).toBe(1)
  })

  test('a nonce taken elsewhere is read again', async () => {
    const { node, wallet } = await faultyNode()
    await wallet.send(call)
    node.nonce += 3
    expect(await wallet.send(call)).not.toHaveProperty('cause')
    expect(node.taken.at(-1)?.nonce).toBe(9)
  })

  test.each(['drop', 'take_and_drop'] as const)(
    'a cut connection (%s) leaves the outcome open, names the hash, and blocks nothing after it',
    async (fault) => {
      const { node, wallet } = await faultyNode([fault])
      const [lost, next] = await Promise.all([
        wallet.send(call),
        wallet.send({ ...call, gas: 100_001n }),
      ])
      expect(lost).toHaveProperty('cause')
      expect(next).not.toHaveProperty('cause')
      const hashes = node.taken.map(({ hash }) => hash)
      expect(hashes).toEqual(fault === 'drop' ? [next?.hash] : [lost?.hash, next?.hash])
    },
  )

  test('a transaction that the node already knows is on its way', async () => {
    const { wallet } = await faultyNode([{ code: -32000, message: 'already known' }])
    expect(await wallet.send(call)).not.toHaveProperty('cause')
  })

  test('no money for gas is the operator’s problem, and nothing was submitted', async () => {
    const message = 'insufficient funds for gas * price + value'
    const { node, wallet } = await faultyNode([{ code: -32000, message }])
    await expect(wallet.send(call)).rejects.toThrow(ConsensusUnavailable)
    expect(await wallet.send(call)).not.toHaveProperty('cause')
    expect(node.taken).toHaveLength(1)
  })

  test('any other refusal is 503, and nothing was submitted', async () => {
    const { node, wallet } = await faultyNode([{ code: -32005, message: 'rate limited' }])
    await expect(wallet.send(call)).rejects.toThrow(LedgerUnavailable)
    expect(node.taken).toHaveLength(0)
  })

  test('a nonce that stays refused ends after three attempts', async () => {
    const low = { code: -32000, message: 'nonce too low' }
    const { node, wallet } = await faultyNode([low, low, low])
    await expect(wallet.send(call)).rejects.toThrow(LedgerUnavailable)
    expect(node.counts).toBe(3)
  })

  test('a failed estimate is not a revert', async () => {
    const { wallet } = await faultyNode()
    await expect(wallet.simulate(call)).rejects.toThrow(LedgerUnavailable)
    expect(await wallet.gasBalance()).toBe(5n)
  })
})

describe('the price of gas', () => {
  test('is the node’s suggestion, with nothing added to the tip, since suggestions come from our own blocks', async () => {
    const { node, wallet } = await faultyNode()
    await wallet.send(call)
    const price = { maxPriorityFeePerGas: 1_000_000_000n, maxFeePerGas: 1_000_000_006n }
    expect(node.taken[0]?.price).toMatchObject(price)
  })

  test('is a single price on a chain without a base fee', async () => {
    const { node, wallet } = await faultyNode()
    node.baseFee = ''
    await wallet.send(call)
    expect(node.taken[0]?.price).toMatchObject({ type: 'legacy', gasPrice: 1_000_000_000n })
  })

  test('is not paid if it ran away', async () => {
    const { node, wallet } = await faultyNode()
    node.gasPrice = `0x${(10n ** 13n).toString(16)}`
    await expect(wallet.send(call)).rejects.toThrow('gas_price_too_high')
    expect(node.taken).toHaveLength(0)
  })
})

test('a key is 32 bytes of hex, with or without 0x; no message repeats anything else', () => {
  expect(parseEvmKey(`0x${KEY}`)?.address).toBe(parseEvmKey(KEY)?.address)
  for (const wrong of ['', KEY.slice(1), '00'.repeat(32), 'ff'.repeat(32)]) {
    expect(parseEvmKey(wrong)).toBeUndefined()
    const options = { rpcUrl: 'http://127.0.0.1:1', chainId: 196, privateKey: wrong }
    expect(() => createEvmWallet(options)).toThrow('the EVM key cannot be read')
  }
})

async function simulated(estimate: object) {
  const { node, wallet } = await faultyNode()
  node.estimate = estimate
  return await wallet.simulate(call)
}

describe('X14: the gas of a transfer', () => {
  test('has headroom, up to 250,000', async () => {
    expect(await simulated({ result: '0x186a0' })).toEqual({ kind: 'succeeds', gas: 130_000n })
    expect(await simulated({ result: '0x3d090' })).toEqual({ kind: 'succeeds', gas: 250_000n })
  })

  test.each([
    ['an estimate above it', { result: '0x3d091' }],
    [
      'a node that refuses to estimate so much',
      { error: { code: -32000, message: 'gas required exceeds allowance (250000)' } },
    ],
  ])('%s is too much', async (_, estimate) => {
    expect(await simulated(estimate)).toEqual({ kind: 'too-much-gas' })
  })
})
