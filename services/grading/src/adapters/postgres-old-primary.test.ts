/** Payments beside a primary that hangs, and beside an old one that comes back on its own timeline. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import {
  postgresMissing,
  runSql,
  startPostgresPair,
} from '@tallystick/journal-store/postgres-server'
import { Secret, systemClock } from '@tallystick/service-kit'
import { exampleReservation } from '@tallystick/x402/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStores, type Stores } from './open-stores.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'

const PAYMENTS = 24
const POLL = { interval: 20 }
const COUNT = 'SELECT FROM grading.reservations'
const isSkipped = postgresMissing !== undefined || process.env['DATABASE_URL'] !== undefined

const reserve = ({ reservations }: Stores, id: string) =>
  reservations.reserve(exampleReservation(id, { fingerprint: id, keepsAnswer: true }))

describe.skipIf(isSkipped)(
  `payments and an old primary${isSkipped ? ` (skipped: ${postgresMissing ?? 'DATABASE_URL is another’s server'})` : ''}`,
  () => {
    let folder: string
    let pair: Awaited<ReturnType<typeof startPostgresPair>>
    let owner: string
    let opened: Stores[]
    const open = async (): Promise<Stores> => {
      const stores = await openStores(
        {
          DATABASE_PATH: join(folder, 'grading'),
          DATABASE_URL: new Secret(pair.both(owner.replace(/\/\/[^@]*@/, '//grading_app@'))),
          CHECKPOINT_KEY: new Secret(Buffer.alloc(32, 3).toString('base64')),
          BASE_URL: 'http://grading.test',
        },
        { clock: systemClock, onProblem: () => undefined },
      )
      opened.push(stores)
      return stores
    }
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'old-primary-'))
      opened = []
      pair = await startPostgresPair()
      ;({ owner } = await pair.database())
      await migratePostgresStore(POSTGRES_LEDGER, { url: owner, pause: async () => undefined })
    })
    afterEach(async () => {
      for (const stores of opened) await stores.close()
      pair.thawPrimary()
      pair.end()
      rmSync(folder, { recursive: true, force: true })
    })

    test(`S12: ${PAYMENTS} payments after a failover, the old primary back beside the new one: none is kept on the old one, and each is found again`, async () => {
      const stores = await open()
      await reserve(stores, 'before')
      pair.failOver()
      await reserve(stores, 'after')
      pair.startOldPrimary()
      // Every connection is made anew, and the old primary is named first.
      await runSql(
        pair.second(owner),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'grading_app'",
      )
      const ids = Array.from({ length: PAYMENTS }, (_, at) => `payment ${at}`)
      const reserved = await Promise.all(ids.map((id) => reserve(stores, id)))
      expect(reserved.map(({ kind }) => kind)).toEqual(ids.map(() => 'reserved'))
      expect((await runSql(owner, COUNT)).rowCount).toBe(1)
      expect((await runSql(pair.second(owner), COUNT)).rowCount).toBe(2 + PAYMENTS)
      // The next process begins beside both, too.
      await stores.close()
      const next = await open()
      const found = await next.reservations.open()
      expect(found.map(({ paymentId }) => paymentId)).toEqual(expect.arrayContaining(ids))
    })

    test('S12: the primary hangs and the standby is promoted, under payments: reservations go on, and each that was confirmed is there', async () => {
      const stores = await open()
      const confirmed: string[] = []
      const over = new AbortController()
      const buying = Array.from({ length: 8 }, async (_, buyer) => {
        for (let count = 0; !over.signal.aborted; count += 1) {
          const id = `${buyer} ${count}`
          // Whoever got no answer sends the same payment again.
          const outcome = await reserve(stores, id).catch(() => undefined)
          if (outcome === undefined) count -= 1
          else confirmed.push(id)
        }
      })
      await expect.poll(() => confirmed.length, POLL).toBeGreaterThan(50)
      pair.freezePrimary()
      const before = confirmed.length
      pair.promoteStandby()
      await expect.poll(() => confirmed.length, POLL).toBeGreaterThan(before + 50)
      over.abort()
      await Promise.all(buying)
      const found = new Set((await stores.reservations.open()).map(({ paymentId }) => paymentId))
      expect(confirmed.filter((id) => !found.has(id))).toEqual([])
    })
  },
)
