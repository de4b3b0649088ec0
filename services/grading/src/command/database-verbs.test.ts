import { join } from 'node:path'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { manualClock } from '@tallystick/service-kit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { syntheticFixtures } from '../seed/synthetic-fixtures.ts'
import { type PostgresLedger, startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import { runGrading } from './run-grading.ts'

const NOW_MS = 1_780_000_000_000
const CHECKPOINT_KEY = Buffer.alloc(32, 3).toString('base64')
const table = Buffer.from(
  syntheticFixtures({ nowSeconds: NOW_MS / 1_000, pastMatches: 30, comingMatches: 2 }),
)

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
    clock: manualClock(NOW_MS),
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

const environmentOf = (ledger: PostgresLedger) => ({
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
      const environment = environmentOf(await ledgers.ledger())
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
      const environment = environmentOf(ledger)
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
  },
)
