// What the tests of the evidence share: where prices come from, when, and a ledger that received them.
import { calibrationAnswer } from '../domain/calibration/calibration.ts'
import { writeCell } from '../domain/calibration/truth-table.ts'
import type { Observation } from '../domain/closes/observation.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { createGraderFixture } from './grader.fixture.ts'
import { START_SECONDS, sampleBatch, sampleObservation, samplePrices } from './samples.fixture.ts'

export const HIDDEN = { feed: 'the-odds-api', isRedistributable: false, isSynthetic: false }
export const UPLOAD = { feed: 'manual', isRedistributable: false, isSynthetic: false }

export const BEFORE = START_SECONDS - 100_000
export const AFTER = START_SECONDS + 7_200

export const early = samplePrices({
  odds: { home: '2.2', draw: '3.4', away: '3.6' },
  capturedAtSeconds: BEFORE,
})

/** What the ledger has after observations of one feed, each received at its time. */
export async function openLedger(
  feed: FeedInfo,
  ...steps: readonly (readonly [atSeconds: number, seen: Partial<Observation>])[]
) {
  const fixture = createGraderFixture()
  for (const [receivedAtSeconds, seen] of steps)
    await fixture.store.ingest(sampleBatch([sampleObservation(seen)], { feed, receivedAtSeconds }))
  const tables = async () => {
    const { cells } = await fixture.store.truth()
    return JSON.stringify([...cells].map(([key, cell]) => `${key} ${writeCell(cell)}`).toSorted())
  }
  const counted = async (population: 'mechanical' | 'committed') => {
    const { columns } = await calibrationAnswer(fixture.store, { population, basis: 'fair' })
    return columns[0]?.total.n
  }
  return { ...fixture, tables, counted }
}
