import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import { createGrader, type Grader } from '../domain/grader.ts'
import type { GradingStore } from '../domain/grading-store.ts'
import type { Observation } from '../domain/observation.ts'
import type { PickRequest } from '../domain/pick-request.ts'
import type { Card } from '../wire/cards.ts'
import { START_SECONDS, sampleBatch, sampleObservation } from './samples.fixture.ts'

/** An empty ledger on `:memory:`; its checkpoints are signed by the given Ed25519 seed of 32 bytes. */
export const openMemoryStore = (seed = new Uint8Array(32).fill(7)): GradingStore =>
  openSqliteGradingStore({
    databasePath: ':memory:',
    clock: manualClock(0),
    checkpointSeed: seed,
    origin: 'grading.test/ledger',
  })

/** A grader over a store, with a clock set to a day before the sample match. */
export type GraderFixture = {
  readonly store: GradingStore
  readonly grader: Grader
  readonly clock: ManualClock
  /** Grades and releases a pick for a payer, as a paid request does; each call is a new payment unless one is named. */
  readonly pay: (
    pick: PickRequest,
    by?: { readonly payer?: string; readonly paymentId?: string },
  ) => Promise<Card>
}

const SECONDS_PER_DAY = 86_400

/** Random bytes count up, so that they are distinct. */
export function createGraderFixture(store: GradingStore = openMemoryStore()): GraderFixture {
  const clock = manualClock((START_SECONDS - SECONDS_PER_DAY) * 1_000)
  let drawn = 0
  const grader = createGrader({
    store,
    nowSeconds: () => clock.unixMs() / 1_000,
    random: (bytes) => {
      drawn += 1
      return drawn.toString(16).padStart(bytes * 2, '0')
    },
  })
  let payments = 0
  return {
    store,
    grader,
    clock,
    pay: async (pick, { payer = '0xPayer', paymentId } = {}) => {
      payments += 1
      return grader.release({
        pick,
        card: await grader.grade(pick),
        payer,
        paymentId: paymentId ?? `payment ${payments}`,
        receivedAtSeconds: clock.unixMs() / 1_000,
      })
    },
  }
}

/** With a ledger of these observations, on the sample match unless they name another. */
export async function fixtureOf(
  ...observations: readonly Partial<Observation>[]
): Promise<GraderFixture> {
  const fixture = createGraderFixture()
  await fixture.store.ingest(sampleBatch(observations.map((one) => sampleObservation(one))))
  return fixture
}

/** `GRADED`, or why not. */
export const codeOf = (card: Card): string =>
  card.outcome === 'GRADED' ? 'GRADED' : card.reason.code
