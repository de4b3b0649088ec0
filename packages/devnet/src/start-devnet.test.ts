import { createServer } from 'node:net'
import { createPublicClient, http } from 'viem'
import { hederaTestnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Devnet } from './devnet.ts'
import { PortTaken } from './port-taken.ts'
import { startDevnet } from './start-devnet.ts'

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

  test('is chain 296, as viem has Hedera testnet', async () => {
    const client = createPublicClient({ chain: hederaTestnet, transport: http(devnet.rpcUrl) })
    expect(await client.getChainId()).toBe(hederaTestnet.id)
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
