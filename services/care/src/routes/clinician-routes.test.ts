// C29 and C36: what a clinician, and nobody else, sees of corrections that nobody has heard, and of who does not listen.
import { createTokenKeys, createTokenVerifier, mintToken } from '@tallystick/jwt-lite'
import { createServiceApp, manualClock, type ServiceApp } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BASE_URL, RESOURCE } from '../testing/care.fixture.ts'
import { addClinicianRoutes } from './clinician-routes.ts'

const clock = manualClock(Date.UTC(2026, 10, 21, 12))
const key = createTokenKeys([Buffer.from('token-secret-for-tests-0123456789abcdef')])
const corrections = ['heron', 'wren'].map((patient) => ({
  uri: `care://${patient}/tea`,
  version: 2,
  since: '2026-11-21T11:00:00.000Z',
}))
const [herons, wrens] = corrections
const silent = [
  {
    sub: 'heron-tablet',
    sinceMs: clock.unixMs() - 61_000,
    uris: [
      'care://heron/tea',
      'care://heron/tea/1',
      'care-internal://heron/plan',
      'ui://care/echo',
    ],
  },
]
const silentWith = (...uris: readonly string[]) => [
  { sub: 'heron-tablet', since: '2026-11-21T11:58:59.000Z', records: uris.length, uris },
]

let app: ServiceApp
beforeAll(async () => {
  const tokens = createTokenVerifier({ keys: key, audience: RESOURCE, clock })
  app = await createServiceApp({
    name: 'care',
    version: '0.0.0',
    description: 'test',
    clock,
    cors: false,
    routes(scope) {
      addClinicianRoutes(scope, {
        tokens,
        metadataUrl: `${BASE_URL}/metadata`,
        serviceName: 'care',
        ownLabel: undefined,
        minutes: 60,
        corrections: () => corrections,
        silentSeconds: 60,
        silent: () => silent,
      })
    },
  })
})
afterAll(() => app.close())

const nowSeconds = clock.unixMs() / 1_000
const bearer = (scope: string): string =>
  `Bearer ${mintToken({ sub: 'ada', scope, audience: RESOURCE, typ: 'care+jwt', key, nowSeconds, jti: '1' })}`
const get = (authorization?: string) =>
  app.inject({ url: '/unheard', headers: authorization === undefined ? {} : { authorization } })

describe('200', () => {
  test.each([
    ['care.write', [herons, wrens]],
    ['care.read.user', [herons, wrens]],
    ['care.read.assistant', []],
    ['care.write:heron', [herons]],
    ['care.read.user:wren openid', [wrens]],
    ['openid', []],
  ])('C24: with %s, what it may read or write', async (scope, seen) => {
    const answer = await get(bearer(scope))
    expect([answer.statusCode, answer.json()]).toMatchObject([
      200,
      { minutes: 60, corrections: seen, silentSeconds: 60 },
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
  })
})

test.each([
  ['care.write', silentWith('care://heron/tea')],
  ['care.write:heron', silentWith('care://heron/tea')],
  ['care.write care.read.assistant', silentWith('care://heron/tea', 'care-internal://heron/plan')],
  ['care.write:wren', []],
  ['care.read.user care.read.assistant', []],
])('C36: silent sessions are shown to who may write what they follow: %s', async (scope, seen) => {
  expect((await get(bearer(scope))).json().silent).toEqual(seen)
})

describe('401', () => {
  test.each([undefined, 'Bearer nonsense'])('a missing or invalid token: %s', async (presented) => {
    const answer = await get(presented)
    expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_token'])
  })
})
