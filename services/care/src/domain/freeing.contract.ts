// What freeing a topic leaves and takes (C47), on whatever engine keeps the records.
import type { ManualClock } from '@tallystick/service-kit'
import { describe, expect, it } from 'vitest'
import { AUDIENCES } from '../wire/audience.ts'
import type { NamedChain } from '../wire/record-uri.ts'
import { fhirBundle } from './fhir-bundle.ts'
import {
  appended,
  collect,
  type StoreUnderTest,
  sampleRecord,
  TEA,
  useRecordStore,
} from './record-store.fixture.ts'
import { verifyExport } from './verify-export.ts'

type FreeableStore = StoreUnderTest & {
  /** Frees a topic, and erases a chain, as the operator's commands do, beside the open store. */
  free(chain: NamedChain): Promise<unknown>
  erase(chain: NamedChain): Promise<unknown>
}

/** The assistant's chain that closes the topic. */
const PLANTED = { ...TEA, audience: 'assistant' } as const
const FREED = { ...PLANTED, freed: 1 } as const

export function describeFreeing(
  name: string,
  start: (clock: ManualClock) => Promise<FreeableStore>,
): void {
  describe(`C47: a freed topic: ${name}`, () => {
    let under: FreeableStore
    const suite = useRecordStore(async (clock) => {
      under = await start(clock)
      return under
    })
    const exportLines = async (): Promise<string[]> =>
      collect(suite.store.exportLines({ audiences: AUDIENCES }))
    const plant = async (): Promise<void> => {
      await suite.write({ ...PLANTED, value: 'planted' })
      await suite.write({ ...PLANTED, value: 'planted again' })
    }

    it('attack: a planted internal chain closes a topic: freed, the clinician writes version 1, and both chains hold', async () => {
      await plant()
      expect(await suite.store.append(sampleRecord())).toEqual({ kind: 'audience-conflict' })
      expect(await under.free(PLANTED)).toEqual({ kind: 'freed', freed: 1, versions: 2 })
      expect(await suite.write()).toMatchObject({ version: 1, prevHash: '0'.repeat(64) })
      expect(await suite.write({ value: 'with honey' })).toMatchObject({ version: 2 })
      expect(await suite.store.append(sampleRecord(PLANTED))).toEqual({ kind: 'audience-conflict' })
      expect(await suite.store.latest(TEA)).toMatchObject({
        latestVersion: 2,
        record: { value: 'with honey' },
        previous: { version: 1 },
      })
      expect(await suite.store.versions({ slot: TEA, after: 0, limit: 9 })).toHaveLength(2)
      expect(await suite.verify()).toMatchObject([
        { slot: TEA, versions: 2, intact: true, receipt: { uri: 'care://ann/tea' } },
        {
          slot: FREED,
          versions: 2,
          intact: true,
          receipt: { uri: 'care-internal://ann/tea/freed-1' },
        },
      ])
    })

    it('a free has its place among the versions: streams tell of it, and of none of what it moved aside', async () => {
      const reach = AUDIENCES.map((audience) => ({ audience }))
      const behind = async () =>
        (await suite.store.behind({ reach, from: 0, limit: 9 })).map(({ place }) => place)
      const old = { ...TEA, domain: 'old' }
      await plant()
      await suite.write(old)
      const planted = await suite.store.behind({ reach, from: 0, limit: 9 })
      await under.free(PLANTED)
      await under.free(old)
      await suite.write()
      const at = { user: 1, assistant: 2, isErased: false }
      const frees = [
        { ...PLANTED, ...at },
        { ...old, ...at },
      ]
      expect(await suite.store.freesBehind(0, 9)).toEqual(frees)
      expect(await suite.store.freesBehind(3, 3)).toEqual(frees)
      expect(await suite.store.freesBehind(4, 9)).toEqual([])
      const counts = AUDIENCES.map((audience) => suite.store.countFrees(audience))
      expect(await Promise.all(counts)).toEqual([1, 1])
      expect(await behind()).toEqual([3])
      expect(planted).toHaveLength(3)
      await under.erase(FREED)
      expect((await suite.store.freesBehind(0, 9)).map(({ isErased }) => isErased)).toEqual([
        true,
        false,
      ])
    })

    it('nobody reads a freed chain as the topic any more: reads, lists, names, changes and bundles', async () => {
      await plant()
      await suite.write({ ...PLANTED, domain: 'walks', value: 'stays' })
      const audience = 'assistant' as const
      const [first, second] = await suite.store.behind({ reach: [{ audience }], from: 0, limit: 9 })
      await under.free(PLANTED)
      expect(await suite.store.latest(PLANTED)).toEqual({ kind: 'absent' })
      const withdrawal = { value: '', status: 'entered-in-error' } as const
      expect(await suite.store.append(sampleRecord({ ...PLANTED, ...withdrawal }))).toEqual({
        kind: 'nothing-to-withdraw',
      })
      expect(await suite.store.version(PLANTED, 1)).toEqual({ kind: 'absent' })
      expect(await suite.store.head(PLANTED)).toBe(undefined)
      expect(await suite.store.leaf(PLANTED, 1)).toBe(undefined)
      expect(await suite.store.versions({ slot: PLANTED, after: 0, limit: 9 })).toEqual([])
      for (const narrowed of [{}, { patient: 'ann' }]) {
        const reach = [{ audience, ...narrowed }]
        const heads = await suite.store.heads({ reach, limit: 9 })
        expect(heads.map(({ domain }) => domain)).toEqual(['walks'])
        const names = { reach, prefix: '', limit: 9, nameKind: 'domain' as const }
        expect(await suite.store.names(names)).toEqual(['walks'])
        const changed = { reach, sinceIso: '0000-01-01T00:00:00.000Z', limit: 9 }
        expect(await suite.store.changedChains(changed)).toMatchObject([{ domain: 'walks' }])
        // A host that has come as far as the freed chain goes on from there.
        for (const behind of [undefined, first, second]) {
          const from = behind === undefined ? 0 : behind.place + 1
          expect(await suite.store.behind({ reach, from, limit: 9 })).toMatchObject([
            { domain: 'walks', version: 1 },
          ])
        }
      }
      const bundle = (
        await collect(
          fhirBundle(() => suite.store.exportLines({ audiences: AUDIENCES }), {
            baseUrl: 'http://care.test',
            type: 'collection',
          }),
        )
      ).join('')
      expect(bundle).toContain('walks')
      expect(bundle).not.toContain('ann/tea')
    })

    it('its leaves, its entries and the checkpoint are byte for byte the same, and its proofs stand under its number', async () => {
      await plant()
      await suite.write({ domain: 'walks', value: 'Twice around the pond.' })
      const before = await exportLines()
      const leaf = await suite.store.leaf(PLANTED, 2)
      await under.free(PLANTED)
      const after = await exportLines()
      expect(after).toEqual(
        before.map((line) =>
          line.replace('"care-internal://ann/tea/', '"care-internal://ann/tea/freed-1/'),
        ),
      )
      expect(await verifyExport(after)).toMatchObject({ isIntact: true, versions: 3 })
      expect(await suite.store.leaf(FREED, 2)).toEqual(leaf)
      expect(await suite.checkExport(FREED)).toMatchObject({
        isIntact: true,
        versions: 2,
        chains: [{ uri: 'care-internal://ann/tea/freed-1', versions: 2 }],
      })
      expect(await suite.checkExport(PLANTED)).toMatchObject({ versions: 0 })
    })

    it('C30: the number of a freed speakable chain tells nothing of internal ones that were freed before it', async () => {
      await plant()
      await under.free(PLANTED)
      await suite.write()
      await under.free(TEA)
      await suite.write({ ...PLANTED, value: 'a rule' })
      await under.free(PLANTED)
      await suite.write({ value: 'anew' })
      const uris = (await suite.verify()).map(({ receipt }) => receipt.uri)
      expect(uris).toEqual([
        'care://ann/tea/freed-1',
        'care://ann/tea',
        'care-internal://ann/tea/freed-1',
        'care-internal://ann/tea/freed-2',
      ])
      expect((await suite.checkExport()).isIntact).toBe(true)
    })

    it('a topic is freed as often as it is closed, for the same audience too; an export of all its chains holds', async () => {
      for (const value of ['one', 'two', 'three']) {
        await suite.write({ value })
        await under.free(TEA)
      }
      expect(await under.free(TEA)).toEqual({ kind: 'absent' })
      await suite.write({ value: 'four' })
      expect((await suite.checkExport()).chains.map(({ uri }) => uri)).toEqual([
        'care://ann/tea/freed-1',
        'care://ann/tea/freed-2',
        'care://ann/tea/freed-3',
        'care://ann/tea',
      ])
      expect((await suite.verify()).map(({ intact }) => intact)).toEqual([true, true, true, true])
      expect((await suite.checkExport()).isIntact).toBe(true)
      await suite.tamper({ ...TEA, freed: 2 }, 1, (entry) => entry.replace('two', 'six'))
      const broken = (await suite.verify()).filter(({ intact }) => !intact)
      expect(broken).toMatchObject([{ receipt: { uri: 'care://ann/tea/freed-2' }, brokenAt: 1 }])
    })

    it('an erased topic is freed too: what was erased stays erased, and the new chain has a key of its own', async () => {
      await plant()
      await under.erase(PLANTED)
      expect(await suite.store.append(sampleRecord(PLANTED))).toEqual({ kind: 'erased' })
      expect(await under.free(PLANTED)).toMatchObject({ kind: 'freed' })
      await suite.write({ value: 'anew' })
      expect(await suite.store.latest(TEA)).toMatchObject({ record: { value: 'anew' } })
      expect(await suite.store.erased()).toEqual([])
      expect(await suite.verify(['assistant'])).toMatchObject([
        { slot: FREED, versions: 2, erased: 2, intact: true },
      ])
      // The new chain is erased by itself.
      await under.erase(TEA)
      expect(await suite.store.append(sampleRecord())).toEqual({ kind: 'erased' })
      expect(await suite.store.erased()).toEqual([{ patient: 'ann', domain: 'tea', turn: 1 }])
      expect((await suite.checkExport()).isIntact).toBe(true)
    })

    it('a freed chain is erased under its number, and the topic goes on', async () => {
      await plant()
      await under.free(PLANTED)
      await suite.write({ value: 'anew' })
      expect(await under.erase(FREED)).toMatchObject({ kind: 'erased', versions: 2 })
      expect(await suite.write({ value: 'and on' })).toMatchObject({ version: 2 })
      expect((await exportLines()).join()).not.toContain('planted')
      expect((await suite.checkExport()).isIntact).toBe(true)
    })

    it('a write that was sent before the free and comes again writes nothing', async () => {
      const request = { mac: 'ab'.repeat(32), expiresAtMs: 9e15 }
      await suite.store.append(sampleRecord({ ...PLANTED, value: 'planted' }), request)
      await under.free(PLANTED)
      const again = sampleRecord({ ...PLANTED, value: 'planted' })
      expect(await suite.store.append(again, request)).toEqual({ kind: 'erased' })
      expect(await suite.write()).toMatchObject({ version: 1 })
    })

    it('a running store takes up the free at its next write, also with others in the same commit', async () => {
      await plant()
      await suite.write({ domain: 'walks', value: 'Twice around the pond.' })
      await under.free(PLANTED)
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          suite.store.append(sampleRecord({ value: `value ${at}` })),
        ),
      )
      const numbers = all.map((outcome) => appended(outcome).version)
      expect(numbers.toSorted((left, right) => left - right)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
      const known = await suite.store.append(sampleRecord({ value: 'last' }), undefined, 8)
      expect(appended(known).version).toBe(9)
      expect((await suite.checkExport()).isIntact).toBe(true)
    })

    it('what was freed is listed until something is written there, and a name in the wrong audience frees nothing', async () => {
      await plant()
      expect(await under.free(TEA)).toEqual({ kind: 'absent' })
      expect(await suite.store.freed()).toEqual([])
      await under.free(PLANTED)
      expect(await suite.store.freed()).toEqual([FREED])
      await suite.write()
      expect(await suite.store.freed()).toEqual([])
    })
  })
}
