import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { createGrader } from '../domain/create-grader.ts'
import type { Grader } from '../domain/grader.ts'
import type { GradingStore } from '../domain/grading-store.ts'
import type { Observation } from '../domain/observation.ts'
import type { PickRequest } from '../domain/pick-request.ts'
import type { Card } from '../wire/cards.ts'
import { createMemoryGradingStore } from './memory-grading-store.ts'
import { START_SECONDS, sampleBatch, sampleObservation } from './sample-events.ts'

/** A grader over a store, with a clock that stands a day before the sample match. */
export type GraderWorld = {
  readonly store: GradingStore
  readonly grader: Grader
  readonly clock: ManualClock
  /** Grades and releases a pick as a payer, as a paid request does; a new payment each time unless one is named. */
  readonly pay: (
    pick: PickRequest,
    by?: { readonly payer?: string; readonly paymentId?: string },
  ) => Promise<Card>
}

const SECONDS_PER_DAY = 86_400

/** Makes the world; random bytes count up, so that they are distinct. */
export function createGraderWorld(store: GradingStore = createMemoryGradingStore()): GraderWorld {
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

/** The world whose ledger has these observations, on the sample match where they name no other. */
export async function worldOf(
  ...observations: readonly Partial<Observation>[]
): Promise<GraderWorld> {
  const world = createGraderWorld()
  await world.store.ingest(sampleBatch(observations.map((one) => sampleObservation(one))))
  return world
}

/** `GRADED`, or why not. */
export const codeOf = (card: Card): string =>
  card.outcome === 'GRADED' ? 'GRADED' : card.reason.code
