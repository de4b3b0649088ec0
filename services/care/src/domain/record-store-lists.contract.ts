// What every record store lists: chains, names, changes and versions, within a reach. Part of record-store.contract.ts.
import { manualClock } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  PLAN,
  type RecordStoreFixture,
  START_MS,
  sampleRecord,
  TEA,
} from './record-store.fixture.ts'
import type { BehindQuery, NamesQuery, RecordStore } from './record-store.ts'

type HeadsQuery = Parameters<RecordStore['heads']>[0]
type ChangedQuery = Parameters<RecordStore['changedChains']>[0]

const EVERYONE = [{ audience: 'user' }] as const
const BOTH = [...EVERYONE, { audience: 'assistant' }] as const

export function describeLists(suite: RecordStoreFixture): void {
  const { tamper, write } = suite
  const listValues = async (after: number, limit: number) =>
    (await suite.store.versions({ slot: TEA, after, limit })).map(({ value }) => value)

  const placed = async (query: Partial<BehindQuery> = {}) =>
    (await suite.store.behind({ reach: BOTH, from: 0, limit: 9, ...query })).map(
      ({ domain, leaf, place, version }) => `${place} ${leaf} ${domain} ${version}`,
    )
  describe('C22: versions behind a place', () => {
    it('are in the order of commits over both audiences, within a reach and a topic, up to a limit and a place', async () => {
      await Promise.all(['a', 'b', 'a'].map((domain) => write({ domain })))
      await write({ domain: 'c', audience: 'assistant' })
      await write({ domain: 'd', patient: 'bob' })
      expect(await placed()).toEqual(['0 0 a 1', '1 1 b 1', '2 2 a 2', '3 0 c 1', '4 3 d 1'])
      expect(await placed({ from: 1, limit: 2 })).toEqual(['1 1 b 1', '2 2 a 2'])
      expect(await placed({ from: 1, to: 4 })).toEqual(['1 1 b 1', '2 2 a 2', '3 0 c 1'])
      const ann = { audience: 'user', patient: 'ann' } as const
      expect(await placed({ reach: [{ ...ann, audience: 'assistant' }] })).toEqual(['3 0 c 1'])
      expect(await placed({ reach: [ann], domain: 'a', from: 1 })).toEqual(['2 2 a 2'])
      expect(await suite.store.behind({ reach: BOTH, from: 4, limit: 1 })).toEqual([
        {
          place: 4,
          leaf: 3,
          patient: 'bob',
          domain: 'd',
          audience: 'user',
          version: 1,
          changesList: true,
        },
      ])
    })
    it('each topic begins at its own place; newest versions and list changes are found', async () => {
      for (const domain of ['a', 'b', 'a', 'c', 'a']) await write({ domain })
      await write({ ...PLAN })
      const topics = [
        { ...TEA, domain: 'a', from: 1 },
        { ...TEA, domain: 'b', from: 2 },
        { ...PLAN, from: 0 },
        { ...TEA, domain: 'none', from: 0 },
      ]
      const named = async (query: Partial<Parameters<RecordStore['behindInTopics']>[0]>) =>
        (await suite.store.behindInTopics({ topics, limit: 9, ...query })).map(
          ({ domain, place, version }) => `${place} ${domain} ${version}`,
        )
      expect(await named({})).toEqual(['2 a 2', '4 a 3', '5 plan 1'])
      expect(await named({ to: 5, limit: 1 })).toEqual(['2 a 2'])
      expect(await named({ isNewest: true, limit: 1 })).toEqual(['4 a 3', '5 plan 1'])
      expect(await named({ topics: [] })).toEqual([])
      expect(await placed({ isListChange: true, from: 1 })).toEqual([
        '1 1 b 1',
        '3 3 c 1',
        '5 0 plan 1',
      ])
      const ann = { audience: 'user', patient: 'ann' } as const
      const newest = { isListChange: true, isNewest: true, limit: 1 } as const
      for (const reach of [EVERYONE, [ann]])
        expect(await placed({ reach, ...newest })).toEqual(['3 3 c 1'])
      expect(await placed({ reach: [{ ...ann, patient: 'bob' }], isListChange: true })).toEqual([])
    })
    it('a revision is the record and the one before; there is none of a tampered version', async () => {
      await write({ value: 'one' })
      const two = await write({ value: 'two' })
      await write({ ...PLAN })
      const all = await suite.store.behind({ reach: BOTH, from: 0, limit: 9 })
      const said = async () =>
        (await suite.store.revisions(all)).map(
          (revision) => revision && [revision.record.value, revision.previous?.value],
        )
      const { value } = sampleRecord()
      expect(await said()).toEqual([
        ['one', undefined],
        ['two', 'one'],
        [value, undefined],
      ])
      expect((await suite.store.revisions(all.slice(1, 2)))[0]?.record).toEqual(two)
      expect(await suite.store.revisions([])).toEqual([])
      await tamper(TEA, 2, (entry) => entry.replace('two', 'ten'))
      expect((await said())[1]).toBeUndefined()
    })
    it('refused writes are absent, and a time leaves older versions out', async () => {
      await write()
      await suite.store.append({ ...sampleRecord(), audience: 'assistant' })
      suite.clock.advanceMs(86_400_000)
      const { writtenAt: sinceIso } = await write()
      expect(await placed()).toEqual(['0 0 tea 1', '1 1 tea 2'])
      expect(await placed({ sinceIso })).toEqual(['1 1 tea 2'])
    })
  })

  describe('lists', () => {
    it('heads are in order of creation, after a sequence, within a reach', async () => {
      await write({ domain: 'a' })
      await write({ domain: 'b', audience: 'assistant' })
      await write({ domain: 'c', patient: 'bob', priority: 1 })
      await write({ domain: 'a', value: 'again' })
      const reach = [{ audience: 'user' }, { audience: 'assistant' }] as const
      const all = await suite.store.heads({ reach, limit: 10 })
      expect(all.map(({ domain, latestVersion }) => [domain, latestVersion])).toEqual([
        ['a', 2],
        ['b', 1],
        ['c', 1],
      ])
      const after = all[0]?.sequence ?? 0
      const rest = await suite.store.heads({ reach: [{ audience: 'user' }], after, limit: 10 })
      expect(rest.map(({ domain, priority }) => [domain, priority])).toEqual([['c', 1]])
      expect(await suite.store.heads({ reach, limit: 1 })).toHaveLength(1)
      const listDomains = async (query: Omit<HeadsQuery, 'limit'>) =>
        (await suite.store.heads({ ...query, limit: 9 })).map(({ domain }) => domain)
      const bobs = { audience: 'user', patient: 'bob' } as const
      const plans = { audience: 'assistant', patient: 'ann' } as const
      expect(await listDomains({ reach: [bobs] })).toEqual(['c'])
      expect(await listDomains({ reach: [bobs, plans] })).toEqual(['b', 'c'])
      expect(await listDomains({ reach: [bobs, plans], after: all[1]?.sequence })).toEqual(['c'])
      expect(await listDomains({ reach: [{ ...bobs, patient: 'nobody' }] })).toEqual([])
      expect(await listDomains({ reach: [] })).toEqual([])
      expect(await suite.store.head({ ...TEA, domain: 'a' })).toEqual(all[0])
    })

    it('each name is found once, in the order of its bytes, by how it starts, within a reach', async () => {
      for (const domain of ['tea', 'team', 'walk', 'éclair', '𝄞', '\uffee'])
        for (const patient of ['ann', 'anna', 'bob']) await write({ patient, domain })
      await write({ ...PLAN, patient: 'cleo' })
      const names = (query: Partial<NamesQuery>) =>
        suite.store.names({ nameKind: 'patient', prefix: '', limit: 9, reach: EVERYONE, ...query })
      expect(await names({})).toEqual(['ann', 'anna', 'bob'])
      expect(await names({ limit: 2 })).toEqual(['ann', 'anna'])
      expect(await names({ prefix: 'an' })).toEqual(['ann', 'anna'])
      expect(await names({ prefix: 'anna' })).toEqual(['anna'])
      expect(await names({ prefix: 'c' })).toEqual([])
      expect(await names({ reach: [...EVERYONE, { audience: 'assistant' }] })).toContain('cleo')
      const ofDomain = { nameKind: 'domain' } as const
      // Not in the order of UTF-16, in which the last two stand the other way about.
      const domains = ['tea', 'team', 'walk', 'éclair', '\uffee', '𝄞']
      expect(await names(ofDomain)).toEqual(domains)
      expect(await names({ ...ofDomain, prefix: 'te' })).toEqual(['tea', 'team'])
      const annas = [{ audience: 'user', patient: 'anna' }] as const
      expect(await names({ reach: annas })).toEqual(['anna'])
      expect(await names({ reach: annas, prefix: 'b' })).toEqual([])
      expect(await names({ ...ofDomain, reach: annas, prefix: 'te' })).toEqual(['tea', 'team'])
      expect(await names({ reach: [{ audience: 'user', patient: 'nobody' }] })).toEqual([])
    })

    it('names are those that a search of every chain finds, whatever they are', async () => {
      const name = fc.string({
        unit: fc.constantFrom('a', 'b', 'B', 'é', '𝄞', '\uffee'),
        minLength: 1,
        maxLength: 3,
      })
      const [patients, domains] = fc.sample(fc.array(name, { minLength: 12, maxLength: 12 }), {
        numRuns: 2,
        seed: 7,
      })
      for (const [at, patient] of (patients ?? []).entries())
        await write({ patient, domain: domains?.[at] ?? 'x', value: `${at}` })
      const heads = await suite.store.heads({ reach: EVERYONE, limit: 99 })
      for (const part of ['patient', 'domain'] as const)
        for (const prefix of ['', 'a', 'b', 'é', '𝄞', 'aé', 'bb']) {
          const known = new Set(
            heads.map((head) => head[part]).filter((each) => each.startsWith(prefix)),
          )
          const sorted = [...known].toSorted((left, right) =>
            Buffer.compare(Buffer.from(left), Buffer.from(right)),
          )
          const found = await suite.store.names({
            nameKind: part,
            prefix,
            limit: 99,
            reach: EVERYONE,
          })
          expect([part, prefix, found]).toEqual([part, prefix, sorted])
        }
    })

    it('a chain of the other audience is no chain of this one, in any read', async () => {
      await write({ ...PLAN, value: 'internal' })
      const slot = { ...PLAN, audience: 'user' } as const
      expect(await suite.store.latest(slot)).toEqual({ kind: 'absent' })
      expect(await suite.store.version(slot, 1)).toEqual({ kind: 'absent' })
      expect(await suite.store.head(slot)).toBeUndefined()
      expect(await suite.store.versions({ slot, after: 0, limit: 9 })).toEqual([])
    })

    it('chains that changed since a time are in order of creation, with the first version since', async () => {
      await write({ value: 'old' })
      await write({ domain: 'weight', value: 'never changed' })
      suite.clock.advanceMs(1_000)
      const sinceIso = '2026-06-01T08:00:01.000Z'
      await write({ value: 'at the time' })
      suite.clock.advanceMs(1_000)
      await write({ value: 'after it' })
      await write({ ...PLAN, value: 'internal' })
      await write({ patient: 'bob', value: 'another patient' })
      await write({ domain: 'sleep', value: 'new' })
      const anns = [{ audience: 'user', patient: 'ann' }] as const
      const changed = async (query: Partial<ChangedQuery>) =>
        (await suite.store.changedChains({ reach: anns, sinceIso, limit: 9, ...query })).map(
          ({ domain, firstSince, latestVersion }) => [domain, firstSince, latestVersion],
        )
      expect(await changed({})).toEqual([
        ['tea', 2, 3],
        ['sleep', 1, 1],
      ])
      expect(await changed({ limit: 1 })).toEqual([['tea', 2, 3]])
      const [tea] = await suite.store.changedChains({ reach: anns, sinceIso, limit: 1 })
      expect(await changed({ after: tea?.sequence })).toEqual([['sleep', 1, 1]])
      const both = [...anns, { audience: 'assistant', patient: 'ann' }] as const
      expect((await changed({ reach: both })).map(([domain]) => domain)).toEqual([
        'tea',
        'plan',
        'sleep',
      ])
      expect(await changed({ reach: [] })).toEqual([])
      expect(await changed({ sinceIso: '2027-01-01T00:00:00.000Z' })).toEqual([])
    })

    it('the first version since is the lowest one, even if the clock was set back after it', async () => {
      await write({ value: 'one' })
      suite.clock.advanceMs(7_200_000)
      await write({ value: 'two' })
      const back = manualClock(START_MS + 3_600_000)
      suite.clock.unixMs = () => back.unixMs()
      await write({ value: 'three' })
      const reach = [{ audience: 'user', patient: 'ann' }] as const
      const sinceIso = '2026-06-01T09:30:00.000Z'
      expect(await suite.store.changedChains({ reach, sinceIso, limit: 9 })).toMatchObject([
        { firstSince: 2, latestVersion: 3 },
      ])
    })
  })

  it('versions of a chain come in order, a page at a time; those that do not hold are left out', async () => {
    for (const value of ['one', 'two', 'three', 'four']) await write({ value })
    await tamper(TEA, 3, (entry) => entry.replace('three', 'x'))
    expect(await listValues(0, 2)).toEqual(['one', 'two'])
    expect(await listValues(2, 2)).toEqual(['four'])
    expect(await listValues(4, 2)).toEqual([])
  })
}
