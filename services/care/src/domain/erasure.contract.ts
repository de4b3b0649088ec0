// What erasing a chain leaves and takes (C31), on whatever engine keeps the records.
import type { ManualClock } from '@tallystick/service-kit'
import { describe, expect, it } from 'vitest'
import { AUDIENCES } from '../wire/audience.ts'
import {
  collect,
  PLAN,
  type StoreUnderTest,
  sampleRecord,
  TEA,
  useRecordStore,
} from './record-store.fixture.ts'
import { verifyExport } from './verify-export.ts'

type ErasableStore = StoreUnderTest & {
  /** Erases a chain as the operator's command does, beside the open store. */
  erase(slot: typeof TEA | typeof PLAN): Promise<unknown>
}

export function describeErasure(
  name: string,
  start: (clock: ManualClock) => Promise<ErasableStore>,
): void {
  describe(`C31: erasure: ${name}`, () => {
    let under: ErasableStore
    const suite = useRecordStore(async (clock) => {
      under = await start(clock)
      return under
    })
    const listLines = async (): Promise<string[]> =>
      collect(suite.store.exportLines({ audiences: AUDIENCES }))

    it('an erased chain leaves reads, lists and changes, and no other chain does', async () => {
      await suite.write()
      await suite.write({ value: 'with honey' })
      await suite.write({ domain: 'walks', value: 'Twice around the pond.' })
      await under.erase(TEA)
      expect(await suite.store.latest(TEA)).toEqual({ kind: 'absent' })
      expect(await suite.store.version(TEA, 1)).toEqual({ kind: 'absent' })
      expect(await suite.store.head(TEA)).toBe(undefined)
      expect(await suite.store.leaf(TEA, 1)).toBe(undefined)
      expect(await suite.store.erased()).toEqual([{ patient: 'ann', domain: 'tea', turn: 0 }])
      for (const narrowed of [{}, { patient: 'ann' }]) {
        const reach = [{ audience: 'user' as const, ...narrowed }]
        const heads = await suite.store.heads({ reach, limit: 9 })
        expect(heads.map(({ domain }) => domain)).toEqual(['walks'])
        const names = { reach, prefix: '', limit: 9 }
        expect(await suite.store.names({ ...names, nameKind: 'domain' })).toEqual(['walks'])
        const changed = { reach, sinceIso: '0000-01-01T00:00:00.000Z', limit: 9 }
        expect(await suite.store.changedChains(changed)).toMatchObject([{ domain: 'walks' }])
      }
      expect(await suite.store.versions({ slot: TEA, after: 0, limit: 9 })).toEqual([])
      await under.erase({ ...TEA, domain: 'walks' } as unknown as typeof TEA)
      for (const narrowed of [{}, { patient: 'ann' }]) {
        const reach = [{ audience: 'user' as const, ...narrowed }]
        const names = { reach, prefix: '', limit: 9, nameKind: 'patient' as const }
        expect(await suite.store.names(names)).toEqual([])
      }
    })

    it('leaves of an erased chain stay and hold; its values are counted as gone, never as replayed', async () => {
      await suite.write()
      await suite.write({ value: 'with honey' })
      const note = suite.store.journals.user.checkpoint()
      await under.erase(TEA)
      expect(await suite.verify()).toMatchObject([
        { slot: TEA, versions: 2, erased: 2, intact: true, receipt: { encrypted: true } },
      ])
      expect(suite.store.journals.user.checkpoint()).toBe(note)
    })

    it('an erased chain takes no further version, in either audience, nor a write that is sent again', async () => {
      const request = { mac: 'ab'.repeat(32), expiresAtMs: 9e15 }
      await suite.store.append(sampleRecord(), request)
      await suite.store.noteSubscribers(request, 0)
      await under.erase(TEA)
      expect(await suite.store.append(sampleRecord(), request)).toEqual({ kind: 'erased' })
      for (const over of [{ value: 'anew' }, { value: '', status: 'wrong-person' as const }])
        expect(await suite.store.append(sampleRecord(over))).toEqual({ kind: 'erased' })
      expect(await suite.store.append(sampleRecord({ audience: 'assistant' }))).toEqual({
        kind: 'audience-conflict',
      })
    })

    it('an export from before proves what it proved, and one from after tells what is gone', async () => {
      await suite.write()
      await suite.write({ domain: 'walks', value: 'Twice around the pond.' })
      const before = await listLines()
      await under.erase(TEA)
      const after = await listLines()
      expect(await verifyExport(before)).toMatchObject({ isIntact: true, versions: 2 })
      expect(await verifyExport(after)).toMatchObject({
        isIntact: true,
        versions: 1,
        chains: [
          { uri: 'care://ann/walks', versions: 1 },
          { uri: 'care://ann/tea', versions: 1, erased: 1 },
        ],
      })
      // The leaves and their signed root are the same ones.
      for (const kind of ['leaves', 'checkpoint']) {
        const linesOfKind = (lines: readonly string[]) =>
          lines.filter((line) => line.startsWith(`{"kind":"${kind}"`))
        expect(linesOfKind(after)).toEqual(linesOfKind(before))
      }
      expect(after.join()).not.toContain('without sugar')
    })

    it('attack: an export that says erased of a version without its leaf, or out of its place, does not hold', async () => {
      await suite.write()
      await suite.write({ value: 'with honey' })
      await under.erase(TEA)
      const lines = await listLines()
      const second = lines.findIndex((line) => line.includes('ann/tea/2'))
      expect(second).toBeGreaterThan(0)
      expect(await verifyExport(lines.toSpliced(second, 1))).toMatchObject({ isIntact: false })
      const moved = lines.with(
        second,
        (lines[second] ?? '').replaceAll('/2"', '/7"').replace('"version":2', '"version":7'),
      )
      expect(await verifyExport(moved)).toMatchObject({ isIntact: false })
    })

    it('an internal chain is erased alike, and a name in the wrong audience is not found', async () => {
      await suite.write({ ...PLAN, value: 'internal' })
      expect(await under.erase({ ...TEA, domain: 'plan' } as unknown as typeof TEA)).toEqual({
        kind: 'absent',
      })
      expect(await suite.store.latest(PLAN)).toMatchObject({ kind: 'found' })
      expect(await under.erase(PLAN)).toMatchObject({ kind: 'erased', versions: 1 })
      expect(await suite.store.latest(PLAN)).toEqual({ kind: 'absent' })
      // Again: nothing more to do, and no error.
      expect(await under.erase(PLAN)).toMatchObject({ kind: 'erased', versions: 1 })
    })

    it('expectedVersion: only behind that version, 0 for a chain that is not there', async () => {
      const expecting = (expectedVersion: number, value: string) =>
        suite.store.append(sampleRecord({ value }), undefined, expectedVersion)
      expect(await expecting(1, 'x')).toEqual({ kind: 'version-conflict', latestVersion: 0 })
      expect(await expecting(0, 'one')).toMatchObject({ kind: 'appended' })
      expect(await expecting(0, 'two')).toEqual({ kind: 'version-conflict', latestVersion: 1 })
      const [left, right] = await Promise.all([expecting(1, 'mine'), expecting(1, 'theirs')])
      expect([left?.kind, right?.kind]).toEqual(['appended', 'version-conflict'])
      expect(await suite.store.latest(TEA)).toMatchObject({ record: { value: 'mine', version: 2 } })
    })
  })
}
