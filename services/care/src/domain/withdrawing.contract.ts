// Withdrawing a record (C40): what every record store does with versions that say why instead of a value. Part of
// record-store.contract.ts.
import { versionHash } from '@tallystick/hashchain'
import { describe, expect, it } from 'vitest'
import { PLAN, type RecordStoreFixture, sampleRecord, TEA } from './record-store.fixture.ts'

const EVERYONE = [{ audience: 'user' }] as const
const GONE = { value: '', status: 'entered-in-error' } as const

export function describeWithdrawing(suite: RecordStoreFixture): void {
  const { write } = suite
  const listed = async () =>
    (await suite.store.heads({ reach: EVERYONE, limit: 9 })).map(({ domain }) => domain)
  const named = (options: 'patient' | 'domain', patient?: string) =>
    suite.store.names({
      nameKind: options,
      prefix: '',
      reach: [{ audience: 'user', ...(patient && { patient }) }],
      limit: 9,
    })
  /** Versions, and whether lists changed by them. */
  const changes = async (isListChange: boolean) =>
    (await suite.store.behind({ reach: EVERYONE, from: 0, limit: 9, isListChange })).map(
      ({ changesList, version }) => `${version} ${changesList}`,
    )

  describe('C40: a withdrawn record', () => {
    it('has a version whose hash is over an empty value, and its chain holds', async () => {
      const first = await write()
      const withdrawn = await write(GONE)
      const { authorId, versionHash: hash, writtenAt } = withdrawn
      expect(withdrawn).toMatchObject({ version: 2, ...GONE, prevHash: first.versionHash })
      expect(hash).toBe(
        versionHash({ prevHash: first.versionHash, value: '', writtenAt, authorId }),
      )
      expect(await suite.verify()).toMatchObject([{ versions: 2, intact: true }])
      expect(await suite.checkExport()).toMatchObject({ isIntact: true, versions: 2 })
      expect(await suite.store.latest(TEA)).toMatchObject({
        kind: 'found',
        record: GONE,
        previous: { value: first.value },
      })
      expect(await suite.store.version(TEA, 1)).toMatchObject({ kind: 'found', latestVersion: 2 })
    })

    it('leaves lists and names, keeps its versions and its head, and comes back with the next version', async () => {
      for (const domain of ['tea', 'walks']) await write({ domain })
      await write({ patient: 'bob', domain: 'sleep' })
      await write({ ...GONE, status: 'wrong-person' })
      await write({ ...GONE, patient: 'bob', domain: 'sleep' })
      expect(await listed()).toEqual(['walks'])
      expect(await named('patient')).toEqual(['ann'])
      expect(await named('domain')).toEqual(['walks'])
      expect(await named('domain', 'bob')).toEqual([])
      expect(await suite.store.head(TEA)).toMatchObject({ latestVersion: 2 })
      expect(await suite.store.versions({ slot: TEA, after: 0, limit: 9 })).toHaveLength(2)
      const changed = { reach: EVERYONE, sinceIso: '', after: 0, limit: 9 }
      expect(await suite.store.changedChains(changed)).toHaveLength(3)
      await write({ value: 'One sugar.' })
      expect(await listed()).toEqual(['tea', 'walks'])
      expect(await named('domain')).toEqual(['tea', 'walks'])
      expect(await suite.store.latest(TEA)).toMatchObject({
        record: { value: 'One sugar.', version: 3 },
        previous: { status: 'wrong-person' },
      })
    })

    it('changes lists as it begins, as it is withdrawn and as it comes back, and not between', async () => {
      await write()
      await write({ value: 'two' })
      for (const status of ['entered-in-error', 'wrong-person'] as const)
        await write({ value: '', status })
      for (const value of ['three', 'four']) await write({ value })
      expect(await changes(true)).toEqual(['1 true', '3 true', '5 true'])
      expect(await changes(false)).toEqual([
        '1 true',
        '2 false',
        '3 true',
        '4 false',
        '5 true',
        '6 false',
      ])
    })

    it('cannot be one that is not there, is the other audience’s, or is at another version than the writer saw', async () => {
      const { store } = suite
      expect(await store.append(sampleRecord(GONE))).toEqual({ kind: 'nothing-to-withdraw' })
      expect(await store.append(sampleRecord(GONE), undefined, 0)).toEqual({
        kind: 'nothing-to-withdraw',
      })
      await write({ ...PLAN })
      expect(await store.append(sampleRecord({ ...PLAN, ...GONE, audience: 'user' }))).toEqual({
        kind: 'audience-conflict',
      })
      expect(await store.append(sampleRecord({ ...PLAN, ...GONE }), undefined, 2)).toEqual({
        kind: 'version-conflict',
        latestVersion: 1,
      })
    })

    it('is withdrawn once by a signed write that comes twice', async () => {
      await write()
      const request = { mac: 'a'.repeat(64), expiresAtMs: suite.clock.unixMs() + 1_000 }
      expect(await suite.store.append(sampleRecord(GONE), request)).toMatchObject({
        kind: 'appended',
      })
      expect(await suite.store.append(sampleRecord(GONE), request)).toMatchObject({
        kind: 'repeated',
        record: { version: 2, ...GONE },
      })
    })

    it('has either a value or a reason', async () => {
      await write()
      for (const over of [{ value: '' }, { status: 'entered-in-error' } as const])
        await expect(suite.store.append(sampleRecord(over))).rejects.toThrow(TypeError)
    })

    it('does not hold if its reason, or that it is withdrawn, was changed behind the store’s back', async () => {
      await write()
      await write(GONE)
      await suite.tamper(TEA, 2, (entry) => entry.replace('entered-in-error', 'wrong-person'))
      expect(await suite.verify()).toMatchObject([{ intact: false, brokenAt: 2 }])
      expect(await suite.store.latest(TEA)).toEqual({ kind: 'broken', version: 2 })
    })
  })
}
