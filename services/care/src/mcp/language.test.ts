// What a record is written in, at every door (C37).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BOTH, type ClientSession, type McpFixture, startMcp } from './mcp.fixture.ts'
import { readRecord } from './methods/methods.fixture.ts'

let fixture: McpFixture
let session: ClientSession
beforeAll(async () => {
  fixture = await startMcp({ language: 'fr' })
  await fixture.write({ domain: 'tropfen', value: 'Zehn Tropfen.', language: 'de' })
  await fixture.write({ domain: 'tropfen', value: 'Zwölf Tropfen.', language: 'de' })
  await fixture.write({ domain: 'gouttes', value: 'Dix gouttes.' })
  session = await fixture.open(BOTH)
})
afterAll(() => fixture.close())

const toolAnswer = async (name: string, input: object) =>
  (await session.result('tools/call', { name, arguments: input }))['structuredContent']

const listTexts = (result: Record<string, unknown>): readonly string[] =>
  (result['content'] as { text: string }[]).map(({ text }) => text)

describe('C37: the language of a record', () => {
  it('is in the `_meta` of reads and lists: its own, or the service’s where it names none', async () => {
    expect((await readRecord(session, 'care://ann/tropfen')).meta).toMatchObject({ language: 'de' })
    expect((await readRecord(session, 'care://ann/gouttes')).meta).toMatchObject({ language: 'fr' })
    const { resources } = (await session.result('resources/list')) as {
      resources: { uri: string; _meta?: { language?: string } }[]
    }
    const listed = resources.map(({ uri, _meta }) => [uri, _meta?.language])
    expect(listed).toContainEqual(['care://ann/tropfen', 'de'])
    expect(listed).toContainEqual(['care://ann/gouttes', 'fr'])
  })

  it('is in every tool’s answer about it', async () => {
    const uri = 'care://ann/tropfen'
    expect(await toolAnswer('read_record', { uri })).toMatchObject({ language: 'de' })
    expect(await toolAnswer('fetch', { id: uri })).toMatchObject({ metadata: { language: 'de' } })
    const records = expect.arrayContaining([expect.objectContaining({ uri, language: 'de' })])
    expect(await toolAnswer('list_records', {})).toMatchObject({ records })
    for (const [name, passed] of [
      ['whats_changed', { patient: 'ann' }],
      ['changes_since', {}],
    ] as const)
      expect(await toolAnswer(name, passed)).toMatchObject({
        changed: [
          { uri, language: 'de' },
          { uri: 'care://ann/gouttes', language: 'fr' },
        ],
      })
  })

  it('is in the notice of a new version', async () => {
    const stream = await session.stream()
    await fixture.write({ domain: 'tropfen', value: 'Neun Tropfen.', language: 'de-AT' })
    const notice = expect.objectContaining({
      method: 'notifications/message',
      params: expect.objectContaining({ data: expect.objectContaining({ language: 'de-AT' }) }),
    })
    await expect.poll(() => stream.messages).toContainEqual(notice)
    stream.drop()
  })
})

describe('C37: what hosts show to people', () => {
  it('a record’s title is in its language, in lists, searches and fetches', async () => {
    const { resources } = (await session.result('resources/list')) as {
      resources: { uri: string; title: string }[]
    }
    const titles = Object.fromEntries(resources.map(({ uri, title }) => [uri, title]))
    expect(titles).toMatchObject({
      'care://ann/tropfen': 'ann: tropfen',
      'care://ann/gouttes': 'ann: gouttes',
      'ui://care/echo': 'Carte avec ce qui vaut maintenant et ce que cela corrige',
    })
    expect(await toolAnswer('search', { query: 'gouttes' })).toMatchObject({
      results: [{ title: 'ann: gouttes' }],
    })
    expect(await toolAnswer('fetch', { id: 'care://ann/tropfen' })).toMatchObject({
      title: 'ann: tropfen',
    })
  })

  it('titles of tools and all of prompts are in the service’s; what models read of tools is English', async () => {
    const { tools } = (await session.result('tools/list')) as {
      tools: { name: string; title: string; description: string }[]
    }
    expect(tools.find(({ name }) => name === 'search')).toMatchObject({
      title: 'Chercher des fiches de soins',
      description: expect.stringMatching(/^Finds care records/),
    })
    const shown = JSON.stringify(await session.result('prompts/list'))
    expect(shown).toContain('Informer un soignant')
    expect(shown).not.toMatch(/\b(?:the|Whose|Where|everything|What)\b/)
    const prompt = { name: 'brief_carer', arguments: { patient: 'ann' } }
    expect(await session.result('prompts/get', prompt)).toMatchObject({
      description: 'Ce qui peut être dit',
    })
  })
})

describe('C37: what is said around a value', () => {
  it('is in the language of its record, in the text of a read and in `_meta`', async () => {
    const { content, spoken, meta } = await readRecord(session, 'care://ann/tropfen')
    expect(content.text).toBe('Neun Tropfen.\n[zuletzt geändert heute von Dr Osei]')
    const retraction =
      'Korrektur von Dr Osei. Bitte beachten Sie nicht mehr: „Zwölf Tropfen.“ Jetzt gilt: „Neun Tropfen.“'
    expect(spoken?.text).toBe(retraction)
    expect(meta).toMatchObject({
      'care/retraction': retraction,
      'care/age': 'Geändert heute von Dr Osei.',
    })
    const older = await readRecord(session, 'care://ann/tropfen/1')
    expect(older.content.text).toMatch(
      /^Version 1 wurde durch Version 3 ersetzt\. Jetzt gilt: „Neun/,
    )
  })

  it('each record of an answer has its own language, and the answer the service’s', async () => {
    const [heard, data] = listTexts(
      await session.result('tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } }),
    )
    expect(heard?.split('\n')).toEqual([
      '4 révisions.',
      expect.stringMatching(
        /^care:\/\/ann\/tropfen: Korrektur von Dr Osei\. .* Es wurde 2-mal korrigiert\. Jetzt gilt: „Neun Tropfen\.“$/,
      ),
      'care://ann/gouttes: maintenant Dix gouttes.',
    ])
    expect(data).toMatch(/^Ce que disent les fiches/)
    const { messages } = await session.result('prompts/get', {
      name: 'brief_carer',
      arguments: { patient: 'ann' },
    })
    const [{ content }] = messages as [{ content: { text: string } }]
    expect(content.text).toMatch(/^Informez un soignant au sujet de ann/)
    expect(content.text).toContain('tropfen: Neun Tropfen.\n[zuletzt geändert heute')
    expect(content.text).toContain('gouttes: Dix gouttes.\n[modifié aujourd’hui par Dr Osei]')
  })
})

it('C37: without a language of the record or the service nothing claims one', async () => {
  const silent = await startMcp()
  await silent.write({ domain: 'tea' })
  const { meta } = await readRecord(await silent.open(BOTH), 'care://ann/tea')
  expect(meta).not.toHaveProperty('language')
  await silent.close()
})
