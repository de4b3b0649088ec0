/**
 * The card that the pages show before anybody has paid: the reference's own example, put through the functions that grade
 * paid picks. Its match and prices are made up, and the pages say so.
 */
import { parseOdds } from '@tallystick/odds'
import { advanceEvent } from '../domain/advance-event.ts'
import { gradePick } from '../domain/grade-pick.ts'
import { knownMarket } from '../domain/parse-market.ts'
import { DEFAULT_GRADE_OPTIONS } from '../domain/pick-request.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import { normaliseManualUpload } from '../ingest/manual-upload.ts'
import type { Card } from '../wire/cards.ts'
import { gradeExample, uploadExample } from '../wire/examples.ts'
import { isoSeconds } from '../wire/times.ts'
import { uploadSchema } from '../wire/upload.ts'

/** A day after the example's match. */
const SECONDS_PER_DAY = 86_400

export function exampleCard(): Card {
  const upload = uploadSchema.parse(uploadExample)
  const receivedAtSeconds = (isoSeconds(upload.events[0]?.starts_at ?? '') ?? 0) + SECONDS_PER_DAY
  const { feed, observations } = normaliseManualUpload(upload, receivedAtSeconds)
  const [observation] = observations
  const odds = parseOdds(gradeExample.pick.odds)
  const parsed = knownMarket(gradeExample.pick)
  if (observation === undefined || odds.kind !== 'odds' || parsed.kind !== 'market')
    throw new Error('the example is malformed')
  let seq = 0
  const { state } = advanceEvent({
    state: undefined,
    picks: () => [],
    observation,
    batch: { feed, receivedAtSeconds, rawSha256: '' },
    tally: new TruthTally(),
    append: () => {
      seq += 1
      return { seq, hash: '' }
    },
  })
  const { key, selection } = parsed
  return gradePick(
    { kind: 'pick', key, selection, odds, options: DEFAULT_GRADE_OPTIONS },
    {
      state,
      calibration: ({ band, basis }) => ({
        band,
        basis,
        population: 'mechanical',
        scope: 'all',
        n: 0,
        roi: null,
        roi_ci95: null,
        expected_roi: null,
        low_sample: true,
        as_of_seq: 0,
      }),
    },
  )
}
