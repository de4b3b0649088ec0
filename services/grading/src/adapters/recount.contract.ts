/** A truth table that another version counted is counted again from the ledger; run against each engine. */
import { describe, expect, test } from 'vitest'
import type { GradingStore } from '../domain/grading-store.ts'
import { sameTruth, TRUTH_RULES_KEY } from '../domain/truth-table.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'

type RecountedLedger = {
  /** Opens it as another process would. */
  open(): GradingStore | Promise<GradingStore>
  /** Changes what no role of the service may; the table of cells is `truth`. */
  tamper(sql: string): void | Promise<void>
  /** The table's name there. */
  readonly truth: string
}

/** More than one slice of a recount. */
const EVENTS = 520

const settled = Array.from({ length: EVENTS }, (_, index) =>
  sampleObservation({
    event: sampleEvent({ path: `soccer/match-${index}`, home: `Team ${index % 7}` }),
    snapshots: [
      samplePrices({
        odds: { home: '2.1', draw: '3.5', away: '3.7' },
        capturedAtSeconds: START_SECONDS - 100_000,
      }),
    ],
    closes: [samplePrices()],
    outcomes: scored(index % 3, index % 2),
  }),
)

/** Settled matches, one with a committed pick. */
async function filled(ledger: RecountedLedger): Promise<GradingStore> {
  const store = await ledger.open()
  const { pay } = createGraderFixture(store)
  const early = { ...settled[0], closes: [], outcomes: [] }
  const receivedAtSeconds = START_SECONDS - 100_000
  await store.ingest(sampleBatch([sampleObservation(early)], { receivedAtSeconds }))
  await pay(samplePick({ market: 'soccer/match-0/1x2/ft', odds: '2.1' }))
  await store.ingest(sampleBatch(settled))
  return store
}

const isCommitted = (key: string): boolean => key.startsWith('committed')

export function describeRecount(
  name: string,
  make: () => RecountedLedger | Promise<RecountedLedger>,
): void {
  describe(`recount: ${name}`, () => {
    test.each([
      [
        'counted by older rules',
        (truth: string) => `UPDATE ${truth} SET cell = '1' WHERE key = '${TRUTH_RULES_KEY}'`,
      ],
      [
        'of a version that named no rules',
        (truth: string) => `DELETE FROM ${truth} WHERE key = '${TRUTH_RULES_KEY}'`,
      ],
    ])(
      'G6: a table %s is counted again when the ledger is opened, to the last cell',
      async (_what, outdate) => {
        const ledger = await make()
        const first = await filled(ledger)
        const [head, truth] = [await first.head(), await first.truth()]
        expect([...truth.cells.keys()].some(isCommitted)).toBe(true)
        await first.close()
        await ledger.tamper(
          `${outdate(ledger.truth)}; DELETE FROM ${ledger.truth} WHERE key LIKE '% B'; UPDATE ${ledger.truth} SET cell = replace(cell, '"clusters":', '"clusters":1')`,
        )
        const second = await ledger.open()
        expect(sameTruth(await second.truth(), truth)).toBe(true)
        expect(await second.head()).toEqual(head)
        expect(await second.verify()).toMatchObject({ kind: 'intact', entries: head.size })
        // It goes on from there: what is ingested next is added to the new count.
        const corrected = sampleObservation({
          event: sampleEvent({ path: 'soccer/match-1' }),
          outcomes: scored(9, 9),
        })
        await second.ingest(sampleBatch([corrected]))
        expect(await second.verify()).toMatchObject({ kind: 'intact', entries: head.size + 1 })
      },
    )

    test('a cell that only an older version had is gone after the recount', async () => {
      const ledger = await make()
      const first = await filled(ledger)
      const truth = await first.truth()
      await first.close()
      await ledger.tamper(
        `UPDATE ${ledger.truth} SET key = 'mechanical fair gone B' WHERE key = 'mechanical fair all B'; UPDATE ${ledger.truth} SET cell = '1' WHERE key = '${TRUTH_RULES_KEY}'`,
      )
      expect(sameTruth(await (await ledger.open()).truth(), truth)).toBe(true)
      // The next process reads it as it was written.
      expect(sameTruth(await (await ledger.open()).truth(), truth)).toBe(true)
    })

    test('of processes that open an outdated ledger at once, all have the same count', async () => {
      const ledger = await make()
      const first = await filled(ledger)
      const truth = await first.truth()
      await first.close()
      await ledger.tamper(
        `UPDATE ${ledger.truth} SET cell = '1' WHERE key = '${TRUTH_RULES_KEY}'; DELETE FROM ${ledger.truth} WHERE key LIKE '% C'`,
      )
      const stores = await Promise.all([ledger.open(), ledger.open(), ledger.open()])
      for (const store of stores) expect(sameTruth(await store.truth(), truth)).toBe(true)
      expect(await stores[0].verify()).toMatchObject({ kind: 'intact' })
    })
  })
}
