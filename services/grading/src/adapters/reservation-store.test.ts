import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { postgresMissing, runSql } from '@tallystick/journal-store/postgres-server'
import { manualClock } from '@tallystick/service-kit'
import {
  describeReservationStore,
  describeSharedReservations,
  exampleReservation,
} from '@tallystick/x402/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { type PostgresLedger, startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import { reservationStatements, SQLITE_DIALECT } from './reservation-statements.ts'
import { type OpenReservationStore, openSqliteReservationStore } from './reservation-store.ts'
import { openReservationDatabase } from './sqlite-database.ts'

const START_MS = 1_795_226_000_000
const clock = manualClock(START_MS)
const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

const keep = <Store extends OpenReservationStore>(store: Store): Store => {
  endings.unshift(() => store.close())
  return store
}

function folderPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grading-payments-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'grading.db')
}

/** One place of reservations, opened once or more. */
type Place = {
  readonly open: (limits?: { openMax?: number; givenMax?: number }) => Promise<OpenReservationStore>
  /** Takes the table away. */
  readonly wreck: () => Promise<unknown>
}

function describeStore(name: string, place: () => Promise<Place>): void {
  describeReservationStore(name, async () => {
    const store = await (await place()).open()
    return { store, nowSeconds: () => clock.unixMs() / 1_000 }
  })

  test('G4: what is kept for a payer outlives its process, with its payment whole', async () => {
    const { open } = await place()
    const first = await open()
    const terms = { keepsAnswer: true, idempotencyKey: 'k', request: '{"pick":"é"}' } as const
    await first.reserve(exampleReservation('open', terms))
    await first.markSettled('open')
    await first.reserve(exampleReservation('p', { keepsAnswer: true, fingerprint: 'other' }))
    await first.keepAnswer('p', { answer: '{"n":1}', expiresAtSeconds: START_MS / 1_000 + 1_000 })
    await first.reserve(exampleReservation('q', { keepsAnswer: true, fingerprint: 'other' }))
    await first.markDelivered('q')
    const before = [await first.get('p'), await first.get('q')]
    await first.close()
    const second = await open()
    expect(await second.open()).toEqual([
      exampleReservation('open', { ...terms, state: 'settled' }),
    ])
    expect([await second.get('p'), await second.get('q')]).toEqual(before)
    expect(before).toMatchObject([{ isDelivered: true }, { answer: '{"n":1}', answeredBy: 'p' }])
    const again = exampleReservation('open', { fingerprint: 'else' })
    expect((await second.reserve(again)).kind).toBe('held')
  })

  test('two processes: of two payments with one key, one is reserved', async () => {
    const { open } = await place()
    const stores = [await open(), await open()]
    for (let round = 0; round < 20; round += 1) {
      const terms = {
        keepsAnswer: true,
        idempotencyKey: `${round}`,
        fingerprint: `${round}`,
      } as const
      const outcomes = await Promise.all(
        stores.map((store, index) =>
          store.reserve(exampleReservation(`p${round} ${index}`, terms)),
        ),
      )
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['reserved', 'unresolved'])
    }
  })

  test('when open ones are full, nothing more is reserved, and none is forgotten', async () => {
    const store = await (await place()).open({ openMax: 2 })
    for (const id of ['a', 'b']) await store.reserve(exampleReservation(id))
    expect(await store.reserve(exampleReservation('c'))).toEqual({ kind: 'full' })
    expect((await store.open()).map(({ paymentId }) => paymentId)).toEqual(['a', 'b'])
  })

  test('one answer is given to a bounded number of unpaid payments', async () => {
    const store = await (await place()).open({ givenMax: 2 })
    const terms = { keepsAnswer: true, idempotencyKey: 'k' } as const
    await store.reserve(exampleReservation('p', terms))
    await store.keepAnswer('p', { answer: '{}', expiresAtSeconds: START_MS / 1_000 + 1_000 })
    const kinds: string[] = []
    for (const id of ['a', 'b', 'c'])
      kinds.push((await store.reserve(exampleReservation(id, terms))).kind)
    expect(kinds).toEqual(['kept', 'kept', 'full'])
    expect(await store.get('c')).toBeUndefined()
  })

  test('a store that can be read no more is a named error in every step, before anything is settled', async () => {
    const { open, wreck } = await place()
    const store = await open()
    await wreck()
    for (const step of [
      () => store.get('p'),
      () => store.open(),
      () => store.reserve(exampleReservation('p')),
      () => store.release('p'),
    ])
      await expect(step()).rejects.toThrow(GradingStoreUnavailable)
  })
}

const openOn = (ledger: PostgresLedger, limits: object = {}) =>
  ledger.openReservations({ clock, ...limits })

describe('reservations on SQLite', () => {
  describeStore('SQLite', async () => {
    const databasePath = folderPath()
    return {
      open: async (limits) => keep(openSqliteReservationStore({ databasePath, clock, ...limits })),
      wreck: async () => {
        const vandal = openReservationDatabase(databasePath)
        vandal.exec('DROP TABLE reservations')
        vandal.close()
      },
    }
  })

  test('G4: each step is fsynced when it is acknowledged: PRAGMA synchronous reads 2, in WAL', () => {
    const database = openReservationDatabase(folderPath())
    endings.unshift(() => database.close())
    expect({ ...database.prepare('PRAGMA synchronous').get() }).toEqual({ synchronous: 2 })
    expect({ ...database.prepare('PRAGMA journal_mode').get() }).toEqual({ journal_mode: 'wal' })
  })

  // What an earlier process left open is read once, at the start.
  const {
    takeAll: _,
    allOwn: __,
    ...whileServing
  } = reservationStatements(SQLITE_DIALECT, {
    openMax: 2,
    givenMax: 2,
  })
  test.each(Object.entries(whileServing))('what is looked up is indexed: %s', (_name, text) => {
    const database = openReservationDatabase(folderPath())
    endings.unshift(() => database.close())
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all()
    for (const { detail } of plan)
      expect(detail).not.toMatch(/^SCAN (?:one|origin|reservations)(?! USING (?:COVERING )?INDEX)/)
  })

  test('another program’s file beside the ledger is refused, and nothing is written into it', () => {
    const databasePath = folderPath()
    const theirs = new DatabaseSync(`${databasePath}.payments`)
    endings.unshift(() => theirs.close())
    theirs.exec('CREATE TABLE theirs (id)')
    const open = () => openSqliteReservationStore({ databasePath, clock })
    expect(open).toThrow(GradingStoreUnavailable)
    expect(theirs.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 1 })
  })
})

describe.skipIf(postgresMissing !== undefined)(
  `reservations on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let ledgers: ReturnType<typeof startLedgerServer>
    beforeAll(() => {
      ledgers = startLedgerServer()
    })
    afterEach(() => ledgers.endLedgers())
    afterAll(() => ledgers.end())

    describeStore('PostgreSQL', async () => {
      const ledger = await ledgers.ledger()
      return {
        open: (limits) => openOn(ledger, limits),
        wreck: () => ledger.tamper('DROP TABLE grading.reservations'),
      }
    })

    describeSharedReservations('PostgreSQL', async () => {
      const ledger = await ledgers.ledger()
      const [first, second] = [await openOn(ledger), await openOn(ledger)]
      const endFirst = () =>
        ledger.tamper(`DELETE FROM grading.processes WHERE id = '${first.owner()}'`)
      return { first, second, endFirst, nowSeconds: () => clock.unixMs() / 1_000 }
    })

    test('every connection cut at random: each step is taken once, and answered', async () => {
      const ledger = await ledgers.ledger()
      const store = await openOn(ledger)
      const cut = () =>
        runSql(
          ledger.ownerUrl,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'grading_app' AND datname = current_database()",
        )
      for (let round = 0; round < 10; round += 1) {
        const ids = Array.from({ length: 20 }, (_, at) => `p${round} ${at}`)
        const reserved = ids.map((id) => store.reserve(exampleReservation(id, { fingerprint: id })))
        await cut()
        expect(new Set((await Promise.all(reserved)).map(({ kind }) => kind))).toEqual(
          new Set(['reserved']),
        )
        // A step is taken twice at most: what was cut while it waited is made anew first.
        expect(await Promise.all(ids.map((id) => store.get(id)))).toHaveLength(20)
      }
      expect(await store.open()).toHaveLength(200)
    })
  },
)
