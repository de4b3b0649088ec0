/**
 * The card that the pages show before anybody has paid: the reference's own example, put through the functions that grade
 * paid picks. Its match and prices are made up, and the pages say so.
 */

import { DAY_SECONDS, isoSeconds } from '@tallystick/service-kit/clock'
import { createCardFigures } from '../domain/calibration/calibration.ts'
import { emptyTruth } from '../domain/calibration/truth-table.ts'
import { TruthTally } from '../domain/calibration/truth-tally.ts'
import { advanceEvent } from '../domain/closes/advance-event.ts'
import { gradePick } from '../domain/grading/grade-pick.ts'
import { DEFAULT_GRADE_OPTIONS } from '../domain/markets/pick-request.ts'
import { normaliseManualUpload } from '../ingest/manual-upload.ts'
import { readPick } from '../routes/read-picks.ts'
import type { Card } from '../wire/cards.ts'
import { gradeExample, uploadExample } from '../wire/examples.ts'
import { uploadSchema } from '../wire/upload.ts'

/** The card of the documents' example, whose close arrives a day after its match. */
export function exampleCard(): Card {
  const upload = uploadSchema.parse(uploadExample)
  const receivedAtSeconds = (isoSeconds(upload.events[0]?.starts_at ?? '') ?? 0) + DAY_SECONDS
  const { feed, observations } = normaliseManualUpload(upload, receivedAtSeconds)
  const [observation] = observations
  const pick = readPick(gradeExample.pick, {
    field: 'body.pick',
    options: DEFAULT_GRADE_OPTIONS,
  })
  if (observation === undefined || 'issues' in pick || pick.kind !== 'pick')
    throw new Error('the example is malformed')
  const { state } = advanceEvent({
    state: undefined,
    picks: () => [],
    observation,
    batch: { feed, receivedAtSeconds, rawSha256: '' },
    tally: new TruthTally(),
    append: () => ({ seq: 0, hash: '' }),
  })
  return gradePick(pick, { state, calibration: createCardFigures()(emptyTruth()) })
}
