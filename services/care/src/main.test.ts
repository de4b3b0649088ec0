/** The process as an operator starts and stops it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { NODE_ENVIRONMENT, testEnvironment } from './testing/care.fixture.ts'

// A process takes under a second to start, and several on a busy machine.

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'care-main-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Ended = { readonly code: number | null; readonly output: string; readonly errors: string }

function start(environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [main], {
    env: { ...NODE_ENVIRONMENT, HOST: '127.0.0.1', PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  const listening = Promise.withResolvers<string>()
  // If the process ends early, whoever awaits its address hears of it; nobody has to.
  listening.promise.catch(() => undefined)
  child.stdout.on('data', (text) => {
    output += String(text)
    const url = /"url":"([^"]+)","msg":"listening"/.exec(output)?.[1]
    if (url !== undefined) listening.resolve(url)
  })
  child.stderr.on('data', (text) => (errors += String(text)))
  const ended = once(child, 'close').then((): Ended => {
    listening.reject(new Error(`it ended: ${errors}`))
    return { code: child.exitCode, output, errors }
  })
  return { url: () => listening.promise, ended, stop: () => child.kill('SIGTERM') }
}
const environment = (name: string, over: Readonly<Record<string, string>> = {}) => ({
  ...testEnvironment,
  LOG_LEVEL: 'info',
  DATABASE_PATH: join(folder, name),
  ...over,
})

test('S3: a bad configuration names every bad variable, shows no value, and exits 1', async () => {
  const bad = environment('bad.db', { WRITE_SECRET: 'hunter2', AUTHORIZATION_SERVERS: 'hunter2' })
  const { code, output, errors } = await start(bad).ended
  expect(code).toBe(1)
  expect(errors).toContain('WRITE_SECRET')
  expect(errors).toContain('AUTHORIZATION_SERVERS')
  expect(output + errors).not.toContain('hunter2')
})

test('S6: it answers, and exits 0 on SIGTERM; a second process on its store does not start', async () => {
  const first = start(environment('one.db'))
  try {
    const url = await first.url()
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true, sessions: 0 })
    const second = await start(environment('one.db')).ended
    expect(second.code).toBe(1)
    expect(second.errors).toMatch(/^The records cannot be served: .+\n$/)
  } finally {
    first.stop()
  }
  const { code, output } = await first.ended
  expect(code).toBe(0)
  expect(output).toContain('"msg":"stopped"')
})
