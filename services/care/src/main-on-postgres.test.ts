/** The process on a PostgreSQL that half fails: it hangs, its standby is gone, or processes stop. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import {
  postgresMissing,
  runSql,
  startPostgres,
  startPostgresPair,
} from '@tallystick/journal-store/postgres-server'
import { systemClock } from '@tallystick/service-kit'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { POSTGRES_RECORDS } from './adapters/schemas/postgres-record-database.ts'
import { runCare } from './command/run-care.ts'
import { sendSignedWrite } from './seed/seed-records.ts'
import { testEnvironment, WRITE_SECRET } from './testing/care.fixture.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const POLL = { interval: 50 }
const WRITERS = 8
const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')

const write = (baseUrl: string, body: Readonly<Record<string, string>>, unixMs = Date.now()) =>
  sendSignedWrite({
    baseUrl,
    serviceName: 'care',
    writeSecret: WRITE_SECRET,
    unixMs,
    body: { patient: 'ann', authorId: 'dr-osei', authorLabel: 'Dr Osei', ...body },
  })
const readiness = async (url: string): Promise<string> => (await fetch(`${url}/ready`)).text()

describe.skipIf(reason !== undefined)(
  `care on a PostgreSQL that half fails${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let folder: string
    let pair: Awaited<ReturnType<typeof startPostgresPair>>
    let owner: string
    let started: ReturnType<typeof startServiceProcess>[]
    const start = (name: string, environment: Readonly<Record<string, string>> = {}) => {
      const process = startServiceProcess([MAIN], {
        ...testEnvironment,
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_LEVEL: 'info',
        DATABASE_PATH: join(folder, name),
        DATABASE_URL: pair.both(owner.replace(/\/\/[^@]*@/, '//care_app@')),
        ...environment,
      })
      started.push(process)
      return process
    }
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'care-half-failing-'))
      started = []
      pair = await startPostgresPair()
      ;({ owner } = await pair.database())
      await migratePostgresStore(POSTGRES_RECORDS, { url: owner, pause: async () => undefined })
    })
    afterEach(async () => {
      for (const process of started) process.kill('SIGKILL')
      await Promise.all(started.map(({ ended }) => ended))
      pair.thawPrimary()
      pair.end()
      rmSync(folder, { recursive: true, force: true })
    })

    it('S12: its primary hangs and the standby is promoted: writes go on, 0 lost, 0 twice', async () => {
      const url = await start('one').url()
      const acknowledged = Array.from({ length: WRITERS }, () => 0)
      const over = new AbortController()
      const writing = acknowledged.map(async (_, writer) => {
        for (let count = 0; !over.signal.aborted; count += 1) {
          const body = { domain: `topic-${writer}`, value: `${count}` }
          const unixMs = Date.now()
          // A write that was not acknowledged is sent again unchanged.
          while ((await write(url, body, unixMs)).status !== 200) if (over.signal.aborted) return
          acknowledged[writer] = count + 1
        }
      })
      const all = (): number => acknowledged.reduce((sum, count) => sum + count, 0)
      await expect.poll(all, POLL).toBeGreaterThan(50)
      pair.freezePrimary()
      const before = all()
      pair.promoteStandby()
      await expect.poll(all, POLL).toBeGreaterThan(before + 50)
      over.abort()
      await Promise.all(writing)
      const { rows } = await runSql(
        pair.second(owner),
        'SELECT domain, latest_version::int AS version FROM care.chains ORDER BY domain',
      )
      const stored = rows.map((row: { readonly version: number }) => row.version)
      expect(stored).toEqual(acknowledged)
    })

    it('S13: no standby confirms: /ready says so, and SIGTERM says what is in doubt and ends with 0 in time', async () => {
      const process = start('one')
      const url = await process.url()
      expect((await write(url, { domain: 'tea', value: 'green' })).status).toBe(200)
      await expect.poll(() => readiness(url), POLL).toContain('"ready":true')
      pair.stopStandby()
      const writing = write(url, { domain: 'tea', value: 'black' })
      await expect.poll(() => readiness(url), POLL).toContain('commits wait: none of the standbys')
      process.kill('SIGTERM')
      expect((await writing).status).toBe(503)
      const { code, output } = await process.ended
      expect(code).toBe(0)
      expect(output).toContain('it is not known what was written')
      // It was over before the limit that ends a process which hangs.
      expect(output).toContain('"msg":"stopped"')
      pair.startStandby()
    })

    it('S12: a start while commits wait ends in time, with a sentence and no stack', async () => {
      pair.stopStandby()
      const { code, errors } = await start('one').ended
      expect(code).toBe(1)
      expect(errors).toMatch(
        /the records \(.*primary-socket.*\): commits wait: none of the standbys/,
      )
      expect(errors).not.toMatch(/\n {4}at /)
      pair.startStandby()
    })

    it('S12: care erase while commits wait ends at once, with a sentence, and erases nothing', async () => {
      const sealing = {
        SEAL_KEYS: `k1:${Buffer.alloc(32, 5).toString('base64')}`,
        CHAIN_KEYS_PATH: join(folder, 'keys'),
      }
      await start('one', sealing).url()
      pair.stopStandby()
      const errors: string[] = []
      const code = await runCare({
        arguments: ['erase', 'care://ann/tea', '--by', 'dr-osei', '--reason', 'asked to'],
        environment: { ...testEnvironment, DATABASE_URL: owner, ...sealing },
        clock: systemClock,
        stdin: process.stdin,
        print: () => undefined,
        printError: (line) => errors.push(line),
      })
      expect(code).toBe(1)
      expect(errors.join()).toContain('commits wait: none of the standbys')
      expect(errors.join()).toContain('nothing was erased')
      pair.startStandby()
    })

    it('S13: the PostgreSQL of the chains’ keys hangs: /ready says so, no write waits for it, and SIGTERM ends with 0 in time', async () => {
      const records = startPostgres()
      try {
        const database = await records.database()
        await migratePostgresStore(POSTGRES_RECORDS, {
          url: database.owner,
          pause: async () => undefined,
        })
        const process = start('one', {
          DATABASE_URL: database.owner.replace(/\/\/[^@]*@/, '//care_app@'),
          SEAL_KEYS: `k1:${Buffer.alloc(32, 5).toString('base64')}`,
          CHAIN_KEYS_URL: owner.replace(/[^/]*$/, 'postgres'),
        })
        const url = await process.url()
        expect((await write(url, { domain: 'tea', value: 'green' })).status).toBe(200)
        await expect.poll(() => readiness(url), POLL).toContain('"ready":true')
        pair.freezePrimary()
        await expect
          .poll(() => readiness(url), POLL)
          .toContain('the keys of chains: no database server commits in time')
        expect((await write(url, { domain: 'milk', value: 'warm' })).status).toBe(503)
        pair.thawPrimary()
        await expect.poll(() => readiness(url), POLL).toContain('"ready":true')
        expect((await write(url, { domain: 'milk', value: 'warm' })).status).toBe(200)
        pair.freezePrimary()
        const writing = write(url, { domain: 'bread', value: 'rye' })
        process.kill('SIGTERM')
        const { code, output } = await process.ended
        expect((await writing).status).toBe(503)
        expect(code).toBe(0)
        expect(output).toContain('"msg":"stopped"')
      } finally {
        records.end()
      }
    })

    it('C44: two processes write at once; one that was stopped until it was forgotten goes on under a new id, and nothing is lost or twice', async () => {
      const first = start('one')
      const [url, otherUrl] = await Promise.all([first.url(), start('other').url()])
      expect((await write(url, { domain: 'tea', value: 'green' })).status).toBe(200)
      expect((await write(otherUrl, { domain: 'tea', value: 'black' })).status).toBe(200)
      const ids = async (): Promise<readonly string[]> =>
        (await runSql(owner, 'SELECT id FROM care.processes ORDER BY id')).rows.map(String)
      const before = await runSql(owner, 'SELECT id::text FROM care.processes')
      expect(before.rows).toHaveLength(2)
      first.kill('SIGSTOP')
      await expect.poll(async () => (await ids()).length, POLL).toBe(1)
      const late = write(url, { domain: 'tea', value: 'late' })
      expect((await write(otherUrl, { domain: 'tea', value: 'white' })).status).toBe(200)
      first.kill('SIGCONT')
      expect((await late).status).toBe(200)
      await expect.poll(async () => (await ids()).length, POLL).toBe(2)
      const known = new Set(before.rows.map(({ id }: { readonly id: string }) => id))
      const after = await runSql(owner, 'SELECT id::text FROM care.processes')
      expect(after.rows.filter(({ id }: { readonly id: string }) => !known.has(id))).toHaveLength(1)
      const { rows } = await runSql(owner, 'SELECT latest_version::int AS version FROM care.chains')
      expect(rows).toEqual([{ version: 4 }])
    })
  },
)
