// C26: `changes_since` goes by the order of writing. Nothing is skipped between two calls, and the cursor tells nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  BOTH,
  type ClientSession,
  type McpFixture,
  START_MS,
  startMcp,
  USER,
} from '../mcp.fixture.ts'

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

  it('a reader who gains a scope is told of what it hid, from its beginning', async () => {
    const host = await fixture.open(USER)
    await plan('Watch for falls.')
    await tea('One sugar.')
    const { cursor } = await changes(host)
    const { changed } = await changes(await fixture.open(BOTH), cursor)
    expect(changed.map(({ uri }) => uri)).toEqual(['care-internal://ann/plan'])
  })

  it('its cursor says nothing, and what is told by it comes in the order of all commits', async () => {
    const host = await fixture.open(BOTH)
    await plan('Watch for falls.')
    await tea('One sugar.')
    const { changed, cursor } = await changes(host)
    expect(changed.map(({ uri }) => uri)).toEqual(['care-internal://ann/plan', 'care://ann/tea'])
    // One block: as long as any other, whatever was told.
    expect(cursor).toMatch(/^[\w-]{22}$/)
  })

  const refused = {
    content: [{ type: 'text', text: 'arguments.cursor: unknown cursor' }],
    isError: true,
  }

  it.each([
    ['that is none', 'x'],
    ['that names a record', Buffer.from('care://ann/tea/1').toString('base64url')],
    ['that nobody gave', 'a'.repeat(21) + 'A'],
  ])('a cursor %s is refused, and all such alike', async (_, cursor) => {
    await tea('One sugar.')
    await plan('Watch for falls.')
    expect(await callTool(await fixture.open(USER), cursor)).toEqual(refused)
  })

  it('a cursor of a store that was put back is refused, whether its place is missing or another version stands there', async () => {
    const host = await fixture.open(USER)
    await tea('One sugar.')
    const { cursor } = await changes(host)
    const leafAt = fixture.store.leafAt.bind(fixture.store)
    fixture.store.leafAt = async () => undefined
    expect(await callTool(host, cursor)).toEqual(refused)
    const hash = '0'.repeat(64)
    fixture.store.leafAt = async (_, leaf) => ({ leaf, place: leaf, hash })
    expect(await callTool(host, cursor)).toEqual(refused)
    fixture.store.leafAt = leafAt
    expect((await changes(host, cursor)).changed).toEqual([])
  })
})
