// What every record store proves: chains that replay, changes that are found, and exports and checkpoints that hold
// without it.
import { describe, expect, it } from 'vitest'
import { type ChainSlot, chainUri } from '../wire/record-uri.ts'
import { collect, PLAN, type RecordStoreFixture, TEA } from './record-store.fixture.ts'
import type { ChainVerification } from './record-store.ts'
import { verifyExport } from './verify-export.ts'

const findVerdict = (verdicts: readonly ChainVerification[], slot: ChainSlot) =>
  verdicts.find((verdict) => chainUri(verdict.slot) === chainUri(slot))

/** The part of a record store's suite about proofs. */
export function describeProofs(suite: RecordStoreFixture): void {
  const { tamper, write, verify, checkExport } = suite

  describe('verification', () => {
    it('replays every chain of the requested audiences, and no other', async () => {
      await write()
      await write()
      await write({ ...PLAN })
      expect(await verify(['user'])).toMatchObject([{ slot: TEA, versions: 2, intact: true }])
      expect(await verify()).toHaveLength(2)
      const each = await collect(suite.store.verify({ audiences: ['assistant'], slot: PLAN }))
      expect(each).toMatchObject([{ slot: PLAN, versions: 1, intact: true }])
      expect(await collect(suite.store.verify({ audiences: ['user'], slot: PLAN }))).toEqual([])
      expect(
        await collect(suite.store.verify({ audiences: ['user'], slot: { ...TEA, domain: 'x' } })),
      ).toEqual([])
    })

    it('a receipt is read from the stored bytes of the newest version', async () => {
      await write()
      const [{ receipt } = { receipt: undefined }] = await verify()
      const isSealed = suite.store.sealKeyId !== undefined
      expect(receipt).toMatchObject({
        uri: 'care://ann/tea',
        encrypted: isSealed,
        algorithm: isSealed ? 'AES-256-GCM' : 'none',
      })
      expect(receipt?.storedBytes).toBeGreaterThan(300)
    })

    it('a stored value altered is BROKEN at its version and never served; a new write is accepted', async () => {
      for (const value of ['one', 'two', 'three']) await write({ value })
      await tamper(TEA, 2, (entry) => entry.replace('two', 'owt'))
      expect(findVerdict(await verify(), TEA)).toMatchObject({
        versions: 3,
        intact: false,
        brokenAt: 2,
      })
      expect(await suite.store.version(TEA, 2)).toEqual({ kind: 'broken', version: 2 })
      expect(await suite.store.version(TEA, 1)).toMatchObject({ kind: 'found' })
      expect(await suite.store.latest(TEA)).toMatchObject({ record: { value: 'three' } })
      const changed = await suite.store.versions({ slot: TEA, after: 0, limit: 10 })
      expect(changed.map(({ value }) => value)).toEqual(['one', 'three'])
      expect(await write({ value: 'four' })).toMatchObject({ version: 4 })
      expect(findVerdict(await verify(), TEA)).toMatchObject({ versions: 4, brokenAt: 2 })
    })

    it.each([
      ['authorLabel', 'Dr Osei', 'Dr Evil'],
      ['staleAfter', '2027', '2037'],
      ['priority', '"priority":1', '"priority":2'],
      ['language', '"language":"de"', '"language":"da"'],
      ['audience', '"audience":"user"', '"audience":"assistant"'],
      ['patient', '"patient":"ann"', '"patient":"bob"'],
      ['random', '"random":"', '"random":"0'],
      ['writtenAt', '2026-06-01', '2026-06-02'],
    ])('a change to %s alone is found at its version', async (_field, was, is) => {
      await write()
      await write({ staleAfter: '2027-01-01T00:00:00Z', priority: 1, language: 'de' })
      await tamper(TEA, 2, (entry) => entry.replace(was, is))
      expect(findVerdict(await verify(), TEA)).toMatchObject({ intact: false, brokenAt: 2 })
      expect(await suite.store.latest(TEA)).toEqual({ kind: 'broken', version: 2 })
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

    it('an export of one chain holds nothing of the other journal, whatever audiences are requested', async () => {
      await write()
      await write({ ...PLAN, value: 'internal' })
      const query = { audiences: ['user', 'assistant'] as const, slot: TEA }
      const lines = await collect(suite.store.exportLines(query))
      expect(lines.join('\n')).not.toMatch(/assistant|internal/)
      expect(await verifyExport(lines)).toMatchObject({ isIntact: true, versions: 1 })
    })

    it('an export of an empty store holds', async () => {
      expect(await checkExport()).toMatchObject({ isIntact: true, versions: 0 })
    })

    it('an export of a broken chain says where it is broken, without the text', async () => {
      await write()
      await write({ value: 'secret two' })
      await tamper(TEA, 2, (entry) => entry.replace('two', 'owt'))
      const lines = await collect(suite.store.exportLines({ audiences: ['user'] }))
      expect(lines.join('\n')).not.toContain('secret')
      const report = await checkExport()
      expect(report).toMatchObject({ isIntact: false, chains: [{ brokenAt: 2 }] })
    })

    it('a checkpoint is a signed note over the size of its journal', async () => {
      expect(suite.store.journals.user.checkpoint().split('\n')[1]).toBe('0')
      await write()
      const note = suite.store.journals.user.checkpoint()
      expect(note.split('\n')[1]).toBe('1')
      expect(suite.store.journals.assistant.checkpoint().split('\n')[1]).toBe('0')
      expect(suite.store.journals.user.verifierKey.split('+')[0]).toBe(note.split('\n')[0])
    })
  })
}
