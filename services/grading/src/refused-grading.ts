/** What grading is while its ledger is put back: `/ready` says so, and nothing is graded, sold or charged. */
import type { RefusedStart } from '@tallystick/service-kit'
import { GRADING_VERSION } from './app.ts'
import { GradingStoreBehind } from './domain/closes/grading-store.ts'
import { errorAnswer } from './errors.ts'

/** What is served in its place if the ledger falls short of its own last checkpoint. */
export function refusedGrading(error: unknown): RefusedStart | undefined {
  if (!(error instanceof GradingStoreBehind)) return undefined
  return {
    name: 'tallystick-grading',
    version: GRADING_VERSION,
    check: 'ledger',
    sentence: error.message,
    answer: errorAnswer('store_behind', { details: { message: error.message } }),
  }
}
