/** What answers of COMMIT that are torn off leave of a ledger and of payments; journal-store has kills and crashes. */
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { openTornCommits } from '@tallystick/journal-store/torn-commits'
import { systemClock } from '@tallystick/service-kit'
import { exampleReservation } from '@tallystick/x402/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { type PostgresLedger, startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'

const observed = (name: string) =>
  sampleObservation({
    event: sampleEvent({ path: `soccer/${name}` }),
    closes: [samplePrices()],
    outcomes: scored(1, 0),
  })

/** A server of one's own: one that was there already is not crashed, and has no socket that one could stand before. */
const isSkipped = postgresMissing !== undefined || process.env['DATABASE_URL'] !== undefined

describe.skipIf(isSkipped)(
  `trouble on PostgreSQL${isSkipped ? ` (skipped: ${postgresMissing ?? 'DATABASE_URL is another’s server'})` : ''}`,
  () => {
    let ledgers: ReturnType<typeof startLedgerServer>
    let ledger: PostgresLedger
    beforeAll(() => {
      ledgers = startLedgerServer()
    })
    beforeEach(async () => {
      ledger = await ledgers.ledger()
    })
    afterEach(() => ledgers.endLedgers())
    afterAll(() => ledgers.end())

    describe('a COMMIT whose answer is torn off', () => {
      let torn: Awaited<ReturnType<typeof openTornCommits>>
      beforeEach(async () => {
        const socketFolder = ledgers.server.socketFolder ?? ''
        torn = await openTornCommits({ url: ledger.url, socketFolder, folder: ledger.folder })
      })
      afterEach(async () => {
        await ledger.close()
        torn.end()
      })

      test.each(['before', 'behind'] as const)(
        '%s the server: entries, picks and payloads are stored once, and memory is what is stored',
        async (how) => {
          const store = await ledger.open({ url: torn.url })
          const { pay } = createGraderFixture(store)
          for (let round = 0; round < 5; round += 1) {
            const names = ['a', 'b'].map((name) => `${name}${round}`)
            torn.tearNext(how)
            await Promise.all(names.map((name) => store.ingest(sampleBatch([observed(name)]))))
            torn.tearNext(how)
            const card = await pay(samplePick({ market: `soccer/a${round}/1x2/ft` }))
            expect(await store.pickByReceipt(card.receipt ?? '')).toBeDefined()
            torn.tearNext(how)
            const rawSha256 = `hash ${round}`
            await store.markPayload({ rawSha256, feed: 'manual', receivedAtSeconds: 1 })
            expect(await store.hasPayload(rawSha256)).toBe(true)
          }
          expect(torn.torn()).toBe(15)
          expect(await store.counts()).toEqual({ entries: 25, events: 10, picks: 5 })
          expect(await store.verify()).toMatchObject({ kind: 'intact', entries: 25 })
          const fresh = await ledger.open()
          expect(await store.truth()).toEqual(await fresh.truth())
        },
      )

      test.each(['before', 'behind'] as const)(
        'G4: %s the server: each step of a reservation is taken once, and answered as it was',
        async (how) => {
          const store = await ledger.openReservations({ clock: systemClock }, torn.url)
          const expiresAtSeconds = systemClock.unixMs() / 1_000 + 1_000
          for (let round = 0; round < 5; round += 1) {
            const terms = { keepsAnswer: true, fingerprint: `${round}`, expiresAtSeconds } as const
            const [first, second] = [`first ${round}`, `second ${round}`]
            const step = <Result>(run: () => Promise<Result>): Promise<Result> => {
              torn.tearNext(how)
              return run()
            }
            expect(await step(() => store.reserve(exampleReservation(first, terms)))).toEqual({
              kind: 'reserved',
            })
            await step(() => store.markSettled(first))
            await step(() => store.keepAnswer(first, { answer: '{}', expiresAtSeconds }))
            expect(await step(() => store.reserve(exampleReservation(second, terms)))).toEqual({
              kind: 'kept',
              answer: '{}',
            })
            await step(() => store.markDelivered(second))
            const gone = `gone ${round}`
            await store.reserve(exampleReservation(gone, { fingerprint: gone }))
            await step(() => store.release(gone))
            expect(await store.get(gone)).toBeUndefined()
            expect(await store.get(first)).toMatchObject({ state: 'answered', isDelivered: true })
          }
          expect(torn.torn()).toBe(30)
          expect(await store.open()).toEqual([])
        },
      )
    })
  },
)
