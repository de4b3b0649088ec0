/** Free calls of the service's own public API. */

/** @typedef {import('../../wire/calibration.ts').CalibrationAnswer} CalibrationAnswer */
/** @typedef {import('../../wire/coverage.ts').CoverageAnswer} CoverageAnswer */

/**
 * Sends JSON. The answer's body is read whatever its status is.
 *
 * @param {string} path
 * @param {unknown} body
 * @param {Record<string, string>} [headers]
 */
export function post(path, body, headers = {}) {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
    cache: 'no-store',
  })
}

/**
 * The truth table. Throws where the service does not answer.
 *
 * @param {Record<string, string>} filters
 * @returns {Promise<CalibrationAnswer>}
 */
export async function readCalibration(filters) {
  const answer = await post('/api/calibration', { filters })
  if (!answer.ok) throw new Error(`calibration answered ${answer.status}`)
  return answer.json()
}

/**
 * Whether a market can be graded, or what fits a few words. `invalid` carries the service's word on what was asked.
 *
 * @param {Record<string, string>} query
 * @returns {Promise<{ kind: 'covered', coverage: CoverageAnswer } | { kind: 'invalid', expected: string } | { kind: 'failed' }>}
 */
export async function readCoverage(query) {
  const answer = await post('/api/coverage', query).catch(() => undefined)
  if (answer === undefined) return { kind: 'failed' }
  const body = await answer.json().catch(() => undefined)
  if (answer.ok && body !== undefined) return { kind: 'covered', coverage: body }
  const expected = body?.issues?.[0]?.expected
  return typeof expected === 'string' ? { kind: 'invalid', expected } : { kind: 'failed' }
}
