import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture } from '../testing/http.fixture.ts'
import { uploadExample } from '../wire/examples.ts'

let fixture: HttpFixture
beforeEach(async () => {
  fixture = await createHttpFixture()
  // After the match, so that its close can be uploaded.
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterEach(() => fixture.app.close())

const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
  fixture.app.inject({ method: 'POST', url, payload, headers })
const upload = (payload: object = uploadExample, token = fixture.token()) =>
  post('/api/ingest', payload, { authorization: `Bearer ${token}` })
const readError = (answer: { json(): { error?: string } }) => answer.json().error

describe('G8: uploads', () => {
  test('repeated bytes are not read', async () => {
    expect((await upload()).json()).toMatchObject({ repeated: false, events: 1 })
    expect((await upload()).json()).toMatchObject({ repeated: true, events: 0 })
  })

  test.each([
    { row: 'no token', header: undefined, says: 'bearer token required' },
    { row: 'another scheme', header: 'Basic eDp5', says: 'bearer token required' },
    { row: 'no token at all', header: 'Bearer x', says: 'malformed' },
  ])('401: $row', async ({ header, says }) => {
    const answer = await post('/api/ingest', uploadExample, header ? { authorization: header } : {})
    expect([answer.statusCode, answer.json()]).toEqual([
      401,
      { error: 'invalid_token', error_description: says },
    ])
    expect(answer.headers['www-authenticate']).toContain('Bearer realm="grading"')
  })

  test('401 for another audience or another service’s type of token, 403 without the scope, and nothing is written', async () => {
    const elsewhere = await upload(
      uploadExample,
      fixture.token({ audience: 'https://other.example' }),
    )
    expect(elsewhere.json().error_description).toBe('wrong_audience')
    for (const typ of ['care+jwt', 'JWT', 'grading+jwt2', '']) {
      const foreign = await upload(uploadExample, fixture.token({ typ }))
      expect([foreign.statusCode, foreign.json().error_description]).toEqual([401, 'wrong_type'])
    }
    const unscoped = await upload(uploadExample, fixture.token({ scope: 'care.read' }))
    expect([unscoped.statusCode, readError(unscoped)]).toEqual([403, 'insufficient_scope'])
    expect((await fixture.store.head()).size).toBe(0)
  })

  test('400 with the field, 413 over the limit, 415 for another type', async () => {
    const refused = await upload({ events: [{ event: 'x' }] })
    expect([refused.statusCode, refused.json().issues[0].field]).toEqual([
      400,
      'body.events[0].event',
    ])
    const authorization = `Bearer ${fixture.token()}`
    const send = (payload: string, type: string) =>
      fixture.app.inject({
        method: 'POST',
        url: '/api/ingest',
        payload,
        headers: { authorization, 'content-type': type },
      })
    expect(readError(await send('{', 'application/json'))).toBe('malformed_json')
    expect(readError(await send('Div,Date', 'text/csv'))).toBe('unsupported_media_type')
    const long = `{"source":"${'x'.repeat(9_000_000)}"}`
    expect(readError(await send(long, 'application/json'))).toBe('payload_too_large')
  })
})
