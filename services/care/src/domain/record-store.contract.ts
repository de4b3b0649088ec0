// The rules that every record store keeps, whatever it is built on. The suite gets a fresh store, and a way to change
// stored data behind the store's back.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { describe, expect, it } from 'vitest'
import {
  appended,
  PLAN,
  START_MS,
  type StoreUnderTest,
  sampleRecord,
  TEA,
  useRecordStore,
} from './record-store.fixture.ts'
import { describeLists } from './record-store-lists.contract.ts'
import { describeProofs } from './record-store-proofs.contract.ts'
import { describeWritten } from './record-store-written.contract.ts'
import { describeWithdrawing } from './withdrawing.contract.ts'

export function describeRecordStore(
  name: string,
  start: (clock: ManualClock) => Promise<StoreUnderTest>,
): void {
  describe(`C17: record store: ${name}`, () => {
    const suite = useRecordStore(start)
    const { write, verify, checkExport } = suite

    describe('chains', () => {
      it('an accepted write makes version 1, the next one version 2 with prevHash set to the hash of version 1', async () => {
        const first = await write()
        suite.clock.advanceMs(60_000)
        const second = await write({ value: 'Ann takes her tea with honey.', priority: 0.5 })
        expect(first).toMatchObject({ version: 1, prevHash: '0'.repeat(64) })
        expect(first.writtenAt).toBe('2026-06-01T08:00:00.000Z')
        expect(second).toMatchObject({ version: 2, prevHash: first.versionHash, priority: 0.5 })
        expect(await suite.store.latest(TEA)).toEqual({
          kind: 'found',
          record: second,
          latestVersion: 2,
          previous: first,
        })
        expect(await suite.store.version(TEA, 1)).toEqual({
          kind: 'found',
          record: first,
          latestVersion: 2,
          previous: undefined,
        })
      })

      it('a write with a different audience is refused and leaves the chain unchanged', async () => {
        const first = await write()
        expect(await suite.store.append(sampleRecord({ audience: 'assistant' }))).toEqual({
          kind: 'audience-conflict',
        })
        expect(await suite.store.latest(TEA)).toMatchObject({ record: first, latestVersion: 1 })
        expect(await suite.store.latest({ ...TEA, audience: 'assistant' })).toEqual({
          kind: 'absent',
        })
      })

      it('an unknown chain or version is absent', async () => {
        await write()
        expect(await suite.store.latest(PLAN)).toEqual({ kind: 'absent' })
        expect(await suite.store.version(TEA, 2)).toEqual({ kind: 'absent' })
        expect(await suite.store.version(TEA, 0)).toEqual({ kind: 'absent' })
        expect(await suite.store.head(PLAN)).toBeUndefined()
      })

      it('fields round-trip in every script', async () => {
        const odd = {
          patient: 'Ann Ö.',
          domain: '50% "dose" \\ ?',
          value: 'line\nbreak \u2028 🫖 \u0000 \u007f ,"value":"x"',
          authorId: 'o"brien\\,',
          authorLabel: '","domain":"x',
          staleAfter: '2026-07-01T00:00:00+02:00',
          language: 'pt-BR',
          priority: -1.5e-7,
        }
        const written = await write(odd)
        expect(written).toMatchObject(odd)
        const slot = { patient: odd.patient, domain: odd.domain, audience: 'user' } as const
        expect(await suite.store.latest(slot)).toMatchObject({ kind: 'found', record: written })
        expect((await verify()).every(({ intact }) => intact)).toBe(true)
      })

      it('a lone surrogate, or a name that no URI can hold, is the caller’s mistake', async () => {
        await expect(suite.store.append(sampleRecord({ value: 'half \ud800' }))).rejects.toThrow(
          TypeError,
        )
        await expect(suite.store.append(sampleRecord({ domain: 'a/b' }))).rejects.toThrow(TypeError)
        await expect(suite.store.append(sampleRecord({ patient: '' }))).rejects.toThrow(TypeError)
        expect(await verify()).toEqual([])
      })

      it('a clock that jumps back leaves versions in order and the chain intact, and no time before that of what it follows', async () => {
        const first = await write()
        const back = manualClock(START_MS - 3_600_000)
        suite.clock.unixMs = () => back.unixMs()
        const second = await write({ value: 'earlier by the clock' })
        expect(second).toMatchObject({ version: 2, writtenAt: first.writtenAt })
        expect(await suite.store.latest(TEA)).toMatchObject({ record: second })
        expect(await verify()).toMatchObject([{ versions: 2, intact: true }])
      })

      it('concurrent writes each get their own version, without gaps', async () => {
        const writes = Array.from({ length: 40 }, (_, index) =>
          suite.store.append(
            sampleRecord({ value: `value ${index}`, domain: `topic-${index % 3}` }),
          ),
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

    describeLists(suite)
    describeWritten(suite)
    describeWithdrawing(suite)

    describe('C14: a signed write that is re-sent inside its window', () => {
      const request = { mac: 'ab'.repeat(32), expiresAtMs: START_MS + 300_000 }

      it('returns the first answer and adds no version', async () => {
        const record = appended(await suite.store.append(sampleRecord(), request))
        await suite.store.noteSubscribers(request, 3)
        suite.clock.advanceMs(299_000)
        expect(await suite.store.append(sampleRecord({ value: 'other' }), request)).toEqual({
          kind: 'repeated',
          record,
          subscribers: 3,
        })
        expect(await suite.store.latest(TEA)).toMatchObject({ latestVersion: 1 })
      })

      it('twice at once is one version', async () => {
        const both = [1, 2].map(() => suite.store.append(sampleRecord(), request))
        const [first, again] = await Promise.all(both)
        const record = appended(first ?? { kind: 'audience-conflict' })
        expect(again).toEqual({ kind: 'repeated', record, subscribers: 0 })
      })
    })

    describeProofs(suite)
  })
}
