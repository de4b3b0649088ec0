// C40 at the doors of MCP: what a listener hears of a record that was withdrawn, and of one that came back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WITHDRAWALS, type Withdrawal } from '../wire/records.ts'
import { type Asking, asking, ERAS } from './ask-everything.fixture.ts'
import { BOTH, type McpFixture, startMcp, USER } from './mcp.fixture.ts'
import { listContents, readRecord } from './methods/methods.fixture.ts'
import { TEA, useStreams } from './sessions/streams.fixture.ts'

const SAYS: Readonly<Record<Withdrawal, string>> = {
  'entered-in-error': 'It was entered in error',
  'wrong-person': 'It was recorded for the wrong person',
}
const AGE = '[changed 0d ago by Dr Osei]'
const FIRST = 'Take 5 drops.'
const speech = { hasVoice: () => true, speak: async (text: string) => Buffer.from(text) }

type Content = readonly { readonly text: string }[]

let fixture: McpFixture
const tea = (over: object) => fixture.write({ domain: 'tea', ...over })

describe.each(WITHDRAWALS)('C40: a record withdrawn as %s', (status) => {
  beforeAll(async () => {
    fixture = await startMcp({ speech, language: 'en' })
    await tea({ value: FIRST })
    await tea({ value: '', status })
    await fixture.write({ domain: 'walks', value: 'Twice around the pond.' })
  })
  afterAll(() => fixture.close())

  const withdrawn = `This record was withdrawn. ${SAYS[status]}.`
  const retraction = `Correction from Dr Osei. Please disregard “${FIRST}” ${withdrawn}`
  const replaced = `Version 1 was withdrawn by version 2. ${SAYS[status]}. What follows no longer holds.`

  it('reads as its withdrawal and its age, with the retraction of what it said, and nothing that is now', async () => {
    const session = await fixture.open(USER)
    const { content, meta, spoken } = await readRecord(session, TEA)
    expect(content.text).toBe(`${withdrawn}\n${AGE}`)
    expect(spoken?.text).toBe(retraction)
    expect(meta).toMatchObject({ version: 2, value: '', status, 'care/retraction': retraction })
    const [older] = await listContents(session, `${TEA}/1`)
    expect(older?.text).toBe(`${replaced}\n${FIRST}\n${AGE}`)
    expect(older?._meta).toMatchObject({ value: FIRST, supersededBy: 2 })
  })

  it('is spoken as its withdrawal; an older version says first that it was withdrawn', async () => {
    const session = await fixture.open(USER)
    const heard = async (version: number) => {
      const [content] = await listContents(session, `${TEA}/${version}/audio`)
      return Buffer.from(content?.blob ?? '', 'base64').toString()
    }
    expect(await heard(2)).toBe(withdrawn)
    expect(await heard(1)).toBe(`${replaced}\n${FIRST}`)
  })

  describe.each(ERAS)('in %s', (era) => {
    let by: Asking
    beforeEach(async () => {
      by = await asking(era, fixture, BOTH)
    })
    const tool = async (name: string, input: object) => {
      const { result } = await by.call('tools/call', { name, arguments: input })
      const { content, structuredContent } = result as {
        content: Content
        structuredContent: object
      }
      return { text: content[0]?.text ?? '', structuredContent }
    }

    const complete = async (name: string, passed: object) => {
      const { result } = await by.call('completion/complete', {
        ref: { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' },
        argument: { name, value: '' },
        context: { arguments: { patient: 'ann', ...passed } },
      })
      return (result as { completion: { values: string[] } }).completion.values
    }

    it('read_record and fetch say so, with what to disregard first', async () => {
      const text = `${retraction}\n${withdrawn}\n${AGE}`
      const read = await tool('read_record', { uri: TEA })
      expect(read.text).toBe(text)
      expect(read.structuredContent).toMatchObject({
        status,
        value: '',
        previousValue: FIRST,
        retraction,
      })
      const fetched = await tool('fetch', { id: TEA })
      expect(fetched.structuredContent).toMatchObject({ text, metadata: { status } })
    })

    it('changes name the value that the listener holds', async () => {
      for (const [name, given] of [
        ['changes_since', {}],
        ['whats_changed', { patient: 'ann' }],
      ] as const) {
        const { structuredContent, text } = await tool(name, given)
        expect(text).toContain(`${TEA}: ${retraction}`)
        expect(structuredContent).toMatchObject({
          changed: [
            { status, value: '', previousValue: FIRST, withdrawn: [FIRST], retraction },
            {},
          ],
        })
      }
      const { result } = await by.call('prompts/get', {
        name: 'whats_changed',
        arguments: { patient: 'ann' },
      })
      expect(JSON.stringify(result)).toContain(withdrawn)
    })

    it('is in no list, search, brief or completion, and its versions are still completed', async () => {
      const lists = [
        ['resources/list', {}],
        ['prompts/get', { name: 'brief_carer', arguments: { patient: 'ann' } }],
        ['tools/call', { name: 'list_records', arguments: {} }],
        ['tools/call', { name: 'search', arguments: { query: 'tea withdrawn error person 5 mg' } }],
      ] as const
      for (const [method, params] of lists) {
        const answer = JSON.stringify((await by.call(method, params)).result)
        expect(answer).not.toMatch(/tea|5 mg|withdrawn/)
      }
      expect(await complete('domain', {})).toEqual(['walks'])
      expect(await complete('version', { domain: 'tea' })).toEqual(['2', '1'])
    })
  })
})

describe('C40: a record that comes back', () => {
  beforeAll(async () => {
    fixture = await startMcp({ speech, language: 'en' })
    await tea({ value: FIRST })
    await tea({ value: '', status: 'entered-in-error' })
    fixture.clock.advanceMs(1_000)
    await tea({ value: 'Take 3 mg.' })
  })
  afterAll(() => fixture.close())

  it('is what it is now; the withdrawal is superseded, and takes nothing back any more', async () => {
    const session = await fixture.open(USER)
    const now = 'It is now “Take 3 mg.”'
    const newest = await readRecord(session, TEA)
    expect(newest.content.text).toBe(`Take 3 mg.\n${AGE}`)
    expect(newest.spoken?.text).toBe(`Correction from Dr Osei. It had been withdrawn. ${now}`)
    const { content } = await readRecord(session, `${TEA}/2`)
    expect(content.text).toBe(
      `Version 2 was replaced by version 3. ${now} What follows no longer holds.\nThis record was withdrawn. It was entered in error.\n${AGE}`,
    )
    const all = await session.result('tools/call', {
      name: 'whats_changed',
      arguments: { patient: 'ann' },
    })
    expect((all['structuredContent'] as { changed: object[] }).changed).toMatchObject([
      {
        previousValue: null,
        withdrawn: [FIRST],
        corrections: 2,
        retraction: `Correction from Dr Osei. Please disregard “${FIRST}” It had been withdrawn. It was corrected 2 times. ${now}`,
      },
    ])
    expect(JSON.stringify(await session.result('resources/list'))).toContain(TEA)
  })
})

it('C37, C40: a withdrawal is said in the language of what it withdraws, unless it names another', async () => {
  fixture = await startMcp({ language: 'fr' })
  await tea({ value: 'Zwei Tabletten.', language: 'de' })
  await tea({ value: '', status: 'wrong-person' })
  const session = await fixture.open(USER)
  const german = await readRecord(session, TEA)
  expect(german.content.text).toMatch(
    /^Dieser Eintrag wurde zurückgezogen\. Er wurde für die falsche Person erfasst\.\n/,
  )
  expect(german.spoken?.text).toBe(
    'Korrektur von Dr Osei. Bitte beachten Sie nicht mehr: „Zwei Tabletten.“ Dieser Eintrag wurde zurückgezogen. Er wurde für die falsche Person erfasst.',
  )
  expect((await readRecord(session, `${TEA}/1`)).content.text).toMatch(
    /^Version 1 dieses Eintrags wurde durch Version 2 zurückgezogen\. Er wurde/,
  )
  await tea({ value: '', status: 'entered-in-error', language: 'en' })
  expect((await readRecord(session, TEA)).content.text).toMatch(/^This record was withdrawn\./)
  await fixture.close()
})

describe('C40: who listens', () => {
  const suite = useStreams()
  it('hears list_changed as a record is withdrawn and as it comes back, whatever its log level, live and after a break', async () => {
    const quiet = await suite.fixture.open(USER)
    await quiet.call('logging/setLevel', { level: 'emergency' })
    await suite.session.subscribe(TEA)
    const [loud, silent] = [await suite.stream(), await suite.stream(quiet)]
    await expect.poll(() => silent.lastEventId).toBeDefined()
    const start = silent.lastEventId
    await suite.tea('', { status: 'wrong-person' })
    await suite.tea('', { status: 'entered-in-error' })
    await suite.tea('Back.')
    await suite.tea('Back again.')
    const list = 'notifications/resources/list_changed'
    await expect.poll(() => silent.methods).toEqual([list, list])
    await expect.poll(() => loud.methods.filter((method) => method === list)).toHaveLength(2)
    await expect.poll(() => loud.updated).toEqual([TEA, TEA, TEA, TEA])
    const notice = loud.messages.find(({ method }) => method === 'notifications/message')
    expect(notice?.params).toMatchObject({ data: { version: 2, valueChanged: true } })
    expect(JSON.stringify(loud.messages)).not.toMatch(/wrong|error/)
    const resumed = await suite.stream(quiet, start)
    await expect.poll(() => resumed.methods).toEqual([list, list])
  })
})

it('C40: a record that is withdrawn again takes back what people hold, not what the first withdrawal left', async () => {
  const again = await startMcp({ language: 'en' })
  try {
    await again.write({ domain: 'tea', value: FIRST })
    for (const status of WITHDRAWALS) await again.write({ domain: 'tea', value: '', status })
    const { meta } = await readRecord(await again.open(USER), TEA)
    expect(meta).toMatchObject({
      version: 3,
      'care/retraction': `Correction from Dr Osei. Please disregard “${FIRST}” This record was withdrawn. ${SAYS['wrong-person']}.`,
    })
  } finally {
    await again.close()
  }
})
