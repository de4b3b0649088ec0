import { postgresMissing, runSql } from '@tallystick/journal-store/postgres-server'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { describeReservationStore, reservationOf } from '@tallystick/x402/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { type PostgresLedger, startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import { openPostgresReservationStore } from './postgres-reservation-store.ts'

const START_MS = 1_795_226_000_000

const open = (ledger: PostgresLedger, clock: ManualClock, over: object = {}) =>
  ledger.keep(openPostgresReservationStore({ ...ledger.identity, clock, ...over }))

describe.skipIf(postgresMissing !== undefined)(
  `reservations on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let ledgers: ReturnType<typeof startLedgerServer>
    beforeAll(() => {
      ledgers = startLedgerServer()
    })
    afterEach(() => ledgers.endLedgers())
    afterAll(() => ledgers.end())

    describeReservationStore('PostgreSQL', async () => {
      const clock = manualClock(START_MS)
      const store = open(await ledgers.ledger(), clock)
      return { store, nowSeconds: () => clock.unixMs() / 1_000 }
    })

    test('G4: what is kept for a payer outlives its process, with its payment whole', async () => {
      const [ledger, clock] = [await ledgers.ledger(), manualClock(START_MS)]
      const first = open(ledger, clock)
      const kept = { keepsAnswer: true, idempotencyKey: 'k', request: '{"pick":"é"}' } as const
      await first.reserve(reservationOf('open', kept))
      await first.markSettled('open')
      await first.reserve(reservationOf('p', { keepsAnswer: true, fingerprint: 'other' }))
      await first.keepAnswer('p', { answer: '{"n":1}', expiresAtSeconds: START_MS / 1_000 + 1_000 })
      await first.reserve(reservationOf('q', { keepsAnswer: true, fingerprint: 'other' }))
      await first.markDelivered('q')
      const before = [await first.get('p'), await first.get('q')]
      await first.close()
      const second = open(ledger, clock)
      expect(await second.open()).toEqual([reservationOf('open', { ...kept, state: 'settled' })])
      expect([await second.get('p'), await second.get('q')]).toEqual(before)
      expect(before).toMatchObject([{ isDelivered: true }, { answer: '{"n":1}', answeredBy: 'p' }])
    })

    test('two processes: of two payments with one key, one is reserved', async () => {
      const [ledger, clock] = [await ledgers.ledger(), manualClock(START_MS)]
      const stores = [open(ledger, clock), open(ledger, clock)]
      const kept = { keepsAnswer: true, idempotencyKey: 'k' } as const
      for (let round = 0; round < 20; round += 1) {
        const outcomes = await Promise.all(
          stores.map((store, index) =>
            store.reserve(
              reservationOf(`p${round} ${index}`, {
                ...kept,
                idempotencyKey: `${round}`,
                fingerprint: `${round}`,
              }),
            ),
          ),
        )
        expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['reserved', 'unresolved'])
      }
    })

    test('when open ones are full, nothing more is reserved, and none is forgotten', async () => {
      const store = open(await ledgers.ledger(), manualClock(START_MS), { openMax: 2 })
      for (const id of ['a', 'b']) await store.reserve(reservationOf(id))
      expect(await store.reserve(reservationOf('c'))).toEqual({ kind: 'full' })
      expect((await store.open()).map(({ paymentId }) => paymentId)).toEqual(['a', 'b'])
    })

    test('one answer is given to a bounded number of unpaid payments', async () => {
      const store = open(await ledgers.ledger(), manualClock(START_MS), { givenMax: 2 })
      const kept = { keepsAnswer: true, idempotencyKey: 'k' } as const
      await store.reserve(reservationOf('p', kept))
      await store.keepAnswer('p', { answer: '{}', expiresAtSeconds: START_MS / 1_000 + 1_000 })
      const kinds: string[] = []
      for (const id of ['a', 'b', 'c'])
        kinds.push((await store.reserve(reservationOf(id, kept))).kind)
      expect(kinds).toEqual(['kept', 'kept', 'full'])
      expect(await store.get('c')).toBeUndefined()
    })

    test('every connection cut at random: each step is taken once, and answered', async () => {
      const ledger = await ledgers.ledger()
      const store = open(ledger, manualClock(START_MS))
      const cut = () =>
        runSql(
          ledger.ownerUrl,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'grading_app' AND datname = current_database()",
        )
      for (let round = 0; round < 10; round += 1) {
        const ids = Array.from({ length: 20 }, (_, at) => `p${round} ${at}`)
        const reserved = ids.map((id) => store.reserve(reservationOf(id, { fingerprint: id })))
        await cut()
        expect(new Set((await Promise.all(reserved)).map(({ kind }) => kind))).toEqual(
          new Set(['reserved']),
        )
        // A step is taken twice at most: what was cut while it waited is made anew first.
        expect(await Promise.all(ids.map((id) => store.get(id)))).toHaveLength(20)
      }
      expect(await store.open()).toHaveLength(200)
    })

    test('a server that refuses is a named error in every step, before anything is settled', async () => {
      const ledger = await ledgers.ledger()
      const store = open(ledger, manualClock(START_MS))
      await ledger.tamper('DROP TABLE grading.reservations')
      for (const step of [
        () => store.get('p'),
        () => store.open(),
        () => store.reserve(reservationOf('p')),
        () => store.release('p'),
      ])
        await expect(step()).rejects.toThrow(GradingStoreUnavailable)
    })
  },
)
