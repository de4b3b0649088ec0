// Tools as C12 words them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientSession, McpFixture } from '../mcp.fixture.ts'
import { readCode, startMethods } from './methods.fixture.ts'

let fixture: McpFixture
let session: ClientSession
let user: ClientSession
beforeAll(async () => {
  ;({ fixture, session, user } = await startMethods())
})
afterAll(() => fixture.close())

const callTool = async (name: string, input: object, by = session) =>
  (await by.result('tools/call', { name, arguments: input })) as {
    isError?: boolean
    content: { text: string }[]
    structuredContent?: Record<string, unknown>
  }

const listedUris = async (by: ClientSession): Promise<string[]> => {
  const { structuredContent } = await callTool('list_records', { patient: 'ann' }, by)
  const { records } = structuredContent as { records: { uri: string }[] }
  return records.map(({ uri }) => uri)
}

describe('C12: tools', () => {
  it('are read-only, with schemas, always in one order, and the card bound by openai/outputTemplate and _meta.ui.resourceUri', async () => {
    const { tools } = (await session.result('tools/list')) as unknown as {
      tools: { name: string; description: string; annotations: object; _meta?: object }[]
    }
    expect(tools.map(({ name }) => name)).toEqual([
      'list_records',
      'read_record',
      'whats_changed',
      'changes_since',
      'search',
      'fetch',
    ])
    for (const tool of tools)
      expect(tool).toMatchObject({
        description: expect.any(String),
        inputSchema: { type: 'object' },
        outputSchema: { type: 'object' },
        annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      })
    expect(tools[2]?._meta).toEqual({
      'openai/outputTemplate': 'ui://care/echo',
      ui: { resourceUri: 'ui://care/echo-app' },
    })
  })

  it('list_records lists under the same scopes', async () => {
    expect(await listedUris(session)).toContain('care-internal://ann/plan')
    expect((await listedUris(user)).every((uri) => uri.startsWith('care://'))).toBe(true)
    expect(await listedUris(user)).toContain('care://ann/tea')
  })

  it('read_record reads, with the retraction first', async () => {
    await fixture.write({ domain: 'walk', value: 'Walk.' })
    await fixture.write({ domain: 'walk', value: 'Rest.' })
    const corrected = await callTool('read_record', { uri: 'care://ann/walk' })
    expect(corrected.content[0]?.text).toMatch(/^Correction from Dr Osei.*\nRest\.\n\[changed/)
    const answer = await callTool('read_record', { uri: 'care://ann/tea/2' })
    expect(answer.structuredContent).toMatchObject({
      superseded: 'Version 2 was replaced by version 3. It is now “No sugar.”',
      uri: 'care://ann/tea',
      version: 2,
      latestVersion: 3,
      value: 'No sugar.',
      previousValue: 'One sugar.',
      stale: false,
    })
  })

  it('a hidden and an absent record give the same result', async () => {
    const hidden = await callTool('read_record', { uri: 'care-internal://ann/plan' }, user)
    const absent = await callTool('read_record', { uri: 'care-internal://ann/absent' }, user)
    expect(hidden).toEqual(absent)
    expect(hidden).toMatchObject({ isError: true, content: [{ text: 'Resource not found' }] })
  })

  it('whats_changed reports changes from the current point of view', async () => {
    const { structuredContent } = await callTool('whats_changed', { patient: 'ann' }, user)
    expect(structuredContent).toMatchObject({
      patient: 'ann',
      asOf: new Date(fixture.clock.unixMs()).toISOString(),
    })
    const changed = structuredContent?.['changed'] as { uri: string; withdrawn: string[] }[]
    expect(changed.find(({ uri }) => uri === 'care://ann/tea')).toMatchObject({
      version: 3,
      revisions: 3,
      value: 'No sugar.',
      previousValue: 'No sugar.',
      withdrawn: ['One sugar.'],
    })
    expect(JSON.stringify(changed)).not.toContain('falls')
  })

  it('a call that asks to become a task is answered as any other: tasks are not offered', async () => {
    const call = { name: 'read_record', arguments: { uri: 'care://ann/tea' } }
    for (const task of [{}, { ttl: 60_000 }, 5])
      expect(await session.result('tools/call', { ...call, task })).toEqual(
        await session.result('tools/call', call),
      )
  })

  it('bad arguments give a result that a model can correct; an unknown tool is -32602', async () => {
    for (const [name, passed] of [
      ['read_record', {}],
      ['read_record', { uri: 5 }],
      ['whats_changed', { patient: 'a|b' }],
      ['whats_changed', { patient: 'ann', other: 1 }],
      ['list_records', { cursor: 'x' }],
    ] as const)
      expect(await callTool(name, passed)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^arguments/) }],
      })
    expect(await readCode(session, 'tools/call', { name: 'other' })).toBe(-32602)
    expect(await readCode(session, 'tools/call', {})).toBe(-32602)
  })
})
