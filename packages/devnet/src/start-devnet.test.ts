import { createServer } from 'node:net'
import { Client, credentials } from '@grpc/grpc-js'
import { freePort } from '@tallystick/service-kit'
import { createPublicClient, http } from 'viem'
import { hederaTestnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PortTaken } from './listen.ts'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { mirror, rpc } from './testing/test-clients.fixture.ts'

let devnet: Devnet
beforeAll(async () => {
  devnet = await startDevnet()
})
afterAll(async () => {
  await devnet.stop()
})

describe('startDevnet', () => {
  test('has the roles and at least eight agents, funded, with the same keys at every start', () => {
    const names = devnet.accounts.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['treasury', 'operator', 'recorder', 'facilitator']),
    )
    expect(names.filter((name) => name.startsWith('agent-')).length).toBeGreaterThanOrEqual(8)
    expect(devnet.accounts[0]).toEqual({
      name: 'treasury',
      accountId: '0.0.1001',
      evmAddress: '0x7b35b436e76f4c151ced428163814e7d5d9496c2',
      privateKey: '0xe96732ee8db062ecc24ee56e02239149746c6cbe04527dce81d1e8c835b197c1',
      keyType: 'ECDSA_SECP256K1',
    })
  })

  test('L1: is chain 296, like Hedera testnet in viem', async () => {
    const client = createPublicClient({ chain: hederaTestnet, transport: http(devnet.rpcUrl) })
    expect(await client.getChainId()).toBe(hederaTestnet.id)
  })

  test.each(['127.0.0.2', '::1'])('every edge listens on %s alone', async (host) => {
    // Nobody else is given these ports of 127.0.0.1, where nothing may listen.
    const own = await startDevnet({
      host,
      rpcPort: await freePort(),
      consensusPort: await freePort(),
    })
    const shown = host === '::1' ? '[::1]' : host
    try {
      expect(own.rpcUrl).toMatch(`http://${shown}:`)
      expect((await rpc(own, 'eth_chainId')).result).toBe('0x128')
      expect((await mirror(own, '/api/v1/blocks')).status).toBe(200)
      expect(own.consensus.address).toMatch(`${shown}:`)
      const { hostname, port } = new URL(`http://${own.consensus.address}`)
      await new Promise<void>((resolve, reject) => {
        const node = new Client(own.consensus.address, credentials.createInsecure())
        node.waitForReady(Date.now() + 20_000, (cause) => {
          node.close()
          if (cause === undefined) resolve()
          else reject(cause)
        })
      })
      expect(hostname).toBe(shown)
      await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow('fetch failed')
      await expect(fetch(own.rpcUrl.replace(shown, '127.0.0.1'))).rejects.toThrow('fetch failed')
    } finally {
      await own.stop()
    }
  })

  test('names the port that another program has', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve)
    })
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    for (const option of ['rpcPort', 'mirrorPort', 'consensusPort']) {
      const failure = await startDevnet({ [option]: port }).catch((cause: unknown) => cause)
      expect(failure).toBeInstanceOf(PortTaken)
      expect((failure as PortTaken).message).toContain(String(port))
    }
    other.close()
  })
})
