import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openPostgresLease, PostgresDoor } from '@tallystick/journal-store/postgres'
import { postgresMissing, runSql } from '@tallystick/journal-store/postgres-server'
import { manualClock } from '@tallystick/service-kit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { calibrationColumn } from '../domain/calibration/truth-rows.ts'
import { sameTruth, writeCell } from '../domain/calibration/truth-table.ts'
import { describeGradingStore } from '../domain/closes/grading-store.contract.ts'
import { type GradingStore, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { exportLines } from '../domain/closes/ledger-export.ts'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { type PostgresLedger, startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import { openPolledStore, POLLER } from './polled-store.ts'
import { openSqliteGradingStore } from './sqlite-grading-store.ts'

const settled = (index: number) =>
  sampleObservation({
    event: sampleEvent({ path: `soccer/match-${index}`, home: `Team ${index % 7}` }),
    snapshots: [
      samplePrices({
        odds: { home: '2.1', draw: '3.5', away: '3.7' },
        capturedAtSeconds: 1_780_300_000,
      }),
    ],
    closes: [samplePrices()],
    outcomes: scored(index % 3, index % 2),
  })

const settledOnes = (count: number) =>
  sampleBatch(Array.from({ length: count }, (_, index) => settled(index)))

const readText = async (store: GradingStore): Promise<string> => {
  const lines: string[] = []
  for await (const line of exportLines(store)) lines.push(line)
  return lines.join('\n')
}

const COLUMN = { population: 'mechanical', basis: 'fair', scope: 'all' } as const

const verdict = async (ledger: PostgresLedger) =>
  (await ledger.open({ checkpoint: 'unchecked' })).verify()

describe.skipIf(postgresMissing !== undefined)(
  `the ledger on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let ledgers: ReturnType<typeof startLedgerServer>
    beforeAll(() => {
      ledgers = startLedgerServer()
    })
    afterEach(() => ledgers.endLedgers())
    afterAll(() => ledgers.end())

    const opened = async () => (await ledgers.ledger()).open()
    const written = async (): Promise<PostgresLedger> => {
      const ledger = await ledgers.ledger()
      const store = await ledger.open()
      await store.ingest(settledOnes(300))
      await store.close()
      return ledger
    }

    describeGradingStore('PostgreSQL', opened)

    test('a ledger outlives its process: entries, tree, truth and picks', async () => {
      const ledger = await ledgers.ledger()
      const first = await ledger.open()
      await first.ingest(settledOnes(300))
      const { pay } = createGraderFixture(first)
      const card = await pay(samplePick({ market: 'soccer/new.match/1x2/ft' }))
      const [head, truth] = [await first.head(), await first.truth()]
      const rows = calibrationColumn(truth, COLUMN)
      await first.close()
      const second = await ledger.open()
      expect(await second.head()).toEqual(head)
      expect(calibrationColumn(await second.truth(), COLUMN)).toEqual(rows)
      expect(rows.total.n).toBe(900)
      expect(await second.pickByReceipt(card.receipt ?? '')).toBeDefined()
      expect(await second.verify()).toMatchObject({ kind: 'intact', entries: 901 })
    })

    test('of both engines hashes, exports and checkpoints are byte for byte the same', async () => {
      const ledger = await ledgers.ledger()
      const clock = manualClock(1_780_000_000_000)
      const { checkpointSeed, origin } = ledger.identity
      const databasePath = join(ledger.folder, 'grading.db')
      const sqlite = await openSqliteGradingStore({ databasePath, checkpointSeed, origin, clock })
      const database = new DatabaseSync(databasePath)
      const secret = database.prepare("SELECT value FROM meta WHERE name = 'payer_secret'").get()
      database.close()
      await ledger.tamper(
        `UPDATE grading.meta SET value = '${String(secret?.['value'])}' WHERE name = 'payer_secret'`,
      )
      const postgres = await ledger.open()
      for (const store of [postgres, sqlite]) {
        await store.ingest(settledOnes(300))
        await store.ingest(
          sampleBatch([
            sampleObservation({
              event: sampleEvent({ path: 'soccer/match-3' }),
              outcomes: scored(9, 9),
            }),
          ]),
        )
        const { pay } = createGraderFixture(store)
        for (const name of ['a', 'b'])
          await pay(samplePick({ market: `soccer/new.${name}/1x2/ft` }))
      }
      expect(await readText(postgres)).toBe(await readText(sqlite))
      const tables = [await postgres.truth(), await sqlite.truth()] as const
      expect(sameTruth(...tables)).toBe(true)
      await sqlite.close()
    })

    test('two processes write and read: each sees what the other wrote, and the tree has no fork', async () => {
      const ledger = await ledgers.ledger()
      const [first, second] = [await ledger.open(), await ledger.open()]
      await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          (index % 2 === 0 ? first : second).ingest(
            sampleBatch([settled(index), settled(index + 1)]),
          ),
        ),
      )
      const isSame = async () =>
        JSON.stringify([(await first.head()).size, (await first.truth()).asOfSeq]) ===
        JSON.stringify([(await second.head()).size, (await second.truth()).asOfSeq])
      await expect.poll(isSame).toBe(true)
      expect((await first.truth()).asOfSeq).toBe((await first.head()).size)
      expect(calibrationColumn(await first.truth(), COLUMN)).toEqual(
        calibrationColumn(await second.truth(), COLUMN),
      )
      expect(await first.head()).toEqual(await second.head())
      expect(await second.verify()).toMatchObject({ kind: 'intact', entries: 93 })
    })

    test('G12, G15: a match that two processes file for the first time at once, each from a feed of its own, is one event', async () => {
      const ledger = await ledgers.ledger()
      const stores = [await ledger.open(), await ledger.open()]
      const rounds = Array.from({ length: 10 }, (_, round) => round)
      const filed = rounds.map((round) =>
        [
          { feed: 'football-data', league: 'England 1', precision: 'day' as const },
          { feed: 'the-odds-api', league: 'EPL', precision: 'second' as const },
        ].map(({ feed, league, precision }) => {
          const event = sampleEvent({
            path: `soccer/${feed}.${round}`,
            league,
            home: `Home ${round}`,
            startPrecision: precision,
          })
          const observations = [sampleObservation({ event, closes: [samplePrices()] })]
          const named = { feed, isRedistributable: false, isSynthetic: false }
          return { feed: named, observations, refusals: [], missingPrices: 0 }
        }),
      )
      // A ledger that is empty takes its first feed's events as they are.
      await stores[0]?.ingest(settledOnes(1))
      await expect.poll(async () => (await stores[1]?.head())?.size).toBe(3)
      const accounts = await Promise.all(
        filed.flat().map((slice, at) =>
          ingestPayload({
            store: stores[at % 2] ?? createGraderFixture().store,
            raw: Buffer.from(`payload ${at}`),
            receivedAtSeconds: START_SECONDS,
            read: () => [slice],
          }),
        ),
      )
      expect(accounts.map(({ closes }) => closes)).toEqual(accounts.map(() => 1))
      const { events } = (await stores[0]?.counts()) ?? {}
      expect(events).toBe(1 + rounds.length)
      expect(await stores[1]?.verify()).toMatchObject({ kind: 'intact' })
    })

    test('G12: what a process fetched, that polled until another one did, is refused', async () => {
      const ledger = await ledgers.ledger()
      const store = await ledger.open()
      const door = new PostgresDoor({ ...ledger.identity, Unavailable: GradingStoreUnavailable })
      const open = async (process: string) => {
        const named = { schema: 'grading', name: POLLER, process }
        return ledger.keep(await openPostgresLease(door, named, { onProblem: () => undefined }))
      }
      const first = openPolledStore(store, await open('first'))
      expect(await first.mayPoll()).toBe(true)
      await first.store.ingest(sampleBatch([settled(1)]))
      await ledger.tamper("UPDATE grading.leases SET ends_at = '-infinity'")
      const second = openPolledStore(store, await open('second'))
      expect(await second.mayPoll()).toBe(true)
      await expect(first.store.ingest(sampleBatch([settled(2)]))).rejects.toThrow(
        GradingStoreUnavailable,
      )
      const payload = { rawSha256: 'aa', feed: 'the-odds-api', receivedAtSeconds: 1 }
      await expect(first.store.markPayload(payload)).rejects.toThrow(GradingStoreUnavailable)
      await second.store.ingest(sampleBatch([settled(3)]))
      expect((await store.head()).size).toBe(6)
      expect(await store.hasPayload('aa')).toBe(false)
    })

    test('G6, G12: at equal as_of_seq the truth table is equal at every process, at every moment of their writing', async () => {
      const ledger = await ledgers.ledger()
      const stores = [await ledger.open(), await ledger.open(), await ledger.open()]
      const seen = new Map<number, Set<string>>()
      const look = async (store: GradingStore): Promise<void> => {
        const truth = await store.truth()
        const cells = [...truth.cells].map(([key, cell]) => `${key} ${writeCell(cell)}`)
        seen.set(
          truth.asOfSeq,
          (seen.get(truth.asOfSeq) ?? new Set()).add(hash('sha256', cells.toSorted().join('\n'))),
        )
      }
      const over = new AbortController()
      const looking = stores.map(async (store) => {
        while (!over.signal.aborted) {
          await look(store)
          await new Promise(setImmediate)
        }
      })
      await Promise.all(
        stores.map(async (store, at) => {
          for (let index = at; index < 30; index += 3) {
            await store.ingest(sampleBatch([settled(index), settled(index + 1)]))
            await look(store)
          }
        }),
      )
      const [{ size } = { size: 0 }] = await Promise.all(stores.map((store) => store.head()))
      await expect.poll(() => seen.has(size)).toBe(true)
      over.abort()
      await Promise.all(looking)
      expect([...seen].filter(([, tables]) => tables.size > 1)).toEqual([])
      expect(seen.size).toBeGreaterThan(5)
    })

    test('what one process corrected is not graded by the other as it was', async () => {
      const ledger = await ledgers.ledger()
      const [first, second] = [await ledger.open(), await ledger.open()]
      await first.ingest(sampleBatch([settled(1)]))
      expect(await second.events(['soccer/match-1'])).toHaveLength(1)
      const corrected = sampleObservation({ event: settled(1).event, outcomes: scored(7, 7) })
      await first.ingest(sampleBatch([corrected]))
      const score = async () => (await second.events(['soccer/match-1']))[0]?.outcomes[0]?.score
      await expect.poll(score).toEqual({ home: 7, away: 7 })
    })

    test('a write that is a bug of its own fails by itself, and leaves nothing in memory', async () => {
      const store = await opened()
      await store.ingest(sampleBatch([settled(1)]))
      const before = calibrationColumn(await store.truth(), COLUMN)
      const cyclic: Record<string, unknown> = {}
      cyclic['self'] = cyclic
      const bad = sampleObservation({
        event: settled(1).event,
        outcomes: [{ period: 'ft', status: 'final', results: cyclic as never }],
      })
      const results = await Promise.allSettled([
        store.markPayload({ rawSha256: 'aa', feed: 'manual', receivedAtSeconds: 1 }),
        store.ingest(
          sampleBatch([
            sampleObservation({ event: settled(1).event, outcomes: scored(5, 5) }),
            bad,
          ]),
        ),
        store.ingest(sampleBatch([settled(2)])),
      ])
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(results[1]?.status === 'rejected' && results[1].reason).not.toBeInstanceOf(
        GradingStoreUnavailable,
      )
      expect(await store.hasPayload('aa')).toBe(true)
      expect(calibrationColumn(await store.truth(), COLUMN).total.n).toBe(2 * before.total.n)
      expect(await store.verify()).toMatchObject({ kind: 'intact', entries: 6 })
    })

    test('no role of the service changes an entry or a pick, and triggers stop their owner', async () => {
      const ledger = await ledgers.ledger()
      const store = await ledger.open()
      await store.ingest(sampleBatch([settled(1)]))
      for (const sql of [
        "UPDATE grading.entries SET text = 'x'",
        'DELETE FROM grading.entries',
        'DELETE FROM grading.picks',
        "UPDATE grading.picks SET payer = 'x'",
        'TRUNCATE grading.picks',
      ]) {
        await expect(runSql(ledger.url, sql)).rejects.toThrow(/permission denied/)
        await expect(runSql(ledger.ownerUrl, sql)).rejects.toThrow(/only grows/)
      }
      for (const sql of [
        "INSERT INTO grading.entries VALUES (9, sha256('x'), NULL, 'x')",
        'UPDATE grading.journals SET size = 0',
        "UPDATE grading.meta SET value = 'x'",
        'DELETE FROM grading.payloads',
        'DELETE FROM grading.truth',
      ])
        await expect(runSql(ledger.url, sql)).rejects.toThrow(/permission denied/)
    })

    describe('what was altered behind the triggers is found', () => {
      test.each([
        {
          what: 'a text',
          sql: "UPDATE grading.entries SET text = text || '\\x20'::bytea WHERE at = 9",
          seq: 9,
        },
        {
          what: 'an entry filed under another event',
          sql: 'UPDATE grading.entries SET event = 2 WHERE at = 0',
          seq: 0,
        },
      ])('$what', async ({ sql, seq }) => {
        const ledger = await written()
        await ledger.tamper(sql)
        expect(await verdict(ledger)).toMatchObject({ kind: 'broken', seq })
      })

      test('the truth table', async () => {
        const ledger = await written()
        await ledger.tamper(
          "UPDATE grading.truth SET cell = replace(cell, '\"clusters\":', '\"clusters\":1') WHERE key LIKE '%all B'",
        )
        expect(await verdict(ledger)).toMatchObject({
          kind: 'broken',
          problem: 'the truth table is not what the ledger comes to',
        })
      })
    })
  },
)
