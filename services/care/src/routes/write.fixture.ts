// Writes as clients send them to an in-memory service: signed, with a bearer token, early or late.
import type { LightMyRequestResponse } from 'fastify'
import { type CareFixture, joinSignature } from '../testing/care.fixture.ts'

export const body = {
  patient: 'ann',
  domain: 'medication',
  value: 'Take one tablet at breakfast.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
}
/** The current time of a fixture that was just started. */
export const NOW = '2026-11-21T12:00:00.000Z'

type Headers = Readonly<Record<string, string>>

type Answer = Promise<LightMyRequestResponse>

type WriteRequests = {
  readonly post: (headers: Headers, payload?: string | Buffer) => Answer
  readonly signed: (payload: string | Buffer, over?: Headers) => Answer
  readonly bearer: (scope: string, payload?: string, claims?: object) => Answer
  /** A signed write whose timestamp is that far from the service's clock. */
  readonly atSecond: (offsetSeconds: number) => Answer
}

/** Requests to the fixture of the running test. */
export function writesTo(fixture: () => CareFixture): WriteRequests {
  const post: WriteRequests['post'] = (headers, payload = JSON.stringify(body)) =>
    fixture().app.inject({ method: 'POST', url: '/write', payload, headers })
  const signedAt = (timestamp: string, payload: string | Buffer, over: Headers = {}) =>
    post(
      {
        'x-care-signature': joinSignature({ timestamp, body: payload }),
        'x-care-timestamp': timestamp,
        ...over,
      },
      payload,
    )
  return {
    post,
    signed: (payload, over) => signedAt(NOW, payload, over),
    bearer: (scope, payload = JSON.stringify(body), claims = {}) =>
      post({ authorization: `Bearer ${fixture().token(scope, claims)}` }, payload),
    atSecond: (offsetSeconds) => {
      const timestamp = new Date(Date.parse(NOW) + offsetSeconds * 1_000).toISOString()
      return signedAt(timestamp, JSON.stringify(body))
    },
  }
}
