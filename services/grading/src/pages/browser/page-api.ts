/** Free calls to the service's own public API. */
import { readCheckpoint as checkpointIn } from '@tallystick/service-kit/browser'
import type { CalibrationAnswer } from '../../wire/calibration.ts'
import type { CoverageAnswer } from '../../wire/coverage.ts'

/** Sends JSON. The answer's body is read whatever its status. */
export function post(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
    cache: 'no-store',
  })
}

/** The truth table. Throws if the service does not answer. */
export async function readCalibration(
  filters: Readonly<Record<string, string>>,
): Promise<CalibrationAnswer> {
  const answer = await post('/api/calibration', { filters })
  if (!answer.ok) throw new Error(`calibration answered ${answer.status}`)
  return answer.json()
}

/** `invalid` carries the service's issues with the request. */
type CoverageReading =
  | { readonly kind: 'covered'; readonly coverage: CoverageAnswer }
  | { readonly kind: 'invalid'; readonly expected: string }
  | { readonly kind: 'failed' }

/** Whether a market can be graded, or which events match a few words. */
export async function readCoverage(
  query: Readonly<Record<string, string>>,
): Promise<CoverageReading> {
  const answer = await post('/api/coverage', query).catch(() => undefined)
  if (answer === undefined) return { kind: 'failed' }
  const body = await answer.json().catch(() => undefined)
  if (answer.ok && body !== undefined) return { kind: 'covered', coverage: body }
  const expected = body?.issues?.[0]?.expected
  return typeof expected === 'string' ? { kind: 'invalid', expected } : { kind: 'failed' }
}

/** An answer of the service. Throws if it gives none. */
export async function answerOf(path: string): Promise<Response> {
  const answer = await fetch(path, { cache: 'no-store' })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer
}

/** Size, root and signer of the ledger's checkpoint; undefined if there is none. */
export async function readCheckpoint() {
  const answer = await answerOf('/api/ledger/checkpoint').catch(() => undefined)
  return answer && checkpointIn(await answer.text())
}
