import { openNote } from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CareFixture, startCareFixture } from '../testing/care.fixture.ts'
import { medication, plan } from './verify.fixture.ts'

let fixture: CareFixture
beforeEach(async () => {
  fixture = await startCareFixture()
  await fixture.write(medication)
  await fixture.write({ ...medication, value: 'Two tablets.' })
  await fixture.write(plan)
})
afterEach(() => fixture.close())

const withToken = (scope: string) => ({ authorization: `Bearer ${fixture.token(scope)}` })
const listLines = (body: string): { kind: string; uri?: string }[] =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
const listUris = (body: string) =>
  listLines(body)
    .filter(({ kind }) => kind === 'version')
    .map(({ uri }) => uri)

describe('GET /verify/export', () => {
  test('200: NDJSON of what the scopes read', async () => {
    const answer = await fixture.get('/verify/export', withToken('care.read.user'))
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(listUris(answer.body)).toEqual(['care://ann/medication/1', 'care://ann/medication/2'])
    expect(answer.body).not.toContain('assistant')
    const both = await fixture.get(
      '/verify/export',
      withToken('care.read.user care.read.assistant'),
    )
    expect(listUris(both.body)).toContain('care-internal://ann/plan/1')
    const internal = await fixture.get('/verify/export', withToken('care.read.assistant'))
    expect(listUris(internal.body)).toEqual(['care-internal://ann/plan/1'])
  })

  test('200 with a uri: that chain', async () => {
    await fixture.write({ ...medication, domain: 'diet' })
    const answer = await fixture.get(
      '/verify/export?uri=care://ann/medication/1',
      withToken('care.read.user'),
    )
    expect(listUris(answer.body)).toEqual(['care://ann/medication/1', 'care://ann/medication/2'])
  })

  test('401: it holds records, so a token is required', async () => {
    const answer = await fixture.get('/verify/export?uri=care://ann/medication')
    expect(answer.statusCode).toBe(401)
    expect(answer.json()).toMatchObject({ error_description: 'bearer token required' })
  })

  test('403 insufficient_scope: a token that may read nothing', async () => {
    const answer = await fixture.get('/verify/export', withToken('care.write'))
    expect([answer.statusCode, answer.body]).toEqual([403, '{"error":"insufficient_scope"}'])
  })

  test('404: neither scope replaces the other', async () => {
    const answer = await fixture.get(
      '/verify/export?uri=care://ann/medication',
      withToken('care.read.assistant'),
    )
    expect(answer.statusCode).toBe(404)
  })
})

describe('GET /verify/checkpoint', () => {
  test('200: a signed note of the user journal, public, with its key in a header', async () => {
    const answer = await fixture.get('/verify/checkpoint')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
    const verifierKey = String(answer.headers['x-checkpoint-key'])
    const opened = openNote({ note: answer.body, verifierKey })
    expect(opened.kind === 'opened' && opened.text.split('\n')[1]).toBe('2')
  })

  test('that of the assistant journal needs its scope', async () => {
    const url = '/verify/checkpoint?journal=assistant'
    expect((await fixture.get(url)).statusCode).toBe(401)
    expect((await fixture.get(url, withToken('care.read.user'))).json()).toEqual({
      error: 'insufficient_scope',
    })
    const answer = await fixture.get(url, withToken('care.read.assistant'))
    expect(answer.statusCode).toBe(200)
    expect(answer.body.split('\n')[1]).toBe('1')
  })

  test('400: there are two journals', async () => {
    const answer = await fixture.get('/verify/checkpoint?journal=third')
    expect(answer.statusCode).toBe(400)
    expect(answer.json().issues).toEqual([
      { field: 'query.journal', expected: 'user or assistant' },
    ])
  })
})
