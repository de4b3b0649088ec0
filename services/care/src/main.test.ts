/** The process as an operator starts and stops it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterAll, expect, test } from 'vitest'
import { testEnvironment } from './testing/care.fixture.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'care-main-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const start = (environment: Readonly<Record<string, string>>) =>
  startServiceProcess([main], { HOST: '127.0.0.1', PORT: '0', ...environment })
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
    first.kill('SIGTERM')
  }
  const { code, output } = await first.ended
  expect(code).toBe(0)
  expect(output).toContain('"msg":"stopped"')
})
