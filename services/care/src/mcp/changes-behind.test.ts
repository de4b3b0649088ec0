// C26: `changes_since` goes by the order of writing. Nothing is skipped between two calls, and the cursor tells nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  BOTH,
  type ClientSession,
  type McpFixture,
  START_MS,
  startMcp,
  USER,
} from './mcp.fixture.ts'

type Changes = {
  readonly revisions: number
  readonly changed: readonly {
    readonly uri: string
    readonly value: string
    readonly previousValue: string | null
    readonly withdrawn: readonly string[]
    readonly retraction?: string
  }[]
  readonly cursor: string
  readonly truncated: boolean
}

let fixture: McpFixture
beforeEach(async () => {
  fixture = await startMcp({ limits: { pageVersions: 3, unheardMs: 60_000 } })
})
afterEach(() => fixture.close())

const callTool = async (by: ClientSession, cursor?: string) =>
  await by.result('tools/call', {
    name: 'changes_since',
    arguments: cursor === undefined ? {} : { cursor },
  })
const changes = async (by: ClientSession, cursor?: string): Promise<Changes> =>
  (await callTool(by, cursor))['structuredContent'] as Changes
const tea = (value: string) => fixture.write({ domain: 'tea', value })
const plan = (value: string) => fixture.write({ domain: 'plan', audience: 'assistant', value })

describe('C26: changes_since', () => {
  it('tells what changed behind its cursor: what held then, what holds now, and what to take back (C29)', async () => {
    const host = await fixture.open(USER)
    const nothing = await changes(host)
    expect(nothing).toMatchObject({ revisions: 0, changed: [], truncated: false })
    await tea('One sugar.')
    const { cursor } = await changes(host, nothing.cursor)
    expect(await changes(host, cursor)).toMatchObject({ changed: [], cursor })
    await tea('Two sugars.')
    await tea('No sugar.')
    expect(await changes(host, cursor)).toMatchObject({
      revisions: 2,
      truncated: false,
      changed: [
        {
          uri: 'care://ann/tea',
          value: 'No sugar.',
          previousValue: 'One sugar.',
          withdrawn: ['One sugar.', 'Two sugars.'],
          retraction: expect.stringContaining('One sugar.'),
        },
      ],
    })
  })

  it('goes by the order of writing, whatever the clock does', async () => {
    const host = await fixture.open(USER)
    await tea('One sugar.')
    const { cursor } = await changes(host)
    Object.assign(fixture.clock, { unixMs: () => START_MS - 3_600_000 })
    await tea('No sugar.')
    expect((await changes(host, cursor)).changed).toHaveLength(1)
  })

  it('says truncated where an answer does not hold everything, and its cursor goes on there', async () => {
    const host = await fixture.open(BOTH)
    for (const value of ['one', 'two', 'three', 'four']) await tea(value)
    await plan('Watch for falls.')
    const first = await changes(host)
    // The newest value is what holds, on whatever page.
    expect(first).toMatchObject({ revisions: 3, truncated: true, changed: [{ value: 'four' }] })
    const second = await changes(host, first.cursor)
    expect(second).toMatchObject({ revisions: 2, truncated: false })
    expect(second.changed.map(({ uri }) => uri)).toEqual([
      'care://ann/tea',
      'care-internal://ann/plan',
    ])
    const text = (await callTool(host))['content'] as { readonly text: string }[]
    expect(text[0]?.text).toContain(`There is more: ask again at once with cursor ${first.cursor}`)
  })

  it('C29: what it tells counts as heard', async () => {
    const host = await fixture.open(USER)
    await tea('One sugar.')
    await tea('No sugar.')
    await changes(host)
    fixture.clock.advanceMs(60_000)
    expect(fixture.endpoint.unheard()).toEqual([])
  })

  it('its cursor moves with what its reader may see, and with nothing else', async () => {
    const [user, household] = [await fixture.open(USER), await fixture.open('care.read.user:ann')]
    await tea('One sugar.')
    const before = [await changes(user), await changes(household)]
    await plan('Watch for falls.')
    expect(await changes(user)).toEqual(before[0])
    await fixture.write({ patient: 'bo', domain: 'tea' })
    expect(await changes(household)).toEqual(before[1])
    expect((await changes(user, before[0]?.cursor)).changed).toHaveLength(1)
  })

  it.each([
    ['that is none', 'x'],
    ['of another shape', Buffer.from('[null]').toString('base64url')],
    [
      'that names a version which was never written',
      Buffer.from('[["care://ann/tea/9","0000000000000000"],null]').toString('base64url'),
    ],
    [
      'that names what its reader may not see',
      Buffer.from('[null,["care-internal://ann/plan/1","0000000000000000"]]').toString('base64url'),
    ],
    [
      'of a store that was put back, in which another version stands in its place',
      Buffer.from('[["care://ann/tea/1","0000000000000000"],null]').toString('base64url'),
    ],
  ])('a cursor %s is refused, and all such alike', async (_, cursor) => {
    await tea('One sugar.')
    await plan('Watch for falls.')
    expect(await callTool(await fixture.open(USER), cursor)).toEqual({
      content: [{ type: 'text', text: 'arguments.cursor: unknown cursor' }],
      isError: true,
    })
  })
})
