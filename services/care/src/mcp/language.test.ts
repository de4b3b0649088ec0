// What a record is written in, at every door (C37).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BOTH, type ClientSession, type McpFixture, startMcp } from './mcp.fixture.ts'
import { readRecord } from './methods.fixture.ts'

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

const toolAnswer = async (name: string, given: object) =>
  (await session.result('tools/call', { name, arguments: given }))['structuredContent']

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
    for (const [name, given] of [
      ['whats_changed', { patient: 'ann' }],
      ['changes_since', {}],
    ] as const)
      expect(await toolAnswer(name, given)).toMatchObject({
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

it('C37: without a language of the record or the service nothing claims one', async () => {
  const silent = await startMcp()
  await silent.write({ domain: 'tea' })
  const { meta } = await readRecord(await silent.open(BOTH), 'care://ann/tea')
  expect(meta).not.toHaveProperty('language')
  await silent.close()
})
