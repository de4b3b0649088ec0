/** What a round reads of one event with very many picks and prices: the server itself counts the rows. */
import { postgresMissing, runSql } from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { calibrationColumn } from '../domain/calibration/truth-rows.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
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

const { path } = sampleEvent()
const PICKS = 30_000
const PRICES = 36_000
const ROUNDS = 40

/** Prices of ten books, each at its own minute. */
const makeRounds = (first: number, rounds: number) =>
  sampleBatch(
    [
      sampleObservation({
        snapshots: Array.from({ length: rounds * 10 }, (_, at) => {
          const round = first + Math.floor(at / 10)
          const odds = { home: String(2 + (round % 100) / 100), draw: '3.5', away: '3.9' }
          const capturedAtSeconds = START_SECONDS - 30 * 86_400 + round * 60
          return samplePrices({ book: `book_${at % 10}`, odds, capturedAtSeconds })
        }),
      }),
    ],
    { receivedAtSeconds: START_SECONDS - 30 * 86_400 + (first + rounds) * 60 },
  )

/** Picks that only the ledger's tables have: read, they would be no picks. */
const FILL = `INSERT INTO grading.picks (receipt, payment_id, event_path, payer, opening, options, seq)
  SELECT 'r' || n, 'p' || n, '${path}', '0x' || n, 'no JSON', '{}', 1000000 + n FROM generate_series(1, ${PICKS}) AS n`

const READ = `SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) AS read, n_tup_ins AS written
  FROM pg_stat_user_tables WHERE schemaname = 'grading'`

/** Rows read and written by connections that have ended, by table. */
async function countedBy(ledger: PostgresLedger, table: string) {
  const { rows } = await runSql(ledger.ownerUrl, READ)
  const found = rows.find(({ relname }) => relname === table)
  return { read: Number(found?.['read']), written: Number(found?.['written']) }
}

describe.skipIf(postgresMissing !== undefined)('one event on PostgreSQL', () => {
  let ledgers: ReturnType<typeof startLedgerServer>
  let ledger: PostgresLedger
  beforeAll(async () => {
    ledgers = startLedgerServer()
    ledger = await ledgers.ledger()
  })
  afterAll(async () => {
    await ledgers.endLedgers()
    ledgers.end()
  })

  /** Rows of a table that the use of a store read, once the server has counted what it wrote. */
  async function rowsRead(
    tables: readonly string[],
    use: (store: GradingStore) => Promise<void>,
  ): Promise<readonly number[]> {
    const before = await Promise.all(tables.map((table) => countedBy(ledger, table)))
    const entries = (await countedBy(ledger, 'entries')).written
    const store = await ledger.open()
    const size = (await store.head()).size
    await use(store)
    const grown = (await store.head()).size - size
    await store.close()
    const written = async () => (await countedBy(ledger, 'entries')).written
    await expect.poll(written).toBe(entries + grown)
    const after = await Promise.all(tables.map((table) => countedBy(ledger, table)))
    return after.map(({ read }, at) => read - (before[at]?.read ?? 0))
  }

  test('with 30,000 picks and 36,000 prices, a round, a look and a pick read none of them again', async () => {
    const filled = await ledger.open()
    for (let first = 0; first < PRICES / 10; first += 360)
      await filled.ingest(makeRounds(first, 360))
    await filled.close()
    await ledger.tamper(FILL)
    const rounds = await rowsRead(['picks', 'entries'], async (store) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await store.ingest(makeRounds(PRICES / 10 + round, 1))
        await store.events([path])
      }
      const { pay } = createGraderFixture(store)
      await pay(samplePick({ market: 'soccer/another/1x2/ft' }))
    })
    expect(rounds[0]).toBeLessThanOrEqual(10)
    // The ten entries so far, for the checkpoint that the ledger opens with, and to fold the event: both once, and no round's.
    expect(rounds[1]).toBeLessThanOrEqual(20)
  })

  test('another process takes in what is new of an event, and folds nothing twice', async () => {
    const other = await ledger.open()
    const [before] = await other.events([path])
    const seen = async () => (await other.events([path]))[0]?.snapshots.length
    const writer = await ledger.open()
    for (let round = 0; round < 5; round += 1)
      await writer.ingest(makeRounds(PRICES / 10 + 100 + round, 1))
    await expect.poll(seen).toBe((before?.snapshots.length ?? 0) + 50)
    expect(await other.events([path])).toEqual(await writer.events([path]))
  })

  test('a result still counts every pick, also one that came in the same commit', async () => {
    const store = await (await ledgers.ledger()).open()
    // Its clock stands at a day before the start.
    const { pay } = createGraderFixture(store)
    const prices = samplePrices({ capturedAtSeconds: START_SECONDS - 90_000 })
    const early = sampleObservation({ snapshots: [prices], closes: [samplePrices()] })
    await store.ingest(sampleBatch([early], { receivedAtSeconds: START_SECONDS - 88_000 }))
    await pay(samplePick({ odds: '2.05' }), { payer: 'a' })
    await Promise.all([
      pay(samplePick({ odds: '2.05' }), { payer: 'b', paymentId: 'b' }),
      store.ingest(sampleBatch([sampleObservation({ outcomes: scored(1, 0) })])),
      pay(samplePick({ odds: '2.05' }), { payer: 'c', paymentId: 'c' }),
    ])
    const column = { population: 'committed', basis: 'fair', scope: 'all' } as const
    expect(calibrationColumn(await store.truth(), column).total.n).toBe(3)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })
})
