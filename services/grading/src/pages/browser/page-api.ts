/** Free calls to the service's own public API. */
import {
  readCheckpoint as checkpointIn,
  fetchInTime,
  Unreachable,
} from '@tallystick/service-kit/browser'
import type { CalibrationAnswer } from '../../wire/calibration.ts'
import type { CoverageAnswer, PreviewAnswer } from '../../wire/coverage.ts'

/** The service answered, but not with what was asked for. */
export class NotAnswered extends Unreachable {
  readonly status: number

  constructor(status: number) {
    super(`The service answered ${status}.`)
    this.status = status
  }
}

const jsonPost = (body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** Sends JSON, and waits as long as a payment takes. The answer's body is read whatever its status. */
export const post = (
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => fetch(path, { ...jsonPost(body, headers), cache: 'no-store' })

/** Drops the members that nobody filled in. */
export const filled = (members: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''))

/** The truth table. Throws {@link Unreachable} if the service does not answer with it. */
export async function readCalibration(
  filters: Readonly<Record<string, string>>,
): Promise<CalibrationAnswer> {
  const answer = await fetchInTime('/api/calibration', jsonPost({ filters }))
  if (!answer.ok) throw new NotAnswered(answer.status)
  return answer.json()
}

/** One fault in a request: where, and what was expected. */
export type Issue = { readonly field: string; readonly expected: string }

/** A free look; `invalid` carries the service's issues with the request, `failed` its status, if any. */
export type Look<Answer> =
  | { readonly kind: 'seen'; readonly answer: Answer }
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] }
  | { readonly kind: 'failed'; readonly status: number | undefined }

/** For a rejection of {@link fetchInTime}: no answer; a fault of the page stays one. */
function nothing(error: unknown): undefined {
  if (!(error instanceof Unreachable)) throw error
}

async function lookAt<Answer>(body: Readonly<Record<string, unknown>>): Promise<Look<Answer>> {
  const answer = await fetchInTime('/api/coverage', jsonPost(body)).catch(nothing)
  const read = await answer?.json().catch(() => undefined)
  if (answer?.ok === true && read !== undefined) return { kind: 'seen', answer: read }
  return Array.isArray(read?.issues)
    ? { kind: 'invalid', issues: read.issues }
    : { kind: 'failed', status: answer?.status }
}

/** Whether a market can be graded, or which events match a few words. */
export const readCoverage = (query: Readonly<Record<string, string>>) =>
  lookAt<CoverageAnswer>(query)

/** What would become of each bet of a record. */
export const previewRecord = (body: Readonly<Record<string, unknown>>) =>
  lookAt<PreviewAnswer>(body)

/** An answer of the service. Throws {@link Unreachable} if it gives none, {@link NotAnswered} for another status. */
export async function fetchAnswer(path: string): Promise<Response> {
  const answer = await fetchInTime(path)
  if (!answer.ok) throw new NotAnswered(answer.status)
  return answer
}

/** Size, root and signer of the ledger's checkpoint; undefined if there is none. */
export async function readCheckpoint() {
  const answer = await fetchAnswer('/api/ledger/checkpoint').catch(nothing)
  return answer && checkpointIn(await answer.text())
}
