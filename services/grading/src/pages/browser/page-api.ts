/** Free calls to the service's own public API. */
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

/**
 * Size, root and signer of a signed checkpoint (a C2SP note); undefined for any other text. Signatures are not verified
 * here: a reader who trusts this service needs no proof, and one who does not cannot trust its page.
 */
export function parseCheckpoint(note: string) {
  const [origin, size, root, blank, ...signatures] = note.split('\n')
  const signer = /^— (\S+) \S+$/.exec(signatures[0] ?? '')?.[1]
  if (!origin || !/^\d+$/.test(size ?? '') || !root || blank !== '' || signer === undefined)
    return undefined
  return { size: Number(size), root, signer }
}

export async function readCheckpoint() {
  const answer = await fetch('/api/ledger/checkpoint', { cache: 'no-store' })
  return answer.ok ? parseCheckpoint(await answer.text()) : undefined
}
