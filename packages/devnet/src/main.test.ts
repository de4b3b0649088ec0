import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  AccountId,
  Client,
  Hbar,
  PrivateKey,
  TokenCreateTransaction,
  type Transaction,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { freePort } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const FREE_PORTS = ['--rpc-port', '0', '--mirror-port', '0', '--consensus-port', '0']

type Ended = { code: number | null; output: string }

function start(words: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const ended = new Promise<Ended>((resolve) => {
    // Not 'exit': only 'close' comes after all output.
    child.once('close', (code) => {
      resolve({ code, output })
    })
  })
  return { child, ended }
}

/** The first agent, whose key is the same on every machine. */
const PAYER = {
  id: '0.0.1006',
  key: '0x77cf75a83c69de98fcd1102c3fb203749890a85882381e664a844e4329b2a273',
}

/** A process of its own, and what it takes to pay there. */
async function startForSdk(words: readonly string[]) {
  const { child, ended } = start(words)
  let output = ''
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('First successes')) resolve()
    })
  })
  const [, mirrorUrl = ''] = /Mirror REST +(http:\S+)/.exec(output) ?? []
  const [, consensus = ''] = /Consensus gRPC +(\S+)/.exec(output) ?? []
  return {
    child,
    ended,
    mirrorUrl,
    async execute(transaction: Transaction) {
      const client = Client.forNetwork({ [consensus]: '0.0.3' }, { scheduleNetworkUpdate: false })
      client.setOperator(PAYER.id, PrivateKey.fromStringECDSA(PAYER.key))
      try {
        return await (await transaction.execute(client)).getReceipt(client)
      } finally {
        client.close()
      }
    },
  }
}

// Each test waits for processes of its own, so they run beside one another.
describe('tallystick-devnet', () => {
  let printed = ''
  let devnet: ReturnType<typeof start>

  beforeAll(async () => {
    devnet = start(FREE_PORTS)
    devnet.child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    await new Promise<void>((resolve, reject) => {
      devnet.child.stdout?.on('data', () => {
        if (printed.includes('First successes')) resolve()
      })
      devnet.child.once('exit', () => {
        reject(new Error(`it ended: ${printed}`))
      })
    })
  })
  afterAll(async () => {
    devnet.child.kill('SIGINT')
    await devnet.ended
  })

  test('prints the three addresses, every account with its key, and that the keys are worthless', () => {
    expect(printed).toMatch(/JSON-RPC +http:\/\/127\.0\.0\.1:\d+ +\(chain id 296\)/)
    expect(printed).toMatch(/Mirror REST +http:\/\/127\.0\.0\.1:\d+\/api\/v1/)
    expect(printed).toMatch(/Consensus gRPC +127\.0\.0\.1:\d+ +\(node 0\.0\.3/)
    expect(printed).toContain('worthless outside')
    expect(printed.match(/0x[0-9a-f]{64}$/gm)?.length).toBeGreaterThanOrEqual(13)
  })

  test.concurrent('--help exits 0, an unknown option 2', async () => {
    const [help, nonsense] = [start(['--help']), start(['--nonsense'])]
    expect(await help.ended).toMatchObject({
      code: 0,
      output: expect.stringContaining('--mirror-port'),
    })
    expect(await nonsense.ended).toMatchObject({
      code: 2,
      output: expect.stringContaining('There is no --nonsense.'),
    })
  })

  test.concurrent('a port in use is a clear error that names it', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve)
    })
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const ended = await start([...FREE_PORTS, '--consensus-port', String(port)]).ended
    other.close()
    expect(ended).toEqual({
      code: 1,
      output: `Port ${port} (consensus gRPC) is taken by another program. End it, or choose another port.\n`,
    })
  })

  test.concurrent('--xlayer-port starts the second chain too, and both end together', async () => {
    // Nobody else is given this port once it is free.
    const port = String(await freePort())
    const { child, ended } = start([...FREE_PORTS, '--xlayer-port', port])
    let output = ''
    await new Promise<void>((resolve) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (output.includes('EVM_ASSETS=')) resolve()
      })
    })
    const rpcUrl = /(http:\/\/127\.0\.0\.1:\d+) +\(chain id 196\)/.exec(output)?.[1] ?? ''
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(rpcUrl, { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ result: '0xc4' })
    child.kill('SIGINT')
    expect((await ended).code).toBe(0)
    await expect(fetch(rpcUrl, { method: 'POST', headers, body })).rejects.toThrow('fetch failed')
  })

  test.concurrent('a control that the ledger does not have ends it with code 1 and its name', async () => {
    const words = [...FREE_PORTS, '--like-testnet', '--control', 'setNothing=1']
    const { code, output } = await start(words).ended
    expect(code).toBe(1)
    expect(output).toMatch(/--control setNothing: Method devnet_setNothing not found/)
  })

  test.concurrent('L18: --like-testnet makes it as slow as the public network, --control changes one thing of it', async () => {
    const words = [...FREE_PORTS, '--like-testnet', '--control', 'setReadLagMs=60000']
    const { child, ended } = start(words)
    let output = ''
    const rpcUrl = await new Promise<string>((resolve) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        const url = /JSON-RPC +(http:\S+)/.exec(output)?.[1]
        if (output.includes('Like testnet') && url !== undefined) resolve(url)
      })
    })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    const answer = await fetch(rpcUrl, { method: 'POST', body })
    expect(await answer.json()).toMatchObject({ result: '0x0' })
    child.kill('SIGINT')
    expect((await ended).code).toBe(0)
  })

  test.concurrent('L22: --state FILE: after kill -9 it goes on from what was written, tokens and who holds them too', async ({
    expect: expectHere,
  }) => {
    const folder = mkdtempSync(join(tmpdir(), 'devnet-killed-'))
    const words = [...FREE_PORTS, '--state', join(folder, 'ledger')]
    const before = await startForSdk(words)
    const create = new TokenCreateTransaction()
      .setTokenName('Dollar')
      .setTokenSymbol('USD')
      .setInitialSupply(100)
      .setTreasuryAccountId(PAYER.id)
      .setMaxTransactionFee(new Hbar(60))
    const token = String((await before.execute(create)).tokenId)
    // Nothing is asked of the file but that it comes: it is written as the process lives, not as it ends.
    await expectHere.poll(() => existsSync(join(folder, 'ledger'))).toBe(true)
    before.child.kill('SIGKILL')
    await before.ended
    const after = await startForSdk(words)
    try {
      const url = `${after.mirrorUrl}/accounts/${PAYER.id}/tokens`
      expect(await (await fetch(url)).json()).toMatchObject({
        tokens: [{ token_id: token, balance: 100 }],
      })
      const pay = new TransferTransaction()
        .addTokenTransfer(token, PAYER.id, -1)
        .addTokenTransfer(token, AccountId.fromEvmAddress(0, 0, '12'.repeat(20)), 1)
      expect(String((await after.execute(pay)).status)).toBe('SUCCESS')
    } finally {
      after.child.kill('SIGINT')
      await after.ended
      rmSync(folder, { recursive: true })
    }
  })

  test.concurrent.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s ends it with code 0',
    async (signal) => {
      const { child, ended } = start(FREE_PORTS)
      await new Promise((resolve) => child.stdout?.once('data', resolve))
      child.kill(signal)
      expect((await ended).code).toBe(0)
    },
  )
})
