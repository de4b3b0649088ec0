// The order of writing, as every record store gives it: nothing is skipped, whatever is asked in between. Part of
// record-store.contract.ts.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RecordStoreFixture } from './record-store.fixture.ts'
import type { PlacedVersion } from './record-store.ts'
import type { Reach } from './scopes.ts'

const EVERYONE: readonly Reach[] = [{ audience: 'user' }]

const names = (versions: readonly PlacedVersion[]) =>
  versions.map(({ domain, patient, version }) => `${patient}/${domain}/${version}`)

export function describeWritten(suite: RecordStoreFixture): void {
  const written = async ({
    behind,
    ...query
  }: {
    readonly reach?: readonly Reach[]
    readonly behind?: PlacedVersion | undefined
    readonly limit?: number
  }) => {
    const from = behind === undefined ? 0 : behind.place + 1
    return await suite.store.behind({ reach: EVERYONE, limit: 99, from, ...query })
  }
  describe('C26: the order of writing', () => {
    it('is one order for all chains of an audience, behind any version, within a reach', async () => {
      for (const [patient, domain] of [
        ['ann', 'tea'],
        ['bob', 'tea'],
        ['ann', 'walk'],
        ['ann', 'tea'],
      ] as const)
        await suite.write({ patient, domain })
      await suite.write({ domain: 'plan', audience: 'assistant' })
      const all = await written({})
      expect(names(all)).toEqual(['ann/tea/1', 'bob/tea/1', 'ann/walk/1', 'ann/tea/2'])
      expect(names(await written({ behind: all[1], limit: 1 }))).toEqual(['ann/walk/1'])
      expect(await written({ behind: all[3] })).toEqual([])
      const ofAnn: readonly Reach[] = [{ audience: 'user', patient: 'ann' }]
      const annsBehind = await written({ reach: ofAnn, behind: all[0] })
      expect(names(annsBehind)).toEqual(['ann/walk/1', 'ann/tea/2'])
      expect(await written({ reach: [{ audience: 'user', patient: 'nobody' }] })).toEqual([])
      const internal: readonly Reach[] = [{ audience: 'assistant' }]
      expect(names(await written({ reach: internal }))).toEqual(['ann/plan/1'])
    })

    it('a leaf says its place and its hash; there is none behind the journal', async () => {
      const slot = await suite.write({})
      await suite.write({ domain: 'plan', audience: 'assistant' })
      const { hash } = (await suite.store.leaf(slot, 1)) ?? {}
      expect(await suite.store.leafAt('user', 0)).toEqual({ leaf: 0, place: 0, hash })
      expect(await suite.store.leafAt('assistant', 0)).toMatchObject({ leaf: 0, place: 1 })
      expect(await suite.store.leafAt('user', 1)).toBeUndefined()
    })

    it('never skips: pages of any size, with writes between them, give every version once', async () => {
      const domains = ['a', 'b', 'c']
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.constantFrom(...domains), fc.integer({ min: 0, max: 3 })), {
            maxLength: 12,
          }),
          async (steps) => {
            let behind = (await written({ limit: 9_999 })).at(-1)
            const expected: string[] = []
            const heard: string[] = []
            const page = async (limit: number) => {
              const versions = await written({ behind, limit })
              behind = versions.at(-1) ?? behind
              heard.push(...names(versions))
            }
            for (const [domain, limit] of steps) {
              const { patient, version } = await suite.write({ domain })
              expected.push(`${patient}/${domain}/${version}`)
              if (limit > 0) await page(limit)
            }
            await page(99)
            expect(heard).toEqual(expected)
          },
        ),
        { numRuns: 10 },
      )
    })
  })
}
