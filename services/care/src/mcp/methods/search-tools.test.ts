// C26: `search`, `fetch` and `changes_since`, as hosts ask for them: the object, and the same as the one text.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernCalls } from '../edges/modern.fixture.ts'
import { ASSISTANT, BOTH, type McpFixture, USER } from '../mcp.fixture.ts'
import { startMethods } from './methods.fixture.ts'
import { scoreRecord } from './record-search.ts'

let fixture: McpFixture
beforeAll(async () => {
  ;({ fixture } = await startMethods({ limits: { pageChains: 2, searchChainsMax: 4 } }))
})
afterAll(() => fixture.close())

const { call } = modernCalls(() => fixture)
type Called = {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly _meta: Record<string, unknown>
}
const callTool = async (name: string, input: object, scope = BOTH): Promise<Called> =>
  (await call(scope, 'tools/call', { name, arguments: input })).body.result as Called
const found = async (query: string, scope = BOTH) =>
  (await callTool('search', { query }, scope)).structuredContent?.['results'] as {
    readonly id: string
    readonly title: string
    readonly url: string
  }[]
const listIds = async (query: string, scope = BOTH) =>
  (await found(query, scope)).map(({ id }) => id)

describe('C26: search', () => {
  it('gives id, title and url, as the object and as exactly one text', async () => {
    const answer = await callTool('search', { query: 'What does Ann take in her tea?' })
    const results = [
      {
        id: 'care://ann/tea',
        title: 'tea of ann',
        url: 'http://care.test/verify?uri=care%3A%2F%2Fann%2Ftea',
      },
    ]
    expect(answer.structuredContent).toMatchObject({ results: expect.arrayContaining(results) })
    expect((await found('What does Ann take in her tea?'))[0]).toEqual(results[0])
    expect(answer.content).toEqual([
      { type: 'text', text: JSON.stringify(answer.structuredContent) },
    ])
  })

  it('finds by patient, topic and current text, never by a value that was withdrawn', async () => {
    expect(await listIds('sugar')).toEqual(['care://ann/tea'])
    expect(await listIds('one')).toEqual([])
    expect(await listIds('WEIGHT')).toEqual(['care://ann/weight'])
    expect(await listIds('')).toEqual([])
    expect(await listIds('Odd names')).toEqual(['care://Bo%20%C3%96./50%25%3F'])
  })

  it('an internal record is found by its scope alone, and has no url', async () => {
    expect(await found('falls')).toEqual([
      { id: 'care-internal://ann/plan', title: 'plan of ann', url: '' },
    ])
    expect(await listIds('falls', ASSISTANT)).toEqual(['care-internal://ann/plan'])
    expect(await listIds('falls plan ann', USER)).not.toContain('care-internal://ann/plan')
    expect(await listIds('ann', 'care.read.user:bo')).toEqual([])
  })

  it('says that it did not look at everything; a query that names its patient looks at the right ones', async () => {
    await fixture.write({ patient: 'zoe', domain: 'tea', value: 'Milk.' })
    expect((await callTool('search', { query: 'milk' }))._meta).toMatchObject({
      'care/truncated': true,
    })
    expect(await listIds('zoe milk')).toEqual(['care://zoe/tea'])
    expect(await listIds('Zoe milk')).toEqual(['care://zoe/tea'])
  })

  it.each([
    [['medication'], 'Takes her medications.', 1],
    [['tea'], 'A team.', 0],
    [['café'], 'The cafe\u0301.', 1],
  ])('%j in %j scores %d', (requested, value, score) => {
    expect(scoreRecord(requested, { name: 'x', value })).toBe(score)
  })
})

describe('fetch', () => {
  it('gives what a read says, what to say before it, and facts as texts', async () => {
    const answer = await callTool('fetch', { id: 'care://ann/tea/2' })
    expect(answer.structuredContent).toEqual({
      id: 'care://ann/tea',
      title: 'tea of ann',
      text: expect.stringMatching(
        /^Version 2 was replaced by version 3\..*\nNo sugar\.\n\[changed/,
      ),
      url: 'http://care.test/verify?uri=care%3A%2F%2Fann%2Ftea',
      metadata: {
        patient: 'ann',
        domain: 'tea',
        audience: 'user',
        version: '2',
        latestVersion: '3',
        authorLabel: 'Dr Amara',
        writtenAt: '2026-11-21T12:00:00.000Z',
        age: '[changed 0d ago by Dr Amara]',
      },
    })
    expect(answer.content).toEqual([
      { type: 'text', text: JSON.stringify(answer.structuredContent) },
    ])
  })

  it('a stale record says its age', async () => {
    const { structuredContent } = await callTool('fetch', { id: 'care://ann/weight' })
    expect(structuredContent?.['text']).toContain('[STALE — ')
  })

  it('an unknown and an unreadable id are one answer', async () => {
    const answers = []
    for (const id of [
      'care-internal://ann/plan',
      'care://ann/absent',
      'care://x',
      'ui://care/echo',
    ])
      answers.push(JSON.stringify(await callTool('fetch', { id }, USER)))
    expect(new Set(answers).size).toBe(1)
    expect(JSON.parse(answers[0] ?? '')).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Resource not found' }],
    })
  })
})
