/** The process as an operator starts and stops it. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { NODE_ENVIRONMENT, startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterAll, expect, test } from 'vitest'
import { openMemoryStore } from './adapters/records/sqlite-store.fixture.ts'
import { storeRecord } from './adapters/records/sqlite-store-samples.fixture.ts'
import { collect } from './domain/record-store.fixture.ts'
import { joinSignature, testEnvironment } from './testing/care.fixture.ts'
import { AUDIENCES } from './wire/audience.ts'

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

async function write(url: string, value: string): Promise<number> {
  const body = JSON.stringify({ patient: 'ann', domain: 'tea', value, authorId: 'dr-osei' })
  const timestamp = new Date().toISOString()
  const headers = {
    'content-type': 'application/json',
    'x-care-timestamp': timestamp,
    'x-care-signature': joinSignature({ timestamp, body }),
  }
  return (await fetch(`${url}/write`, { method: 'POST', headers, body })).status
}

const command = fileURLToPath(new URL('command/main.ts', import.meta.url))

/** Versions that another process has committed. */
function committedVersions(path: string): number {
  if (!existsSync(path)) return 0
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    return Number(database.prepare('SELECT count(*) AS n FROM user_versions').get()?.['n'])
  } catch {
    return 0
  } finally {
    database.close()
  }
}

test('C17: no service starts on a first part of an export, after kill -9 of its import, until it is imported again', async () => {
  const from = await openMemoryStore()
  await Promise.all(
    Array.from({ length: 6_000 }, (_, at) => from.append(storeRecord({ domain: `tea-${at}` }))),
  )
  const file = join(folder, 'export.ndjson')
  writeFileSync(file, (await collect(from.exportLines({ audiences: AUDIENCES }))).join('\n'))
  await from.close()
  const place = environment('cut.db')
  const env = { ...NODE_ENVIRONMENT, ...place }
  const cutOff = async (): Promise<boolean> => {
    const child = spawn(process.execPath, [command, 'import', file], { env, stdio: 'ignore' })
    const ended = once(child, 'exit')
    await expect
      .poll(() => committedVersions(place.DATABASE_PATH), { interval: 2 })
      .toBeGreaterThan(0)
    child.kill('SIGKILL')
    return (await ended)[1] === 'SIGKILL'
  }
  // A fast one is whole before it is killed: the next one is not.
  while (!(await cutOff()))
    for (const name of readdirSync(folder))
      if (name.startsWith('cut.db')) rmSync(join(folder, name))
  const { code, errors } = await start(place).ended
  expect({ code, errors }).toEqual({
    code: 1,
    errors:
      'The records cannot be served: an import was cut off, and only a first part of its records is here: run "care import FILE" again, which goes on from there\n',
  })
  execFileSync(process.execPath, [command, 'import', file], { env })
  const whole = start(place)
  await whole.url()
  whole.kill('SIGTERM')
  expect((await whole.ended).code).toBe(0)
})

test('C42: a store behind its own checkpoint file makes /ready red with the sentence, and nothing is read or written until it is accepted', async () => {
  const place = environment('back.db', { WITNESSES: '[]' })
  const served = async (use: (url: string) => Promise<void>): Promise<string> => {
    const service = start(place)
    try {
      await use(await service.url())
    } finally {
      service.kill('SIGTERM')
    }
    return (await service.ended).errors
  }
  const path = place.DATABASE_PATH
  await served(async (url) => expect(await write(url, 'Take ten drops.')).toBe(200))
  cpSync(path, `${path}.old`)
  await served(async (url) => expect(await write(url, 'Take five drops.')).toBe(200))
  cpSync(`${path}.old`, path)

  const sentence =
    'the user journal is refused: its last signed checkpoint counts 2 entries, 1 of them are stored in order. If a backup was restored on purpose, run "care accept-backup"'
  const errors = await served(async (url) => {
    const ready = await fetch(`${url}/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { checks: { store: { reason: 'store_behind', details: { sentence } } } },
    ])
    expect(await write(url, 'Take two drops.')).toBe(503)
    for (const door of ['/', '/mcp', '/verify', '/verify/checkpoint', '/reads', '/clinician']) {
      const refused = await fetch(url + door)
      const body = await refused.json()
      expect([door, refused.status, body]).toEqual([
        door,
        503,
        { error: 'store_behind', message: sentence },
      ])
    }
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true, sessions: 0 })
  })
  expect(errors).toBe(`Nothing is served: ${sentence}\n`)

  // The process that refuses holds nothing open.
  const accepted = startServiceProcess([command, 'accept-backup'], place)
  expect((await accepted.ended).code).toBe(0)
  await served(async (url) => {
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    expect(await write(url, 'Take two drops.')).toBe(200)
  })
})
