/** The process as an operator starts and stops it. What a kill leaves behind is in grading-process.test.ts. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startGradingProcess } from './testing/grading-process.fixture.ts'
import { makeLedgerFolder } from './testing/ledger-folder.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'grading-main-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const environment = (name: string, over: Readonly<Record<string, string>> = {}) => ({
  HOST: '127.0.0.1',
  PORT: '0',
  DATABASE_PATH: join(folder, name),
  PAY_TO: '0x00000000000000000000000000000000000000bb',
  // Neither exists: the service starts anyway (X11).
  LEDGER_RPC_URL: 'http://127.0.0.1:9',
  FACILITATOR_URL: 'http://127.0.0.1:9',
  ...over,
})

test('S3: a bad configuration names every bad variable, prints no value, and exits 1', async () => {
  const bad = environment('bad.db', { PAY_TO: 'hunter2', TOKEN_SECRET: 'hunter2' })
  const { code, output, errors } = await startGradingProcess(bad).ended
  expect(code).toBe(1)
  expect(errors).toContain('PAY_TO')
  expect(errors).toContain('TOKEN_SECRET')
  expect(output + errors).not.toContain('hunter2')
})

test('S6: it answers with its chain and facilitator down, and exits 0 at SIGTERM', async () => {
  const service = startGradingProcess(environment('one.db'))
  const url = await service.url()
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' })
  expect((await fetch(`${url}/api/grade`, { method: 'POST' })).status).toBe(402)
  service.kill('SIGTERM')
  const { code, output } = await service.ended
  expect(code).toBe(0)
  expect(output).toContain('"msg":"stopped"')
})

test('a file that is not a ledger ends the start with a message', async () => {
  writeFileSync(
    join(folder, 'no.db'),
    'not a database, but some text that is long enough to be read',
  )
  const { code, errors } = await startGradingProcess(environment('no.db')).ended
  expect(code).toBe(1)
  expect(errors).toMatch(/^Grades cannot be served: .+\n$/)
})

test('an older file in the ledger’s place makes /ready red with the sentence, and nothing is sold', async () => {
  const ledger = makeLedgerFolder()
  try {
    await ledger.loseTail()
    // The key that signed it, in the service's place for it.
    const key = Buffer.from(ledger.identity.checkpointSeed).toString('base64')
    writeFileSync(`${ledger.path}.checkpoint-key`, key)
    const service = startGradingProcess(environment('', { DATABASE_PATH: ledger.path }))
    const url = await service.url()
    const sentence =
      'the ledger is refused: its last signed checkpoint counts 3 entries, 1 of them are here. If a backup was restored on purpose, run "grading accept-backup"'
    const ready = await fetch(`${url}/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { checks: { ledger: { reason: 'store_behind', details: { sentence } } } },
    ])
    for (const [path, method] of [
      ['/api/grade', 'POST'],
      ['/api/coverage', 'POST'],
      ['/mcp', 'POST'],
      ['/', 'GET'],
    ] as const) {
      const refused = await fetch(url + path, { method })
      expect([path, refused.status, await refused.json()]).toEqual([
        path,
        503,
        { error: 'store_behind', message: sentence },
      ])
    }
    expect((await fetch(`${url}/health`)).status).toBe(200)
    service.kill('SIGTERM')
    const { code, errors } = await service.ended
    expect({ code, errors }).toEqual({ code: 0, errors: `Nothing is served: ${sentence}\n` })
  } finally {
    ledger.remove()
  }
})

test('S2: a port in use is a clear error that names it', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  const port = String(typeof address === 'object' ? address?.port : '')
  const { code, errors } = await startGradingProcess(environment('two.db', { PORT: port })).ended
  taken.close()
  expect([code, errors]).toEqual([1, expect.stringContaining(`Port ${port} is in use`)])
})
