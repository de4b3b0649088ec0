// What an acknowledged write survives on PostgreSQL (C14): kill -9 and answers of COMMIT that are torn off.
// That a server may crash is shown where its engine is: packages/journal-store.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { openTornCommits } from '@tallystick/journal-store/torn-commits'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CareRecord } from '../../domain/care-record.ts'
import { intactVersions } from '../../domain/record-store.fixture.ts'
import { openAuditTrail, readAuditRows } from '../rows/audit-rows.ts'
import { postgresSideRows } from '../rows/side-rows.ts'
import { makeRecordDatabase, testServer, useRecordServer } from './postgres-store.fixture.ts'
import { TEST_START_MS } from './sqlite-store.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const KILLS = process.env['TALLYSTICK_LONG'] === '1' ? 50 : 3
const WRITER = fileURLToPath(new URL('./store-process.fixture.ts', import.meta.url))

/** A server of one's own: one that was there already is not crashed, and has no socket that one could stand before. */
const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')

describe.skipIf(reason !== undefined)(
  `C14 on PostgreSQL${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    useRecordServer()
    let database: Awaited<ReturnType<typeof makeRecordDatabase>>
    beforeEach(async () => {
      database = await makeRecordDatabase()
    })
    afterEach(() => database.end())

    it(`kill -9 at ${KILLS} random moments under concurrent writes loses no acknowledged write and shows no torn one`, async () => {
      let acknowledgedInAll = 0
      for (let round = 0; round < KILLS; round += 1) {
        const args = [WRITER, database.databasePath, '8', 'endless', database.url]
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
        let printed = ''
        child.stdout.on('data', (chunk: Buffer) => {
          printed += chunk.toString()
        })
        const least = 2 + Math.floor(Math.random() * 200)
        while (printed.split('\n').length < least) await once(child.stdout, 'data')
        child.kill('SIGKILL')
        await once(child, 'close')
        const acknowledged = printed.split('\n').slice(1, -1)
        const { records } = await database.open()
        for (const line of acknowledged) {
          const record = JSON.parse(line) as CareRecord
          expect(await records.version(record, record.version)).toMatchObject({
            kind: 'found',
            record: { versionHash: record.versionHash },
          })
        }
        acknowledgedInAll += acknowledged.length
        expect(await intactVersions(records)).toBeGreaterThanOrEqual(acknowledgedInAll)
        await records.close()
      }
    })

    it.each(['before', 'behind'] as const)(
      'a COMMIT torn %s the server: writes, signed ones and audit rows are stored once, and answered as they were',
      async (how) => {
        const socketFolder = testServer().socketFolder ?? ''
        const folder = `${database.databasePath}-torn`
        mkdirSync(folder)
        const torn = await openTornCommits({ url: database.url, socketFolder, folder })
        const { records, store } = await database.open({ url: torn.url })
        const audit = openAuditTrail(postgresSideRows(store), {
          clock: manualClock(TEST_START_MS),
        })
        for (let round = 0; round < 5; round += 1) {
          const request = { mac: `${round}`.repeat(64), expiresAtMs: TEST_START_MS + 300_000 }
          const signed = storeRecord({ domain: 'signed', value: `${round}` })
          torn.tearNext(how)
          const outcomes = await Promise.all([
            records.append(storeRecord({ value: `${round}` })),
            records.append(signed, request),
          ])
          expect(outcomes).toMatchObject(
            outcomes.map(() => ({ kind: 'appended', record: { version: round + 1 } })),
          )
          await records.noteSubscribers(request, round)
          torn.tearNext(how)
          expect(await records.append(signed, request)).toMatchObject({
            kind: 'repeated',
            subscribers: round,
            record: { version: round + 1 },
          })
          torn.tearNext(how)
          await audit.add({
            at: '2026-06-01T08:00:00.000Z',
            outcome: 'accepted',
            reason: 'ok',
            via: 'hmac',
            actor: `${round}`,
          })
        }
        expect(torn.torn()).toBe(15)
        expect(await intactVersions(records)).toBe(10)
        const rows = await readAuditRows(store, { limit: 100 })
        expect(rows.map(({ actor }) => actor)).toEqual(['4', '3', '2', '1', '0'])
        await audit.close()
        await records.close()
        torn.end()
      },
    )
  },
)
