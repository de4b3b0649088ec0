import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { stablecoinAbi } from '@tallystick/contracts'
import { freePort, manualClock } from '@tallystick/service-kit'
import { type Address, createPublicClient, domainSeparator, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { xLayer } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PortTaken } from '../listen.ts'
import { startXLayer, type XLayer } from './start-xlayer.ts'

/** USD₮0 on the real chain. */
const REAL_TOKEN = '0x779Ded0c9e1022225f8E0630b35a9b54bE713736'

let chain: XLayer
beforeAll(async () => {
  chain = await startXLayer()
})
afterAll(async () => {
  await chain.stop()
})

const client = () =>
  createPublicClient({ chain: xLayer, transport: http(chain.rpcUrl), pollingInterval: 10 })
const agent = (): Address => chain.accounts.find(({ name }) => name === 'agent-1')?.address ?? '0x'
const seconds = async (): Promise<number> => Number((await client().getBlock()).timestamp)

describe('L17: the X Layer stand-in', () => {
  test('is chain 196 to a client of the real one', async () => {
    expect(await client().getChainId()).toBe(xLayer.id)
  })

  test('has the real token’s name, version and decimals, at its own address', async () => {
    const { address, name, version } = chain.stablecoin
    const read = { address, abi: stablecoinAbi } as const
    expect(await client().readContract({ ...read, functionName: 'name' })).toBe('USD₮0')
    expect(await client().readContract({ ...read, functionName: 'version' })).toBe('1')
    expect(await client().readContract({ ...read, functionName: 'decimals' })).toBe(6)
    expect(address).not.toBe(REAL_TOKEN.toLowerCase())
    const domain = { name, version, chainId: 196, verifyingContract: address }
    expect(await client().readContract({ ...read, functionName: 'DOMAIN_SEPARATOR' })).toBe(
      domainSeparator({ domain }),
    )
  })

  test('the token has the same address every time, so configurations can name it', async () => {
    const second = await startXLayer()
    expect(second.stablecoin).toEqual(chain.stablecoin)
    expect(second.accounts).toEqual(chain.accounts)
    await second.stop()
  })

  test('agents hold tokens and no gas, the facilitator gas and no tokens; keys match addresses', async () => {
    const pending = await Promise.all(
      chain.accounts.map(async ({ address, name, privateKey }) => {
        expect(privateKeyToAccount(privateKey).address.toLowerCase()).toBe(address)
        const gas = await client().getBalance({ address })
        return { name, hasGas: gas > 0n, tokens: await chain.controls.balanceOf(address) }
      }),
    )
    const agents = pending.filter(({ name }) => name.startsWith('agent-') && name !== 'agent-1')
    expect(agents).toHaveLength(9)
    expect(agents.every(({ hasGas, tokens }) => !hasGas && tokens === 10_000_000_000n)).toBe(true)
    expect(pending).toContainEqual({ name: 'facilitator', hasGas: true, tokens: 0n })
    expect(pending).toContainEqual({ name: 'operator', hasGas: false, tokens: 0n })
  })
})

describe('controls', () => {
  test('mint', async () => {
    const before = await chain.controls.balanceOf(agent())
    await chain.controls.mint(agent(), 5n)
    expect(await chain.controls.balanceOf(agent())).toBe(before + 5n)
  })

  test('travel moves blocks and the clock', async () => {
    const [block, clock] = [await seconds(), chain.clock.unixMs()]
    await chain.controls.advanceSeconds(86_400)
    expect((await seconds()) - block).toBeGreaterThanOrEqual(86_400)
    expect(chain.clock.unixMs() - clock).toBeGreaterThanOrEqual(86_400_000)
  })

  test('L17: an idle chain closes blocks: time passes for whoever looks for a payment', async () => {
    const clock = manualClock(1_795_226_000_000)
    const second = await startXLayer({ clock })
    const reader = createPublicClient({ chain: xLayer, transport: http(second.rpcUrl) })
    const before = await reader.getBlock()
    await expect
      .poll(
        async () => {
          clock.advanceMs(1_000)
          return (await reader.getBlock()).number - before.number
        },
        { timeout: 30_000 },
      )
      .toBeGreaterThan(2n)
    await second.stop()
  })

  test('an injected clock is the chain’s time at its start', async () => {
    const startMs = 1_795_226_000_000
    const second = await startXLayer({ clock: manualClock(startMs) })
    const publicClient = createPublicClient({ chain: xLayer, transport: http(second.rpcUrl) })
    const { timestamp } = await publicClient.getBlock({ blockNumber: 0n })
    expect(Number(timestamp)).toBe(startMs / 1_000)
    expect(second.clock.unixMs()).toBe(startMs)
    await second.stop()
  })

  test.each([
    ['127.0.0.2', 'http://127.0.0.2:'],
    ['::1', 'http://[::1]:'],
  ])('listens only on %s if told to', async (host, url) => {
    // Nobody else is given this port of 127.0.0.1, where nothing may listen.
    const second = await startXLayer({ host, port: await freePort() })
    try {
      expect(second.rpcUrl.startsWith(url)).toBe(true)
      const publicClient = createPublicClient({ chain: xLayer, transport: http(second.rpcUrl) })
      expect(await publicClient.getChainId()).toBe(196)
      const elsewhere = second.rpcUrl.replace(url, 'http://127.0.0.1:')
      await expect(fetch(elsewhere, { method: 'POST' })).rejects.toThrow('fetch failed')
    } finally {
      await second.stop()
    }
  })

  test('a port in use is a clear error that names it', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve)
    })
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(startXLayer({ port })).rejects.toThrow(PortTaken)
    other.close()
  })

  test('stop leaves no process behind, and can be called again', async () => {
    // Nobody else is given this port once it is free.
    const second = await startXLayer({ port: await freePort() })
    await second.stop()
    await second.stop()
    await expect(fetch(second.rpcUrl, { method: 'POST' })).rejects.toThrow('fetch failed')
    const port = new URL(second.rpcUrl).port
    const { stdout } = await promisify(execFile)('ps', ['-eo', 'args'])
    expect(stdout).not.toContain(`--port ${port} `)
  })
})
