/** Attacks on the evidence: what is tried, and that it changes nothing. Here: to read prices that may not be shown. */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { describe, expect, test } from 'vitest'
import { AFTER, BEFORE, early, HIDDEN, openLedger, UPLOAD } from '../../testing/evidence.fixture.ts'
import { makeFixture } from '../../testing/grader.fixture.ts'
import { samplePick, samplePrices, scored } from '../../testing/samples.fixture.ts'
import { commitmentHash } from './committed-pick.ts'
import type { PickOpening } from './pick-opening.ts'

const DAY_MS = 86_400_000

describe('G14: hidden prices', () => {
  test('attack: the hash of an upload is shown with its result, and its few prices are tried against it', async () => {
    const { store, grader } = await openLedger(HIDDEN, [
      AFTER,
      { closes: [samplePrices()], outcomes: scored(1, 0) },
    ])
    const rawSha256 = 'ab'.repeat(32)
    for (const seq of [0, 1])
      expect(JSON.stringify(await grader.publicEntry(seq))).not.toContain(rawSha256)
    const [close, result] = [(await store.entry(0))?.entry, (await store.entry(1))?.entry]
    if (close?.type !== 'close' || result?.type !== 'outcome') throw new Error('other entries')
    // A result is shown whole, and its leaf can be checked; whoever has the ledger's secret can open the commitment.
    const shown = await grader.publicEntry(1)
    expect(shown?.entry).toMatchObject({ type: 'outcome', rawCommitment: result.rawCommitment })
    expect(result.rawCommitment).toMatch(/^[0-9a-f]{64}$/)
    expect(result.rawCommitment).not.toBe(preimageHash(rawSha256))
    expect(close.salt).toMatch(/^[0-9a-f]{64}$/)
  })

  test('the hash of a source that may be shown is shown', async () => {
    const { grader } = await makeFixture({ closes: [samplePrices()], outcomes: scored(1, 0) })
    for (const seq of [0, 1])
      expect((await grader.publicEntry(seq))?.entry?.['rawSha256']).toBe('ab'.repeat(32))
  })

  test('attack: a pick on every selection, to read the best hidden prices when the picks are opened', async () => {
    const { clock, grader, pay, store } = await openLedger(HIDDEN, [BEFORE, { snapshots: [early] }])
    for (const selection of ['home', 'draw', 'away'])
      await pay(samplePick({ selection, odds: '1.5' }))
    clock.advanceMs(2 * DAY_MS)
    for (const [seq, best] of [
      [1, '2.2'],
      [2, '3.4'],
      [3, '3.6'],
    ] as const) {
      const shown = await grader.publicEntry(seq)
      const text = JSON.stringify(shown)
      expect(text).not.toContain(`"${best}"`)
      const stored = (await store.pickBySeq(seq))?.opening
      expect(stored).toMatchObject({ bestRecorded: best })
      expect(text).not.toContain(stored?.bestSalt ?? 'no salt')
      // What is opened still hashes to the commitment, and the operator can open the rest.
      const opened = (shown?.opened ?? {}) as Record<string, string>
      expect(preimageHash(canonicalJson(opened))).toBe(shown?.entry?.['commitment'])
      expect(preimageHash(`${stored?.bestSalt} ${best}`)).toBe(opened['bestCommitment'])
    }
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('a best price whose sources may all be shown is opened', async () => {
    const { clock, grader, pay } = await openLedger({ ...UPLOAD, isRedistributable: true }, [
      BEFORE,
      { snapshots: [early] },
    ])
    await pay(samplePick({ odds: '2' }))
    clock.advanceMs(2 * DAY_MS)
    const opened = (await grader.publicEntry(1))?.opened as unknown as PickOpening
    expect(opened).toMatchObject({ bestRecorded: '2.2', isBestOpen: true })
    expect((await grader.publicEntry(1))?.entry?.['commitment']).toBe(commitmentHash(opened))
  })
})
