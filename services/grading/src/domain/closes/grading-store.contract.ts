import { leafHash, openCheckpoint, verifyInclusion } from '@tallystick/hashchain'
import { describe, expect, test } from 'vitest'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleMatch,
  sampleObservation,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import { commitmentHash } from './committed-pick.ts'
import type { EventSearch, GradingStore, StoredPick } from './grading-store.ts'
import type { PickOpening } from './pick-opening.ts'

/** An opening for tests. */
const opening: PickOpening = {
  market: 'soccer/epl.20260601.ars-che/1x2/ft',
  selection: 'home',
  odds: '2.1',
  receivedAtSeconds: START_SECONDS - 3_600,
  bestRecorded: '2.1',
  payerTag: 'payer',
  salt: '00',
}

const makePick = (name: string, over: Partial<PickOpening> = {}): Omit<StoredPick, 'seq'> => ({
  receipt: `receipt ${name}`,
  payer: '0xPayer',
  paymentId: `payment ${name}`,
  opening: { ...opening, ...over },
  options: { method: 'power', basis: 'auto' },
})

const line = (text: string) =>
  samplePrices({ market: `ah/ft/${text}`, odds: { home: '1.9', away: '1.98' } })

/** What every grading store must do; run against each engine. */
export function describeGradingStore(
  name: string,
  create: () => GradingStore | Promise<GradingStore>,
): void {
  describe(`grading store: ${name}`, () => {
    test('what was ingested is read back: event, closes, early prices and results', async () => {
      const store = await create()
      const outcome = await store.ingest(
        sampleBatch([
          sampleObservation({
            snapshots: [samplePrices()],
            closes: [samplePrices()],
            outcomes: scored(2, 1),
          }),
        ]),
      )
      expect(outcome).toEqual({
        events: 1,
        snapshots: 1,
        closes: 1,
        outcomes: 1,
        superseded: 0,
        unchanged: 0,
        declined: [],
      })
      const [state, none] = await store.events([sampleEvent().path, 'soccer/none'])
      expect(none).toBeUndefined()
      expect(state?.info).toEqual(sampleEvent())
      expect(state?.closes).toMatchObject([
        { status: 'final', book: 'pinnacle', odds: { home: 2.05 }, isComplete: true },
      ])
      expect(state?.snapshots).toHaveLength(1)
      expect(state?.outcomes).toMatchObject([{ score: { home: 2, away: 1 } }])
    })

    test('G8: repeated content adds no entry; changed content adds one that supersedes', async () => {
      const store = await create()
      const batch = sampleBatch([
        sampleObservation({ closes: [samplePrices()], outcomes: scored(2, 1) }),
      ])
      await store.ingest(batch)
      expect(await store.ingest(batch)).toMatchObject({ closes: 0, outcomes: 0, unchanged: 2 })
      const corrected = sampleObservation({
        closes: [samplePrices({ odds: { home: '2.1', draw: '3.5', away: '3.8' } })],
      })
      expect(await store.ingest(sampleBatch([corrected]))).toMatchObject({
        closes: 1,
        superseded: 1,
      })
      expect((await store.entry(2))?.entry).toMatchObject({ type: 'close', supersedes: [0] })
      const [state] = await store.events([sampleEvent().path])
      expect(state?.closes.map((close) => close.odds['home'])).toEqual([2.1])
      expect((await store.head()).size).toBe(3)
    })

    test('a source that comes back old takes no newer provisional close away', async () => {
      const store = await create()
      const ingest = (home: string, minutesBefore: number) => {
        const capturedAtSeconds = START_SECONDS - minutesBefore * 60
        const odds = { home, draw: '3.55', away: '3.9' }
        const closes = [samplePrices({ odds, capturedAtSeconds })]
        return store.ingest(
          sampleBatch([sampleObservation({ closes, closeStatus: 'provisional' })]),
        )
      }
      await ingest('2.10', 10)
      expect(await ingest('2.30', 5)).toMatchObject({ closes: 1 })
      expect(await ingest('2.10', 10)).toMatchObject({ closes: 0, unchanged: 1 })
      const [state] = await store.events([sampleEvent().path])
      expect(state?.closes.map(({ odds }) => odds['home'])).toEqual([2.3])
    })

    test('a source that comes back old moves neither a line nor a start back', async () => {
      const store = await create()
      const ingest = (handicap: string, minutesBefore: number, startAtSeconds: number) => {
        const capturedAtSeconds = START_SECONDS - minutesBefore * 60
        const closes = [{ ...line(handicap), capturedAtSeconds }]
        const event = sampleEvent({ startAtSeconds })
        return store.ingest(
          sampleBatch([sampleObservation({ event, closes, closeStatus: 'provisional' })]),
        )
      }
      await ingest('-0.5', 10, START_SECONDS)
      await ingest('-0.75', 5, START_SECONDS + 3_600)
      await ingest('-0.5', 10, START_SECONDS)
      const [state] = await store.events([sampleEvent().path])
      expect(state?.closes.map(({ market }) => market)).toEqual(['ah/ft/-0.75'])
      expect(state?.info.startAtSeconds).toBe(START_SECONDS + 3_600)
    })

    test('provisional closes become final, never the reverse; a withdrawn result is pending again', async () => {
      const store = await create()
      const ingest = (status: 'provisional' | 'final') =>
        store.ingest(
          sampleBatch([sampleObservation({ closes: [samplePrices()], closeStatus: status })]),
        )
      await ingest('provisional')
      await ingest('final')
      expect(await ingest('provisional')).toMatchObject({ closes: 0, unchanged: 1 })
      await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(1, 1) })]))
      await store.ingest(
        sampleBatch([sampleObservation({ outcomes: [{ period: 'ft', status: 'withdrawn' }] })]),
      )
      const [state] = await store.events([sampleEvent().path])
      expect(state?.closes.map(({ status }) => status)).toEqual(['final'])
      expect(state?.outcomes).toEqual([])
    })

    test('G11: events are found by keys of their teams, in the recorded order and between two times', async () => {
      const store = await create()
      const day = 86_400
      await store.ingest(
        sampleBatch([
          sampleMatch('one', ['1. FC Köln', "Nott'm Forest"], START_SECONDS),
          sampleMatch('two', ["Nott'm Forest", '1. FC Köln'], START_SECONDS),
          sampleMatch('later', ['1. FC Köln', "Nott'm Forest"], START_SECONDS + 200 * day),
          sampleMatch('other', ['Ajax', "Nott'm Forest"], START_SECONDS),
        ]),
      )
      const listPaths = async (search: Partial<EventSearch>) =>
        (await store.searchEvents({ sport: 'soccer', words: [], limit: 10, ...search })).map(
          ({ info }) => info.path.slice('soccer/'.length),
        )
      const teams = { home: ['cologne', 'koln'], away: ['nottm forest'] }
      expect(await listPaths({ teams })).toEqual(['later', 'one'])
      const window = { from: START_SECONDS - day, to: START_SECONDS + day }
      expect(await listPaths({ teams, ...window })).toEqual(['one'])
      expect(await listPaths({ teams, limit: 1 })).toEqual(['later'])
      expect(await listPaths({ teams, sport: 'rugby' })).toEqual([])
      expect(
        (await listPaths({ teams: { away: ['nottm forest'] }, ...window })).toSorted(),
      ).toEqual(['one', 'other'])
      expect(await listPaths({ teams: { home: ['ajax'] } })).toEqual(['other'])
      expect(await listPaths({ teams: {} })).toEqual([])
      // A later name or start is found, the earlier is not.
      await store.ingest(
        sampleBatch([
          sampleMatch('other', ['Jong Ajax', "Nott'm Forest"], START_SECONDS + 2 * day),
        ]),
      )
      expect(await listPaths({ teams: { home: ['ajax'] } })).toEqual([])
      expect(await listPaths({ teams: { home: ['jong ajax'] }, ...window })).toEqual([])
      expect(await listPaths({ teams: { home: ['jong ajax'] } })).toEqual(['other'])
    })

    test('alternative lines are kept side by side, and replaced together', async () => {
      const store = await create()
      await store.ingest(
        sampleBatch([sampleObservation({ closes: [line('-0.5'), line('-0.75')] })]),
      )
      await store.ingest(sampleBatch([sampleObservation({ closes: [line('-1')] })]))
      const [state] = await store.events([sampleEvent().path])
      expect(state?.closes.map(({ market }) => market)).toEqual(['ah/ft/-1'])
    })

    test('G7: every entry is provably in the signed tree', async () => {
      const store = await create()
      for (let goals = 0; goals < 20; goals += 1)
        await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(goals, 0) })]))
      const { note, verifierKey } = await store.checkpoint()
      const parsed = openCheckpoint({ note, verifierKey })
      if (parsed.kind !== 'checkpoint') throw new Error('no checkpoint')
      const { size, rootHash } = parsed.checkpoint
      expect(size).toBe(20)
      for (let index = 0; index < size; index += 1) {
        const entry = await store.entry(index)
        const proof = (await store.inclusionProof(index, size)).map((hash) =>
          Buffer.from(hash, 'hex'),
        )
        const leaf = leafHash(Buffer.from(entry?.text ?? ''))
        expect(verifyInclusion({ index, size, leafHash: leaf, proof, rootHash })).toBe(true)
      }
    })

    test('G6, G7: a committed pick’s entry is its commitment and nothing else; one payment makes one pick', async () => {
      const store = await create()
      const stored = await store.keepPick(makePick('a'), true)
      expect(stored.seq).toBe(0)
      expect((await store.entry(0))?.entry).toEqual({
        type: 'pick',
        commitment: commitmentHash(opening),
        receivedAtSeconds: opening.receivedAtSeconds,
      })
      const again = await store.keepPick({ ...makePick('b'), paymentId: 'payment a' }, true)
      expect(again).toEqual(stored)
      expect(await store.pickByReceipt('receipt a')).toEqual(stored)
      expect(await store.pickBySeq(0)).toEqual(stored)
      expect(await store.readEventPicks(sampleEvent().path)).toEqual([stored])
      const { seq = 0 } = stored
      expect(await store.readEventPicks(sampleEvent().path, seq - 1)).toEqual([stored])
      expect(await store.readEventPicks(sampleEvent().path, seq)).toEqual([])
      expect(await store.counts()).toMatchObject({ entries: 1, picks: 1 })
    })

    test('a pick that is not committed makes no entry', async () => {
      const store = await create()
      expect((await store.keepPick(makePick('a'), false)).seq).toBeUndefined()
      expect((await store.head()).size).toBe(0)
      expect(await store.readEventPicks(sampleEvent().path)).toEqual([])
    })

    test('events are found by sport, day and the beginnings of words, newest first', async () => {
      const store = await create()
      const later = sampleEvent({
        path: 'soccer/later',
        home: 'São Paulo',
        startAtSeconds: START_SECONDS + 86_400,
      })
      await store.ingest(
        sampleBatch([
          sampleObservation({ outcomes: scored(1, 0) }),
          sampleObservation({ event: later, closes: [samplePrices()] }),
        ]),
      )
      const find = async (words: readonly string[], over = {}) =>
        (await store.searchEvents({ words, limit: 10, ...over })).map(({ info }) => info.path)
      expect(await find(['chel'])).toEqual([later.path, sampleEvent().path])
      expect(await find(['sao', 'chelsea'])).toEqual([later.path])
      expect(await find(['elsea'])).toEqual([])
      expect(await find(['ch'])).toEqual([])
      expect(await find(['chelsea'], { sport: 'soccer' })).toHaveLength(2)
      expect(await find(['chelsea'], { sport: 'tennis' })).toEqual([])
      expect(await find([], { from: START_SECONDS, to: START_SECONDS + 1 })).toEqual([
        sampleEvent().path,
      ])
      expect(await find([], { sport: 'tennis' })).toEqual([])
      expect(await find(['chel'], { limit: 1 })).toEqual([later.path])
      // A whole word that fills the answer comes before the beginnings of later matches.
      const chel = sampleEvent({ path: 'soccer/chel', away: 'Chel', startAtSeconds: 86_400 })
      await store.ingest(
        sampleBatch([sampleObservation({ event: chel, closes: [samplePrices()] })]),
      )
      expect(await find(['chel'], { limit: 1 })).toEqual([chel.path])
      expect(await find(['chel'])).toEqual([later.path, sampleEvent().path, chel.path])
    })

    test('a sport is found by its whole name: a name that differs by a dash is another sport', async () => {
      const store = await create()
      const events = ['ice_hockey', 'icehockey'].map((sport) =>
        sampleEvent({ path: `${sport}/match`, sport }),
      )
      await store.ingest(
        sampleBatch(events.map((event) => sampleObservation({ event, outcomes: scored(1, 0) }))),
      )
      for (const { path, sport } of events) {
        const found = await store.searchEvents({ sport, words: ['chelsea'], limit: 10 })
        expect(found.map(({ info }) => info.path)).toEqual([path])
      }
    })

    test('a renamed event is found under its new name only', async () => {
      const store = await create()
      await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(1, 0) })]))
      const renamed = sampleEvent({ home: 'Woolwich', startAtSeconds: START_SECONDS + 60 })
      await store.ingest(sampleBatch([sampleObservation({ event: renamed })]))
      const find = async (word: string) =>
        (await store.searchEvents({ words: [word], limit: 10 })).length
      expect([await find('woolwich'), await find('arsenal')]).toEqual([1, 0])
    })

    test('payloads are remembered; payer tags are stable and name nobody', async () => {
      const store = await create()
      expect(await store.hasPayload('aa')).toBe(false)
      await store.markPayload({ rawSha256: 'aa', feed: 'manual', receivedAtSeconds: 1 })
      expect(await store.hasPayload('aa')).toBe(true)
      await store.beginImport('bb', 'E0.csv')
      await store.beginImport('bb', 'E0.csv')
      await store.beginImport('cc', 'E1.csv')
      expect(await store.unfinishedImports()).toEqual(['E0.csv', 'E1.csv'])
      await store.endImport('bb')
      expect(await store.unfinishedImports()).toEqual(['E1.csv'])
      await store.endImport('%')
      expect(await store.unfinishedImports()).toEqual([])
      expect(await store.payerTag('0xa')).toBe(await store.payerTag('0xa'))
      expect(await store.payerTag('0xa')).not.toBe(await store.payerTag('0xb'))
      expect(await store.payerTag('0xa')).toMatch(/^[0-9a-f]{32}$/)
    })

    test('an untouched ledger is intact', async () => {
      const store = await create()
      expect(await store.verify()).toMatchObject({ kind: 'intact', entries: 0 })
      await store.ingest(
        sampleBatch([
          sampleObservation({
            snapshots: [samplePrices()],
            closes: [samplePrices()],
            outcomes: scored(2, 1),
          }),
        ]),
      )
      await store.keepPick(makePick('a'), true)
      expect(await store.verify()).toMatchObject({ kind: 'intact', entries: 4 })
    })
  })
}
