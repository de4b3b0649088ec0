// The rules that every record store keeps, whatever it is built on. A suite is handed a fresh store and a way to change
// what it has stored behind its back.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ChainSlot, NewRecord } from './care-record.ts'
import type { AppendOutcome, ChainVerification, RecordStore } from './record-store.ts'
import { REPEAT_WAIT_MS } from './record-store-requests.ts'
import { chainUri } from './record-uri.ts'
import { verifyExport } from './verify-export.ts'

export type StoreUnderTest = {
  readonly store: RecordStore
  /** Changes the stored entry of a version as someone with the disk in hand would, leaving everything else. */
  tamper(slot: ChainSlot, version: number, change: (entry: string) => string): void | Promise<void>
  end(): Promise<void>
}

/** 2026-06-01T08:00:00.000Z. */
const START_MS = 1_780_300_800_000
const TEA = { patient: 'ann', domain: 'tea', audience: 'user' } as const
const PLAN = { patient: 'ann', domain: 'plan', audience: 'assistant' } as const

export const sampleRecord = (over: Partial<NewRecord> = {}): NewRecord => ({
  ...TEA,
  value: 'Ann takes her tea without sugar.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
  ...over,
})

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const appended = (outcome: AppendOutcome) => {
  if (outcome.kind !== 'appended') throw new Error(`the write was ${outcome.kind}`)
  return outcome.record
}

const verdictOf = (verdicts: readonly ChainVerification[], slot: ChainSlot) =>
  verdicts.find((verdict) => chainUri(verdict.slot) === chainUri(slot))

export function describeRecordStore(
  name: string,
  start: (clock: ManualClock) => Promise<StoreUnderTest>,
): void {
  describe(`record store: ${name}`, () => {
    let clock: ManualClock
    let under: StoreUnderTest
    let store: RecordStore
    beforeEach(async () => {
      clock = manualClock(START_MS)
      under = await start(clock)
      store = under.store
    })
    afterEach(async () => under.end())

    const write = async (over: Partial<NewRecord> = {}) =>
      appended(await store.append(sampleRecord(over)))
    const verify = (audiences: readonly ('user' | 'assistant')[] = ['user', 'assistant']) =>
      collect(store.verify({ audiences }))
    const checkExport = async (slot?: ChainSlot) =>
      verifyExport(
        store.exportLines({
          audiences: slot === undefined ? ['user', 'assistant'] : [slot.audience],
          ...(slot === undefined ? {} : { slot }),
        }),
      )

    describe('chains', () => {
      it('an accepted write makes version 1, the next one version 2 with prevHash set to the hash of version 1', async () => {
        const first = await write()
        clock.advanceMs(60_000)
        const second = await write({ value: 'Ann takes her tea with honey.', priority: 0.5 })
        expect(first).toMatchObject({ version: 1, prevHash: '0'.repeat(64) })
        expect(first.writtenAt).toBe('2026-06-01T08:00:00.000Z')
        expect(second).toMatchObject({ version: 2, prevHash: first.versionHash, priority: 0.5 })
        expect(await store.latest(TEA)).toEqual({
          kind: 'found',
          record: second,
          latestVersion: 2,
        })
        expect(await store.version(TEA, 1)).toEqual({
          kind: 'found',
          record: first,
          latestVersion: 2,
        })
      })

      it('a write with a different audience is refused and leaves the chain as it is', async () => {
        const first = await write()
        expect(await store.append(sampleRecord({ audience: 'assistant' }))).toEqual({
          kind: 'audience-conflict',
        })
        expect(await store.latest(TEA)).toMatchObject({ record: first, latestVersion: 1 })
        expect(await store.latest({ ...TEA, audience: 'assistant' })).toEqual({ kind: 'absent' })
      })

      it('what is not there is absent', async () => {
        await write()
        expect(await store.latest(PLAN)).toEqual({ kind: 'absent' })
        expect(await store.version(TEA, 2)).toEqual({ kind: 'absent' })
        expect(await store.version(TEA, 0)).toEqual({ kind: 'absent' })
        expect(await store.head(PLAN)).toBeUndefined()
      })

      it('fields come back as they were written, in every script', async () => {
        const odd = {
          patient: 'Ann Ö.',
          domain: '50% "dose" \\ ?',
          value: 'line\nbreak \u2028 🫖 \u0000 \u007f ,"value":"x"',
          authorId: 'o"brien\\,',
          authorLabel: '","domain":"x',
          staleAfter: '2026-07-01T00:00:00+02:00',
          priority: -1.5e-7,
        }
        const written = await write(odd)
        expect(written).toMatchObject(odd)
        const slot = { patient: odd.patient, domain: odd.domain, audience: 'user' } as const
        expect(await store.latest(slot)).toMatchObject({ kind: 'found', record: written })
        expect((await verify()).every(({ intact }) => intact)).toBe(true)
      })

      it('a lone surrogate, and a name that no URI can hold, are a caller’s mistake', async () => {
        await expect(store.append(sampleRecord({ value: 'half \ud800' }))).rejects.toThrow(
          TypeError,
        )
        await expect(store.append(sampleRecord({ domain: 'a/b' }))).rejects.toThrow(TypeError)
        await expect(store.append(sampleRecord({ patient: '' }))).rejects.toThrow(TypeError)
        expect(await verify()).toEqual([])
      })

      it('a clock that jumps back leaves versions in order and the chain intact', async () => {
        await write()
        const back = manualClock(START_MS - 3_600_000)
        clock.unixMs = () => back.unixMs()
        const second = await write({ value: 'earlier by the clock' })
        expect(second).toMatchObject({ version: 2, writtenAt: '2026-06-01T07:00:00.000Z' })
        expect(await store.latest(TEA)).toMatchObject({ record: second })
        expect(await verify()).toMatchObject([{ versions: 2, intact: true }])
      })

      it('writes at the same time each get a version of their own, without gaps', async () => {
        const writes = Array.from({ length: 40 }, (_, index) =>
          store.append(sampleRecord({ value: `value ${index}`, domain: `topic-${index % 3}` })),
        )
        const records = (await Promise.all(writes)).map(appended)
        for (const topic of ['topic-0', 'topic-1', 'topic-2']) {
          const versions = records.filter(({ domain }) => domain === topic)
          expect(versions.map(({ version }) => version)).toEqual(versions.map((_, at) => at + 1))
        }
        expect((await verify()).map(({ versions }) => versions)).toEqual([14, 13, 13])
        expect((await checkExport()).isIntact).toBe(true)
      })
    })

    describe('lists', () => {
      it('heads are in order of creation, after a sequence, of the audiences asked for', async () => {
        await write({ domain: 'a' })
        await write({ domain: 'b', audience: 'assistant' })
        await write({ domain: 'c', patient: 'bob', priority: 1 })
        await write({ domain: 'a', value: 'again' })
        const all = await store.heads({ audiences: ['user', 'assistant'], limit: 10 })
        expect(all.map(({ domain, latestVersion }) => [domain, latestVersion])).toEqual([
          ['a', 2],
          ['b', 1],
          ['c', 1],
        ])
        const after = all[0]?.sequence ?? 0
        const rest = await store.heads({ audiences: ['user'], after, limit: 10 })
        expect(rest.map(({ domain, priority }) => [domain, priority])).toEqual([['c', 1]])
        expect(await store.heads({ audiences: ['user'], limit: 1 })).toHaveLength(1)
        const bobs = await store.heads({
          audiences: ['user', 'assistant'],
          limit: 9,
          patient: 'bob',
        })
        expect(bobs.map(({ domain }) => domain)).toEqual(['c'])
        expect(await store.head({ ...TEA, domain: 'a' })).toEqual(all[0])
      })

      it('changes since a time are oldest first, of one patient and the audiences asked for', async () => {
        await write({ value: 'old' })
        clock.advanceMs(1_000)
        const sinceIso = '2026-06-01T08:00:01.000Z'
        await write({ value: 'at the time' })
        clock.advanceMs(1_000)
        await write({ ...PLAN, value: 'internal' })
        await write({ patient: 'bob', value: 'another patient' })
        clock.advanceMs(1_000)
        await write({ domain: 'sleep', value: 'new' })
        const query = { patient: 'ann', sinceIso, limit: 10 }
        const user = await store.changesSince({ ...query, audiences: ['user'] })
        expect(user.map(({ value }) => value)).toEqual(['at the time', 'new'])
        const both = await store.changesSince({ ...query, audiences: ['user', 'assistant'] })
        expect(both.map(({ value }) => value)).toEqual(['at the time', 'internal', 'new'])
        const one = await store.changesSince({ ...query, audiences: ['user'], limit: 1 })
        expect(one.map(({ value }) => value)).toEqual(['at the time'])
      })
    })

    it('changes that do not hold take no place: a list shorter than its limit is all there is', async () => {
      for (const value of ['one', 'two', 'three', 'four']) await write({ value })
      for (const [version, value] of [
        [1, 'one'],
        [3, 'three'],
      ] as const)
        await under.tamper(TEA, version, (entry) => entry.replace(value, 'x'))
      const query = {
        patient: 'ann',
        audiences: ['user'],
        sinceIso: '2026-01-01T00:00:00.000Z',
      } as const
      const two = await store.changesSince({ ...query, limit: 2 })
      expect(two.map(({ value }) => value)).toEqual(['two', 'four'])
      const one = await store.changesSince({ ...query, limit: 1 })
      expect(one.map(({ value }) => value)).toEqual(['two'])
    })

    describe('C14: a signed write that is re-sent inside its window', () => {
      const request = { mac: 'ab'.repeat(32), expiresAtMs: START_MS + 300_000 }

      it('returns the first answer and adds no version', async () => {
        const record = appended(await store.append(sampleRecord(), request))
        await store.noteSubscribers(request, 3)
        clock.advanceMs(299_000)
        expect(await store.append(sampleRecord({ value: 'other' }), request)).toEqual({
          kind: 'repeated',
          record,
          subscribers: 3,
        })
        expect(await store.latest(TEA)).toMatchObject({ latestVersion: 1 })
      })

      it('waits for the subscribers of the first one, so that both answers are the same', async () => {
        const [first, again] = [1, 2].map(() => store.append(sampleRecord(), request))
        const record = appended((await first) ?? { kind: 'audience-conflict' })
        await store.noteSubscribers(request, 2)
        expect(await again).toEqual({ kind: 'repeated', record, subscribers: 2 })
      })

      it('does not wait for ever', async () => {
        const record = appended(await store.append(sampleRecord(), request))
        const again = store.append(sampleRecord(), request)
        await clock.advanceMsSettled(REPEAT_WAIT_MS)
        expect(await again).toEqual({ kind: 'repeated', record, subscribers: 0 })
      })
    })

    describe('verification', () => {
      it('replays every chain of the audiences asked for, and no other', async () => {
        await write()
        await write()
        await write({ ...PLAN })
        expect(await verify(['user'])).toMatchObject([{ slot: TEA, versions: 2, intact: true }])
        expect(await verify()).toHaveLength(2)
        const one = await collect(store.verify({ audiences: ['assistant'], slot: PLAN }))
        expect(one).toMatchObject([{ slot: PLAN, versions: 1, intact: true }])
        expect(await collect(store.verify({ audiences: ['user'], slot: PLAN }))).toEqual([])
        expect(
          await collect(store.verify({ audiences: ['user'], slot: { ...TEA, domain: 'x' } })),
        ).toEqual([])
      })

      it('a receipt is read from the stored bytes of the newest version', async () => {
        await write()
        const [{ receipt } = { receipt: undefined }] = await verify()
        const isSealed = store.sealing().isSealed
        expect(receipt).toMatchObject({
          uri: 'care://ann/tea',
          encrypted: isSealed,
          algorithm: isSealed ? 'AES-256-GCM' : 'none',
        })
        expect(receipt?.storedBytes).toBeGreaterThan(300)
      })

      it('a stored value altered is BROKEN at its version and never served; a new write is accepted', async () => {
        for (const value of ['one', 'two', 'three']) await write({ value })
        await under.tamper(TEA, 2, (entry) => entry.replace('two', 'owt'))
        expect(verdictOf(await verify(), TEA)).toMatchObject({
          versions: 3,
          intact: false,
          brokenAt: 2,
        })
        expect(await store.version(TEA, 2)).toEqual({ kind: 'broken', version: 2 })
        expect(await store.version(TEA, 1)).toMatchObject({ kind: 'found' })
        expect(await store.latest(TEA)).toMatchObject({ record: { value: 'three' } })
        const changed = await store.changesSince({
          patient: 'ann',
          audiences: ['user'],
          sinceIso: '2026-01-01T00:00:00.000Z',
          limit: 10,
        })
        expect(changed.map(({ value }) => value)).toEqual(['one', 'three'])
        expect(await write({ value: 'four' })).toMatchObject({ version: 4 })
        expect(verdictOf(await verify(), TEA)).toMatchObject({ versions: 4, brokenAt: 2 })
      })

      it.each([
        ['authorLabel', 'Dr Osei', 'Dr Evil'],
        ['staleAfter', '2027', '2037'],
        ['priority', '"priority":1', '"priority":2'],
        ['audience', '"audience":"user"', '"audience":"assistant"'],
        ['patient', '"patient":"ann"', '"patient":"bob"'],
        ['random', '"random":"', '"random":"0'],
        ['writtenAt', '2026-06-01', '2026-06-02'],
      ])('an edit of %s alone is found at its version', async (_field, was, is) => {
        await write()
        await write({ staleAfter: '2027-01-01T00:00:00Z', priority: 1 })
        await under.tamper(TEA, 2, (entry) => entry.replace(was, is))
        expect(verdictOf(await verify(), TEA)).toMatchObject({ intact: false, brokenAt: 2 })
        expect(await store.latest(TEA)).toEqual({ kind: 'broken', version: 2 })
      })
    })

    describe('C9: journals and export', () => {
      it('an export replays without the store and without a key', async () => {
        await write()
        await write({ value: 'second' })
        await write({ ...PLAN, value: 'internal' })
        const report = await checkExport()
        expect(report).toMatchObject({ isIntact: true, versions: 3, problems: [] })
        expect(report.journals.map(({ journal, size }) => [journal, size])).toEqual([
          ['user', 2],
          ['assistant', 1],
        ])
      })

      it('an export of one chain proves it against the checkpoint of the whole journal', async () => {
        await write()
        await write({ domain: 'other' })
        await write({ value: 'second' })
        const report = await checkExport(TEA)
        expect(report).toMatchObject({ isIntact: true, versions: 2 })
        expect(report.chains).toMatchObject([{ uri: 'care://ann/tea', versions: 2 }])
        expect(report.journals).toMatchObject([{ journal: 'user', size: 3 }])
      })

      it('an export of one chain holds nothing of the other journal, whatever audiences are asked for', async () => {
        await write()
        await write({ ...PLAN, value: 'internal' })
        const query = { audiences: ['user', 'assistant'] as const, slot: TEA }
        const lines = await collect(store.exportLines(query))
        expect(lines.join('\n')).not.toMatch(/assistant|internal/)
        expect(await verifyExport(lines)).toMatchObject({ isIntact: true, versions: 1 })
      })

      it('an export of an empty store holds', async () => {
        expect(await checkExport()).toMatchObject({ isIntact: true, versions: 0 })
      })

      it('an export of a broken chain says where, without the text', async () => {
        await write()
        await write({ value: 'secret two' })
        await under.tamper(TEA, 2, (entry) => entry.replace('two', 'owt'))
        const lines = await collect(store.exportLines({ audiences: ['user'] }))
        expect(lines.join('\n')).not.toContain('secret')
        const report = await checkExport()
        expect(report).toMatchObject({ isIntact: false, chains: [{ brokenAt: 2 }] })
      })

      it('a checkpoint is a signed note over the size of its journal', async () => {
        expect((await store.checkpoint('user')).split('\n')[1]).toBe('0')
        await write()
        const note = await store.checkpoint('user')
        expect(note.split('\n')[1]).toBe('1')
        expect((await store.checkpoint('assistant')).split('\n')[1]).toBe('0')
        expect(store.verifierKey('user').split('+')[0]).toBe(note.split('\n')[0])
      })
    })
  })
}
