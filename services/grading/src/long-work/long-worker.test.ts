/** Long work has a thread of its own: what it answers, what it knows, and what becomes of its jobs when it fails. */

import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { manualClock, systemClock } from '@tallystick/service-kit'
import { toolCallHash } from '@tallystick/x402/mcp'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { LedgerPlace } from '../adapters/ledger-reader.ts'
import { type GradingStore, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { LongWorkUnavailable } from '../domain/grading/long-work.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { makeLedgerFolder } from '../testing/ledger-folder.fixture.ts'
import { startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
} from '../testing/samples.fixture.ts'
import { createLongWork } from './do-long-work.ts'
import { openLongWorker } from './long-worker.ts'

const closing: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const opened = <Part extends { close(): Promise<void> }>(part: Part): Part => {
  closing.push(() => part.close())
  return part
}

const openWorker = (place: LedgerPlace) => opened(openLongWorker({ place, clock: systemClock }))

const { path, home, away } = sampleEvent()
const picks = [
  { market: `${path}/1x2/ft`, selection: 'home', odds: '2.10' },
  { market: `soccer/${home} v ${away}/1x2/ft`, selection: 'away', odds: '3.4' },
]

const fill = (store: GradingStore, event = sampleEvent()) =>
  store.ingest(sampleBatch([sampleObservation({ event, closes: [samplePrices()] })]))

async function openFile() {
  const folder = makeLedgerFolder()
  closing.push(() => folder.remove())
  return { store: opened(await folder.open()), place: { databasePath: folder.path } }
}

const server = postgresMissing === undefined ? startLedgerServer() : undefined
afterAll(() => server?.end())

async function openDatabase() {
  if (server === undefined) throw new Error('there is no server')
  const ledger = await server.ledger()
  closing.push(() => server.endLedgers())
  const { databasePath } = ledger.identity
  return { store: await ledger.open(), place: { databasePath, databaseUrl: ledger.url } }
}

describe.each([
  ['SQLite', openFile, false],
  ['PostgreSQL', openDatabase, postgresMissing !== undefined],
] as const)('on %s', (_engine, open, isSkipped) => {
  test.skipIf(isSkipped)(
    'it answers what this thread would, from all that is committed',
    async () => {
      const { place, store } = await open()
      const worker = openWorker(place)
      const { grader } = createGraderFixture(store)
      const here = createLongWork({ slates: grader, store, cpuMs: () => 0 })
      const search = { kind: 'search', sport: 'soccer', daySeconds: undefined, text: away } as const
      const text = JSON.stringify({ picks })
      const audit = { text, payer: 'one' }
      const repeated = { text, receipt: 'r' }
      for (const name of ['nothing', 'a match', 'and another'] as const) {
        if (name !== 'nothing')
          await fill(store, sampleEvent(name === 'a match' ? {} : { path: 'soccer/another' }))
        expect(await worker.audit(audit)).toEqual(await here.audit(audit))
        expect(await worker.repeatAudit(repeated)).toBe(await here.repeatAudit(repeated))
        expect(await worker.readAudit({ body: { picks } })).toEqual({ kind: 'asked', text })
        const paidCall = { server: 'https://grading.example/mcp', name: 'audit_picks' }
        const callHash = toolCallHash({ ...paidCall, arguments: { picks } })
        const paid = await worker.readAudit({ body: { picks }, paidCall })
        expect(paid).toEqual({ kind: 'asked', text, callHash })
        const look = { body: { csv: undefined, picks, date_order: undefined }, spentMs: 0 } as const
        expect(await worker.preview(look)).toEqual(await here.preview(look))
        expect(await worker.search(search)).toBe(await here.search(search))
      }
      expect((await worker.audit(audit)).json).toContain('"outcome":"GRADED"')
      expect(JSON.parse(await worker.search(search)).candidates).toHaveLength(2)
    },
  )
})

test('a ledger that cannot be read is the store’s own error', async () => {
  const worker = openWorker({ databasePath: '/nowhere/grading.db' })
  await expect(worker.readAudit({ body: { picks } })).rejects.toThrow(GradingStoreUnavailable)
})

const misbehaving = (clock = manualClock(0)) => {
  const program = new URL('misbehaving-thread.fixture.ts', import.meta.url)
  const worker = opened(openLongWorker({ place: { databasePath: '' }, clock, program }))
  return { clock, run: (text: string) => worker.audit({ text, payer: '' }), worker }
}

describe('a thread that fails', () => {
  test.each(['die', 'throw', 'eat'])(
    'S12: if it should %s, its job is named unavailable, and the next has a new thread',
    async (wish) => {
      const { clock, run } = misbehaving()
      expect(await run('first')).toBe('audit first')
      const [lost, next] = [run(wish), run('next')]
      await expect(lost).rejects.toThrow(LongWorkUnavailable)
      expect(await next).toBe('audit next')
      expect(clock.pendingCount()).toBe(0)
    },
  )

  test('S12: if it hangs, it is replaced after 20 s', async () => {
    const { clock, run } = misbehaving()
    expect(await run('first')).toBe('audit first')
    const [lost, next] = [run('hang'), run('next')]
    clock.advanceMs(20_000)
    await expect(lost).rejects.toThrow(LongWorkUnavailable)
    expect(await next).toBe('audit next')
  })
})

test('S12: jobs that wait while the store fails are refused with the one that found it, each in the time of one; the next is done', async () => {
  const { run, worker } = misbehaving()
  const jobs = [run('freeze'), ...['two', 'three'].map(run), worker.readAudit({ body: { picks } })]
  for (const end of await Promise.allSettled(jobs))
    expect(end).toMatchObject({ status: 'rejected', reason: expect.any(GradingStoreUnavailable) })
  expect(await run('next')).toBe('audit next')
})

test('32 jobs of a kind wait, and no more; another kind has a line of its own, and what is paid for is done first', async () => {
  const { clock, run, worker } = misbehaving()
  const done: string[] = []
  const body = { csv: 'Odds', picks: undefined, date_order: undefined } as const
  const look = () => worker.preview({ body, spentMs: 0 })
  const running = run('hang').catch(() => 'lost')
  const looks = Array.from({ length: 32 }, async (_, index) => {
    await look()
    done.push(`look ${index}`)
  })
  await expect(look()).rejects.toThrow(LongWorkUnavailable)
  const audit = run('paid').then(() => done.push('paid'))
  clock.advanceMs(20_000)
  await Promise.all([running, ...looks, audit])
  expect(done).toEqual(['paid', ...Array.from({ length: 32 }, (_, index) => `look ${index}`)])
})

test('S6: closing ends the thread and refuses what waits', async () => {
  const { run, worker } = misbehaving()
  const jobs = [run('hang'), run('next')]
  const ends = Promise.allSettled(jobs)
  await worker.close()
  for (const end of await ends)
    expect(end).toMatchObject({ status: 'rejected', reason: expect.any(LongWorkUnavailable) })
  await expect(run('late')).rejects.toThrow(LongWorkUnavailable)
})
