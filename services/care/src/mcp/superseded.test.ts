// C34 and C35 at every door: whoever reads an older version hears first that it was replaced and what holds now, and "It is now"
// is said of the newest version alone. A method, tool or prompt without a row here fails the last test.
import { DAY_MS } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TOOL_INPUTS } from '../wire/mcp.ts'
import { type Asking, asking, ERAS } from './ask-everything.fixture.ts'
import { BOTH, type McpFixture, startMcp } from './mcp.fixture.ts'
import { RECORD_METHODS } from './methods/dispatch.ts'
import { PROMPTS } from './methods/prompt-methods.ts'

const TEA = 'care://ann/tea'
const [FIRST, SECOND, NEWEST] = ['Take 1 tablet.', 'Take 2 tablets.', 'Do not take it any more.']
const REPLACED = `Version 2 was replaced by version 3. It is now “${NEWEST}” What follows no longer holds.`

type Answer = Record<string, unknown>
type Texts = readonly { readonly text?: string; readonly blob?: string }[]

const readText = (answer: Answer, key: 'contents' | 'content'): string => {
  const [first] = answer[key] as Texts
  return first?.text ?? Buffer.from(first?.blob ?? '', 'base64').toString()
}
const contents = (answer: Answer): string => readText(answer, 'contents')
const content = (answer: Answer): string => readText(answer, 'content')
const fetched = (answer: Answer): string =>
  (answer['structuredContent'] as { readonly text: string }).text

type Door = {
  readonly method: string
  readonly params: (uri: string) => object
  /** What is said or read first; absent where no version can be named: that door knows the newest alone. */
  readonly text?: (answer: Answer) => string
}
const tool = (
  name: keyof typeof TOOL_INPUTS,
  input: (uri: string) => object,
  text?: Door['text'],
): readonly [string, Door] => [
  `the tool ${name}`,
  {
    method: 'tools/call',
    params: (uri) => ({ name, arguments: input(uri) }),
    ...(text && { text }),
  },
]
const prompt = (name: string): readonly [string, Door] => [
  `the prompt ${name}`,
  { method: 'prompts/get', params: () => ({ name, arguments: { patient: 'ann' } }) },
]
const plain = (method: string, params: object = {}): readonly [string, Door] => [
  method,
  { method, params: () => params },
]

const DOORS: readonly (readonly [string, Door])[] = [
  ['resources/read', { method: 'resources/read', params: (uri) => ({ uri }), text: contents }],
  [
    'the audio of resources/read',
    { method: 'resources/read', params: (uri) => ({ uri: `${uri}/audio` }), text: contents },
  ],
  tool('read_record', (uri) => ({ uri }), content),
  tool('fetch', (id) => ({ id }), fetched),
  tool('list_records', () => ({})),
  tool('whats_changed', () => ({ patient: 'ann' })),
  tool('changes_since', () => ({})),
  tool('search', () => ({ query: 'take' })),
  prompt('brief_carer'),
  prompt('whats_changed'),
  plain('resources/list'),
  plain('resources/templates/list'),
  plain('prompts/list'),
  plain('tools/list'),
  plain('completion/complete', {
    ref: { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' },
    argument: { name: 'version', value: '' },
    context: { arguments: { patient: 'ann', domain: 'tea' } },
  }),
]

const speech = { hasVoice: () => true, speak: async (text: string) => Buffer.from(text) }

let fixture: McpFixture
beforeAll(async () => {
  fixture = await startMcp({ speech, language: 'en' })
  for (const value of [FIRST, SECOND, NEWEST]) await fixture.write({ domain: 'tea', value })
})
afterAll(() => fixture.close())

const ask = async (by: Asking, { method, params }: Door, uri: string): Promise<Answer> => {
  const { result } = await by.call(method, params(uri))
  if (result === undefined) throw new Error(`${method} was refused`)
  return result
}

/** Every text of an answer, those inside JSON texts included. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

describe.each(ERAS)('in %s', (era) => {
  const open = () => asking(era, fixture, BOTH)

  it.each(DOORS.filter(([, { text }]) => text !== undefined))(
    'C34: %s of an older version begins with what holds now',
    async (_name, door) => {
      const by = await open()
      expect(door.text?.(await ask(by, door, `${TEA}/2`))).toMatch(
        new RegExp(`^${REPLACED}\n${SECOND}`),
      )
      // It corrects nothing, and was replaced all the same.
      expect(door.text?.(await ask(by, door, `${TEA}/1`))).toContain(`It is now “${NEWEST}”`)
      expect(door.text?.(await ask(by, door, `${TEA}/3`))).not.toContain('replaced')
    },
  )

  it.each(DOORS)('C34: %s says “It is now” of the newest version alone', async (_name, door) => {
    const by = await open()
    for (const version of [1, 2, 3]) {
      const answer = await ask(by, door, `${TEA}/${version}`)
      for (const text of textsIn(answer))
        for (const [, value] of text.matchAll(/It is now “([^”]*)”/g)) expect(value).toBe(NEWEST)
    }
  })

  it('C35: a tool names the record, with the version beside it', async () => {
    const by = await open()
    for (const uri of [TEA, `${TEA}/2`]) {
      const read = await by.call('tools/call', { name: 'read_record', arguments: { uri } })
      const version = uri === TEA ? 3 : 2
      expect(read.result).toMatchObject({
        structuredContent: { uri: TEA, version, latestVersion: 3 },
        _meta: { uri: TEA, version },
      })
      const found = await by.call('tools/call', { name: 'fetch', arguments: { id: uri } })
      const metadata = { version: String(version), latestVersion: '3' }
      expect(found.result).toMatchObject({ structuredContent: { id: TEA, metadata } })
    }
  })

  it.each(DOORS.filter(([name]) => /read|fetch|brief|list/.test(name)))(
    'C29: %s says a retraction for RETRACTION_DAYS and no longer, except in _meta',
    async (name, door) => {
      const heard = await startMcp({ speech, language: 'en', limits: { retractionMs: 7 * DAY_MS } })
      for (const value of [FIRST, NEWEST]) await heard.write({ domain: 'tea', value })
      const isSaid = async (): Promise<boolean> => {
        const by = await asking(era, heard, BOTH)
        const answer = await ask(by, door, `${TEA}/2`)
        const said = JSON.parse(JSON.stringify(answer), (key, value) =>
          key === '_meta' ? undefined : value,
        ) as object
        return textsIn(said).some((text) => text.includes('disregard'))
      }
      const says = /read_record|fetch|^resources\/read/.test(name)
      expect(await isSaid()).toBe(says)
      heard.clock.advanceMs(7 * DAY_MS)
      expect(await isSaid()).toBe(false)
      await heard.close()
    },
  )
})

it('C29: RETRACTION_DAYS=0 says none, not even at once', async () => {
  const messages = await startMcp({ limits: { retractionMs: 0 } })
  for (const value of [FIRST, NEWEST]) await messages.write({ domain: 'tea', value })
  const by = await messages.open(BOTH)
  for (const [name, passed] of [
    ['read_record', { uri: TEA }],
    ['fetch', { id: TEA }],
  ] as const) {
    const answer = await by.result('tools/call', { name, arguments: passed })
    expect(JSON.stringify([answer['content'], answer['structuredContent']])).not.toContain(
      'disregard',
    )
  }
  await messages.close()
})

it('C34: what follows an older version is not said to be over if the newest confirms it; a stale newest one says its age', async () => {
  const confirmed = await startMcp()
  const staleAfter = new Date(confirmed.clock.unixMs() - 1).toISOString()
  for (const over of [{}, { staleAfter }])
    await confirmed.write({ domain: 'tea', value: FIRST, ...over })
  const read = await (await confirmed.open(BOTH)).result('resources/read', { uri: `${TEA}/1` })
  expect(contents(read)).toBe(
    `Version 1 was replaced by version 2. It is now “${FIRST}” Please note: this was last changed today, by Dr Osei.\n${FIRST}\n[changed 0d ago by Dr Osei]`,
  )
  await confirmed.close()
})

it('C34: if the newest version failed verification, nothing is said of what holds now', async () => {
  const broken = await startMcp({ isOnDisk: true })
  for (const value of [FIRST, SECOND, NEWEST]) await broken.write({ domain: 'tea', value })
  const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
  await broken.tamper(slot, 3, (entry) => entry.replace('any more', 'before noon'))
  const read = await (await broken.open(BOTH)).result('resources/read', { uri: `${TEA}/2` })
  expect(contents(read)).toMatch(
    /^Version 2 was replaced by version 3, which failed verification\. What follows no longer holds\.\nTake 2 tablets\./,
  )
  expect(JSON.stringify(read)).not.toMatch(/It is now|noon|any more/)
  await broken.close()
})

it('every method, tool and prompt that serves records has a row', () => {
  const names = DOORS.map(([name]) => name)
  for (const name of Object.keys(TOOL_INPUTS)) expect(names).toContain(`the tool ${name}`)
  for (const { name } of PROMPTS) expect(names).toContain(`the prompt ${name}`)
  const methods = DOORS.map(([, { method }]) => method)
  expect([...new Set(methods)].toSorted()).toEqual(Object.keys(RECORD_METHODS).toSorted())
})
