import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** A service that takes requests and never answers. */
const service = createServer(() => {})

beforeAll(async () => {
  await once(service.listen(0, '127.0.0.1'), 'listening')
})

afterAll(() => {
  service.closeAllConnections()
  service.close()
})

async function startCommand(...line: string[]) {
  const { port } = service.address() as AddressInfo
  const request = once(service, 'request')
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('main.ts', import.meta.url)), ...line],
    {
      env: {
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        AGENT_KEY: `${'0'.repeat(63)}7`,
        ACCESS_URL: `http://127.0.0.1:${port}`,
      },
      stdio: 'ignore',
    },
  )
  const ended = once(child, 'exit')
  await request
  return { child, ended }
}

test.for(['SIGINT', 'SIGTERM'] as const)(
  '%s ends a verb that waits for an answer',
  async (signal) => {
    const { child, ended } = await startCommand('pay')
    child.kill(signal)
    expect(await ended).toEqual([null, signal])
  },
)

test.for(['SIGINT', 'SIGTERM'] as const)('%s ends a watch, which is its end', async (signal) => {
  const { child, ended } = await startCommand('watch')
  child.kill(signal)
  expect(await ended).toEqual([0, null])
})
