import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { manualClock } from '@tallystick/service-kit'
import { exampleReservation } from '@tallystick/x402/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LEDGER_MOVE } from '../adapters/move-ledger.ts'
import { openSqliteReservationStore } from '../adapters/reservation-store.ts'
import { openGradingDatabase, openReservationDatabase } from '../adapters/sqlite-database.ts'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import { syntheticFixtures } from '../seed/synthetic-fixtures.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { type PostgresLedger, startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import { samplePick } from '../testing/samples.fixture.ts'
import { runGrading } from './run-grading.ts'

const NOW_MS = 1_780_000_000_000
const CHECKPOINT_KEY = Buffer.alloc(32, 3).toString('base64')
const table = Buffer.from(
  syntheticFixtures({ nowSeconds: NOW_MS / 1_000, pastMatches: 30, comingMatches: 2 }),
)

const more = Buffer.from(
  syntheticFixtures({ nowSeconds: NOW_MS / 1_000 + 86_400, pastMatches: 40, comingMatches: 0 }),
)
const clock = manualClock(NOW_MS)

/** Runs one line with this environment. */
async function grading(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdin: readonly Uint8Array[] = [],
) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await runGrading({
    arguments: args,
    environment,
    clock,
    stdin: (async function* () {
      yield* stdin
    })(),
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
  })
  return { code, out: out.join('\n'), err: err.join('\n'), lines: out }
}

test('a database without its checkpoint key is refused, and migrate without a database', async () => {
  const DATABASE_URL = 'postgres://grading_app@127.0.0.1:9/none'
  expect(await grading(['verify'], { DATABASE_URL })).toMatchObject({
    code: 2,
    err: expect.stringMatching(/CHECKPOINT_KEY/) as string,
  })
  expect(await grading(['migrate'], {})).toMatchObject({
    code: 2,
    err: 'DATABASE_URL names no database.',
  })
})

test('a move takes every table of the ledger and of the payments', () => {
  const { tables, toPostgres = [] } = LEDGER_MOVE
  const read = toPostgres.map(({ from }) => from).join(' ')
  for (const [path, open] of [
    ['ledger', openGradingDatabase],
    ['payments', openReservationDatabase],
  ] as const) {
    const database = open(':memory:')
    const names = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name))
      // Counted anew from the entries and events.
      .filter((name) => !/^(?:journals|entries|entries_nodes|event_words.*)$/.test(name))
    const left = names.filter(
      (name) =>
        !tables.some((moved) => moved.table === name) && !new RegExp(`\\b${name}\\b`).test(read),
    )
    expect([path, left]).toEqual([path, []])
    database.close()
  }
})

const makeEnvironment = (ledger: PostgresLedger) => ({
  DATABASE_PATH: join(ledger.folder, 'grading.db'),
  DATABASE_URL: ledger.url,
  CHECKPOINT_KEY,
})

describe.skipIf(postgresMissing !== undefined)(
  `the command on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let ledgers: ReturnType<typeof startLedgerServer>
    beforeAll(() => {
      ledgers = startLedgerServer()
    })
    afterEach(() => ledgers.endLedgers())
    afterAll(() => ledgers.end())

    test('migrate may be run again; it takes the owner', async () => {
      const ledger = await ledgers.ledger()
      expect(await grading(['migrate'], { DATABASE_URL: ledger.ownerUrl })).toMatchObject({
        code: 0,
        out: 'The schema of the ledger is up to date.',
      })
      expect(await grading(['migrate'], { DATABASE_URL: ledger.url })).toMatchObject({
        code: 1,
        err: expect.stringMatching(/permission denied/) as string,
      })
    })

    test('import, verify, export, table: as on a file, and an export is checked with nothing but itself', async () => {
      const environment = makeEnvironment(await ledgers.ledger())
      expect((await grading(['import', '-'], environment, [table])).out).toMatch(/30 closes/)
      expect((await grading(['import', '-'], environment, [table])).out).toMatch(/imported before/)
      expect((await grading(['verify'], environment)).out).toMatch(/^INTACT: 92 entries/)
      expect((await grading(['table', 'soccer/1x2'], environment)).code).toBe(0)
      const { lines } = await grading(['export'], environment)
      const text = [Buffer.from(lines.join('\n'))]
      expect((await grading(['verify', '-'], {}, text)).out).toMatch(/^INTACT: 92 entries/)
    })

    test('a database that went back is refused until it is accepted; backup is the server’s', async () => {
      const ledger = await ledgers.ledger()
      const environment = makeEnvironment(ledger)
      await grading(['import', '-'], environment, [table])
      await ledger.tamper('CREATE TABLE kept AS SELECT * FROM grading.journals')
      await grading(['seed'], environment)
      const upload = Buffer.from(
        JSON.stringify({
          events: [
            {
              event: 'soccer/epl.20260528.ars-che',
              league: 'EPL',
              home: 'Arsenal',
              away: 'Chelsea',
              starts_at: '2026-05-28T18:00:00Z',
              outcomes: [{ status: 'final', score: { home: 2, away: 1 } }],
            },
          ],
        }),
      )
      await grading(['import', '-'], environment, [upload])
      await ledger.tamper(
        `DELETE FROM grading.entries WHERE at >= 92; DELETE FROM grading.truth WHERE as_of > 92;
         DELETE FROM grading.events WHERE path = 'soccer/epl.20260528.ars-che';
         UPDATE grading.journals SET size = kept.size, peaks = kept.peaks FROM kept`,
      )
      for (const args of [['import', '-'], ['table'], ['export']])
        expect(await grading(args, environment, [upload])).toMatchObject({
          code: 1,
          err: 'the ledger is refused: its last signed checkpoint counts 93 entries, 92 of them are here. If a backup was restored on purpose, run "grading accept-backup"',
        })
      expect((await grading(['verify'], environment)).out).toBe(
        'BROKEN at entry 92: entries at the end are gone: the signed checkpoint counts 93.',
      )
      expect(await grading(['accept-backup'], environment)).toMatchObject({
        code: 0,
        out: '92 entries accepted; the last checkpoint counted 93: 1 are given up.',
      })
      expect((await grading(['verify'], environment)).out).toMatch(/^INTACT: 92 entries/)
      expect(await grading(['backup', 'copy'], environment)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/docs\/how-to\/postgres\.md/) as string,
      })
    })

    test('a ledger moves to PostgreSQL and back: same roots, same exports, and both go on from it', async () => {
      const ledger = await ledgers.ledger()
      const DATABASE_PATH = join(ledger.folder, 'grading.db')
      const file = { DATABASE_PATH, CHECKPOINT_KEY }
      const moving = { ...file, DATABASE_URL: ledger.ownerUrl }
      const owner = { ...ledger.identity, origin: 'localhost:3003/ledger' }
      await grading(['import', '-'], file, [table])
      const picked = await openSqliteGradingStore({ ...owner, databasePath: DATABASE_PATH, clock })
      await createGraderFixture(picked).pay(samplePick({ market: 'soccer/new.match/1x2/ft' }))
      await picked.beginImport('cut', 'cut.csv')
      await picked.close()
      const payments = openSqliteReservationStore({ databasePath: DATABASE_PATH, clock })
      const stored = { keepsAnswer: true, idempotencyKey: 'k', request: '{"pick":"é"}' } as const
      for (const id of ['open', 'answered'])
        await payments.reserve(
          exampleReservation(id, { ...stored, fingerprint: id, idempotencyKey: id }),
        )
      await payments.keepAnswer('answered', { answer: '{}', expiresAtSeconds: NOW_MS })
      const open = await payments.open()
      await payments.close()
      const { out: exported } = await grading(['export'], file)
      const { out: verified } = await grading(['verify'], file)

      // A service had it open before.
      await (await ledger.open()).close()
      const moved = await grading(['move', 'to-postgres'], moving)
      expect(moved).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^ledger: 93 entries moved/) as string,
      })
      expect(verified).toContain(/root ([0-9a-f]{64})/.exec(moved.out)?.[1])
      expect((await grading(['move', 'to-postgres'], moving)).err).toBe('the database is not empty')
      const database = { ...file, DATABASE_URL: ledger.url }
      expect((await grading(['export'], database)).out).toBe(exported)
      expect((await grading(['verify'], database)).out).toBe(verified)
      const there = await ledger.openReservations({ clock })
      expect(await there.open()).toEqual(open)
      expect(await there.get('answered')).toMatchObject({ state: 'answered', answer: '{}' })
      // A process that serves the ledger keeps it where it is.
      await there.close()
      expect((await grading(['import', '-'], database, [table])).out).toMatch(/imported before/)
      expect((await grading(['import', '-'], database, [more])).code).toBe(0)
      const { out: grown } = await grading(['export'], database)

      const back = join(ledger.folder, 'back.db')
      expect((await grading(['move', 'to-file', DATABASE_PATH], moving)).err).toMatch(
        /grading.db exists already/,
      )
      expect((await grading(['move', 'to-file', back], moving)).out).toMatch(/ entries moved, root/)
      expect(readdirSync(ledger.folder).filter((name) => name.includes('.moving'))).toEqual([])
      const backFile = { ...file, DATABASE_PATH: back }
      expect((await grading(['export'], backFile)).out).toBe(grown)
      expect((await grading(['verify'], backFile)).out).toMatch(/^INTACT/)
      expect((await grading(['table'], backFile)).out).toBe(
        (await grading(['table'], database)).out,
      )
      const again = openSqliteReservationStore({ databasePath: back, clock })
      expect(await again.open()).toEqual(open)
      await again.close()
      const found = await openSqliteGradingStore({ ...owner, databasePath: back, clock })
      const search = { words: ['synthetic'], limit: 5 }
      expect(await found.searchEvents(search)).toHaveLength(5)
      expect(await found.unfinishedImports()).toEqual(['cut.csv'])
      await found.close()
    })
  },
)
