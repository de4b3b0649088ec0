// What changed since a time: the newest value is presented as what holds, whatever the clock did and however much
// changed.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TEA } from '../../domain/record-store.fixture.ts'
import { BOTH, type ClientSession, type McpFixture, START_MS, startMcp } from '../mcp.fixture.ts'

const HOUR_MS = 3_600_000

let fixture: McpFixture
let session: ClientSession
beforeEach(async () => {
  fixture = await startMcp({ isOnDisk: true, limits: { idleMs: 24 * HOUR_MS } })
  session = await fixture.open(BOTH, { lifetimeSeconds: 86_400 })
})
afterEach(() => fixture.close())

const write = (value: string) => fixture.write({ ...TEA, value })
/** Writes versions in this order; as they wait together, many share one commit. */
const writeMany = (count: number, record: (at: number) => Parameters<McpFixture['write']>[0]) =>
  Promise.all(Array.from({ length: count }, (_, at) => fixture.write({ ...TEA, ...record(at) })))
const callWhatsChanged = (since?: number) =>
  session.call('tools/call', {
    name: 'whats_changed',
    arguments: {
      patient: 'ann',
      ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    },
  })
const whatsChanged = async (since?: number) =>
  (await callWhatsChanged(since)).result?.['structuredContent']
type Page = {
  readonly revisions: number
  readonly changed: readonly { readonly uri: string; readonly withdrawn: readonly string[] }[]
  readonly nextCursor?: string
}
const allPages = async (query: object): Promise<readonly Page[]> => {
  const pages: Page[] = []
  let cursor: string | undefined
  do {
    const input = { ...query, ...(cursor === undefined ? {} : { cursor }) }
    const result = await session.result('tools/call', { name: 'whats_changed', arguments: input })
    const page = result['structuredContent'] as Page
    pages.push(page)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return pages
}
/** Sets the service's clock, backwards too. */
const setClock = (unixMs: number): void => {
  Object.assign(fixture.clock, { unixMs: () => unixMs })
}

describe('the newest value is what holds', () => {
  it('even if the clock was set back and its version has an earlier time than the previous one', async () => {
    await write('one')
    setClock(START_MS + 2 * HOUR_MS)
    await write('two')
    setClock(START_MS + HOUR_MS)
    await write('three')
    await write('four')
    expect(await whatsChanged(START_MS + 1.5 * HOUR_MS)).toMatchObject({
      revisions: 3,
      changed: [
        {
          version: 4,
          value: 'four',
          previousValue: 'one',
          revisions: 3,
          corrections: 3,
          withdrawn: ['one', 'two', 'three'],
          retraction: expect.stringContaining('It is now “four”'),
        },
      ],
    })
  })

  it('on every page of an answer that does not fit, even if more versions share one moment than a page holds', async () => {
    await writeMany(1_100, (at) => ({ value: `value ${at + 1}` }))
    const pages = await allPages({ patient: 'ann' })
    expect(pages.map(({ revisions }) => revisions)).toEqual([500, 500, 100])
    for (const { changed } of pages)
      expect(changed).toMatchObject([{ version: 1_100, value: 'value 1100' }])
    const withdrawn = pages.flatMap(({ changed }) => changed.flatMap((each) => each.withdrawn))
    expect(new Set(withdrawn).size).toBe(1_099)
  })

  it('even if versions on the way to it do not hold: those are left out', async () => {
    for (let count = 1; count <= 600; count += 1) {
      fixture.clock.advanceMs(1)
      await write(`value ${count}`)
    }
    await fixture.tamper(TEA, 300, (entry) => entry.replace('value 300', 'value 003'))
    const found = await allPages({ patient: 'ann' })
    expect(found).toMatchObject([
      { changed: [{ version: 600, revisions: 499 }], failed: [] },
      { changed: [{ version: 600, revisions: 100 }], failed: [] },
    ])
    expect(JSON.stringify(found)).not.toMatch(/value 003|value 300/)
  })
})

describe('C29: pages', () => {
  it('go from record to record; what held at that time is taken back on each', async () => {
    for (const domain of ['a', 'b', 'c'])
      for (const value of ['ten', 'twenty']) await fixture.write({ ...TEA, domain, value })
    fixture.clock.advanceMs(1_000)
    const since = new Date(fixture.clock.unixMs()).toISOString()
    for (const domain of ['a', 'b', 'c'])
      await writeMany(300, (at) => ({ domain, value: `${domain} ${at}` }))
    const pages = await allPages({ patient: 'ann', since })
    expect(pages.map(({ revisions }) => revisions)).toEqual([500, 400])
    const heard = pages.flatMap(({ changed }) => changed)
    expect(heard.map(({ uri }) => uri.at(-1))).toEqual(['a', 'b', 'b', 'c'])
    for (const each of heard)
      expect(each).toMatchObject({
        previousValue: 'twenty',
        value: expect.stringContaining('299'),
        retraction: expect.stringContaining('Please disregard “twenty”.'),
      })
  })

  it('a brief goes on where it stopped, and leaves nothing out', async () => {
    await writeMany(230, (at) => ({ domain: `d-${at}` }))
    const said: string[] = []
    let cursor: string | undefined
    do {
      const passed = { patient: 'ann', ...(cursor === undefined ? {} : { cursor }) }
      const result = await session.result('prompts/get', { name: 'brief_carer', arguments: passed })
      const text = JSON.stringify(result)
      said.push(...(text.match(/d-\d+(?=: )/g) ?? []))
      cursor = /with cursor \\"([\w-]+)\\"/.exec(text)?.[1]
    } while (cursor !== undefined)
    expect(said).toEqual(Array.from({ length: 230 }, (_, count) => `d-${count}`))
  })

  it('a cursor of somebody else’s record is unknown', async () => {
    await fixture.write({ ...TEA, patient: 'wren' })
    const heron = await fixture.open('care.read.user:ann', { sub: 'heron-host' })
    const cursor = Buffer.from('care://wren/tea').toString('base64url')
    const answer = await heron.call('tools/call', {
      name: 'whats_changed',
      arguments: { patient: 'ann', cursor },
    })
    expect(answer.result).toMatchObject({ isError: true })
  })
})
