// C32: several processes on one PostgreSQL replay its chains once, and none believes the database more than a replay of its own.
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { type Clock, type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  makeRecordDatabase,
  tamperPostgresEntry,
  useRecordServer,
} from './adapters/records/postgres-store.fixture.ts'
import { type CareService, createCareService } from './service.ts'
import { joinSignature, testConfig } from './testing/care.fixture.ts'

const START_MS = Date.UTC(2026, 10, 21, 12)
const TEA = { patient: 'ann', domain: 'tea', audience: 'user' } as const

const putBack = (ms: number): string =>
  `UPDATE care.verdicts SET at_ms = kept.at_ms + ${ms}, found = kept.found, mac = kept.mac, leaves = kept.leaves FROM kept`

describe.skipIf(postgresMissing !== undefined)(
  `C32: verdicts of several processes${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    let database: Awaited<ReturnType<typeof makeRecordDatabase>>
    let clock: ManualClock
    let services: CareService[]
    let holder: Process
    let other: Process

    type Process = Awaited<ReturnType<typeof start>>
    async function start(over: Partial<Clock> = {}) {
      const config = testConfig({
        DATABASE_PATH: `${database.databasePath}-${services.length}`,
        DATABASE_URL: database.url,
      })
      const own = { ...clock, ...over }
      const service = await createCareService({ config, clock: own, followsDatabase: false })
      const process = {
        service,
        /** Pages that it replayed. */
        replayed: 0,
        report: async () => (await service.app.inject({ method: 'GET', url: '/verify' })).json(),
      }
      const verify = service.store.verify.bind(service.store)
      service.store.verify = (query) => {
        process.replayed += query.numbers === undefined ? 0 : 1
        return verify(query)
      }
      await service.app.ready()
      services.push(service)
      return process
    }
    const stop = async (service: CareService): Promise<void> => {
      services = services.filter((each) => each !== service)
      await service.app.close()
      await service.close()
    }
    const write = async ({ service }: Process, value: string): Promise<void> => {
      const payload = JSON.stringify({ ...TEA, value, authorId: 'dr-osei', authorLabel: 'Dr Osei' })
      const timestamp = new Date(clock.unixMs()).toISOString()
      const signature = joinSignature({ timestamp, body: payload })
      const headers = { 'x-care-signature': signature, 'x-care-timestamp': timestamp }
      const request = { method: 'POST', url: '/write', payload, headers } as const
      expect((await service.app.inject(request)).statusCode).toBe(200)
    }
    /** Time passes until the scrub has replayed everything again. */
    const passRound = async (): Promise<void> => {
      const again = `SELECT FROM care.verdicts WHERE at_ms > ${clock.unixMs()}`
      const found = async () => {
        clock.advanceMs(1_000)
        return (await database.sql(again)).rows.length
      }
      await expect.poll(found, { interval: 20 }).toBe(1)
    }

    beforeEach(async () => {
      services = []
      clock = manualClock(START_MS)
      database = await makeRecordDatabase()
      holder = await start()
      other = await start()
      await write(holder, 'green')
      await write(other, 'camomile')
    })
    afterEach(async () => {
      for (const service of services) await stop(service)
      await database.end()
    })

    it('what one replayed, all report, with what was written since; the holder of the lease alone scrubs', async () => {
      const first = await other.report()
      expect(first).toMatchObject({ intact: true, versions: 2, replayIntervalSeconds: 60 })
      await write(holder, 'rooibos')
      const again = { ...first, versions: 3, chains: [{ ...first.chains[0], versions: 3 }] }
      expect(await holder.report()).toEqual(again)
      expect([holder.replayed, other.replayed]).toEqual([0, 1])
      await passRound()
      const { checkedAt } = await other.report()
      expect(Date.parse(checkedAt)).toBeGreaterThanOrEqual(START_MS + 48_000)
      expect((await holder.report()).checkedAt).toBe(checkedAt)
      expect([holder.replayed, other.replayed]).toEqual([1, 1])
      const { body } = await other.service.app.inject({ method: 'GET', url: '/metrics' })
      expect(body).toContain('care_replays_total 1\n')
      // The next holder of the lease goes on from the rows, though nobody asks it.
      await stop(holder.service)
      await passRound()
      expect(other.replayed).toBe(2)
      expect((await other.report()).checkedAt > checkedAt).toBe(true)
    })

    it('an altered byte is in the report of every process within the interval, whatever a hand does to the rows', async () => {
      await other.report()
      await database.sql('CREATE TABLE kept AS SELECT * FROM care.verdicts')
      await tamperPostgresEntry(database, {
        slot: TEA,
        version: 1,
        change: (entry) => entry.replace('green', 'black'),
      })
      expect((await holder.report()).intact).toBe(true)
      await passRound()
      const found = { intact: false, chains: [{ brokenAt: 1 }] }
      for (const process of [other, holder]) expect(await process.report()).toMatchObject(found)
      expect(other.replayed).toBe(1)
      clock.advanceMs(START_MS + 70_000 - clock.unixMs())
      const attacks = [
        // As it was, with a time of now, and with one in an hour.
        putBack(0),
        putBack(70_000),
        putBack(3_600_000),
        'UPDATE care.verdicts SET found = (SELECT found FROM kept)',
        'DELETE FROM care.verdicts',
        // With the chain itself.
        'SET session_replication_role = replica; DELETE FROM care.chains; DELETE FROM care.verdicts',
      ]
      for (const attack of attacks) {
        await database.sql(attack)
        const fresh = await start()
        expect([attack, (await fresh.report()).intact]).toEqual([attack, false])
        await stop(fresh.service)
      }
    })

    it('what stands behind all chains stays in the report, though another process found more chains in front of it', async () => {
      const stray = '{"at": 1000000, "place": 1000000, "chain": 1000000, "version": 1}'
      await database.sql(`SET session_replication_role = replica;
        INSERT INTO care.user_versions SELECT (jsonb_populate_record(v, '${stray}')).* FROM care.user_versions v LIMIT 1`)
      expect((await other.report()).intact).toBe(false)
      const author = { authorId: 'dr-osei', authorLabel: 'Dr Osei', value: '.' }
      await holder.service.store.append({ ...TEA, ...author, patient: 'bea' })
      // As if chains enough for a page had been begun before it.
      await database.sql(`SET session_replication_role = replica; UPDATE care.chains SET id = 300 WHERE patient = 'bea';
        UPDATE care.user_versions SET chain = 300 WHERE chain = 2; DELETE FROM care.verdicts`)
      const fresh = await start()
      clock.advanceMs(1_000)
      expect((await fresh.report()).intact).toBe(false)
      expect(fresh.replayed).toBe(2)
      expect((await other.report()).intact).toBe(false)
      expect(other.replayed).toBe(1)
    })

    it('a process whose clock is an hour ahead is not believed, and in nobody’s way', async () => {
      const ahead = await start({ unixMs: () => clock.unixMs() + 3_600_000 })
      await ahead.report()
      expect((await other.report()).checkedAt).toBe(new Date(START_MS).toISOString())
      expect(await holder.report()).toEqual(await other.report())
      expect([ahead.replayed, other.replayed, holder.replayed]).toEqual([1, 1, 0])
    })
  },
)
