import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test, vi } from 'vitest'

const MAIN = new URL('./main.ts', import.meta.url).pathname
const KEY = 'd289f268a25dc94a9c65c87995dabdd5d7d1ba7f0255ea97264bf7c54dc8e733'

const children: ChildProcess[] = []

function run(environment: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOST: '127.0.0.1',
      PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  return { child, output, exit: once(child, 'close').then(([code]) => code as number | null) }
}

/** A node of that chain that knows nothing else. */
async function startChain(chainId: number) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: `0x${chainId.toString(16)}` })
  const server = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

// Each test waits for a process of its own, so they run beside one another.
describe('the command', () => {
  test.concurrent('names every bad variable at once and exits 1', async () => {
    const { exit, output } = run({
      NETWORK: 'eip155:196',
      CONSENSUS_NODES: 'localhost',
      FEE_PAYER: '1001',
      FEE_PAYER_KEY: 'hunter2',
    })
    expect(await exit).toBe(1)
    expect(output.stderr).toContain('NETWORK: expected one of hedera:mainnet')
    expect(output.stderr).toContain('CONSENSUS_NODES: expected host:port=account pairs')
    expect(output.stderr).toContain('FEE_PAYER: expected an account id such as 0.0.1001')
    expect(output.stderr).toContain('FEE_PAYER_KEY: expected a private key in hex')
    expect(output.stderr).not.toContain('hunter2')
  })

  test.concurrent('ends with one sentence and exits 1 if the chain is not the configured one', async () => {
    const chain = await startChain(1)
    const { exit, output } = run({
      FEE_PAYER: '0.0.1001',
      FEE_PAYER_KEY: KEY,
      EVM_RPC_URL: chain.url,
      EVM_KEY: KEY,
    })
    expect(await exit).toBe(1)
    expect(output.stderr).toBe(
      'Payments cannot be settled: EVM_RPC_URL or EVM_ASSETS: {"kind":"wrong_chain","chainId":1}\n',
    )
    await chain.close()
  })

  test.concurrent('starts and answers /supported while its ledger is down, says that it serves anybody, and exits 0 on SIGTERM', async () => {
    const { child, exit, output } = run({
      CONSENSUS_NODES: '127.0.0.1:1=0.0.3',
      MIRROR_URL: 'http://127.0.0.1:1',
      FEE_PAYER: '0.0.1001',
      FEE_PAYER_KEY: KEY,
    })
    await vi.waitUntil(() => output.stdout.includes('"msg":"listening"'), { timeout: 60_000 })
    const line = output.stdout.split('\n').find((text) => text.includes('"msg":"listening"'))
    const url = String(JSON.parse(line ?? '{}').url)
    const supported = await fetch(`${url}/supported`)
    expect(await supported.json()).toMatchObject({ kinds: [{ extra: { feePayer: '0.0.1001' } }] })
    expect((await fetch(`${url}/ready`)).status).toBe(503)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    expect(output.stdout + output.stderr).not.toContain(KEY)
    expect(output.stdout).toContain('SERVED_PAY_TO is unset')
  })
})
