// Resources as care.md, C6, C7, C10 and C11 word them, including the cards (C12).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BOTH, type ClientSession, type McpFixture, startMcp, USER } from '../mcp.fixture.ts'
import { listAll, listContents, readCode, readRecord, startMethods } from './methods.fixture.ts'

const speech = { hasVoice: () => true, speak: async () => Buffer.from('RIFF') }

let fixture: McpFixture
let session: ClientSession
let user: ClientSession
beforeAll(async () => {
  ;({ fixture, session, user } = await startMethods({ speech, language: 'en' }))
})
afterAll(() => fixture.close())

const makeCursor = (text: string) => ({ cursor: Buffer.from(text).toString('base64url') })

describe('resources/list', () => {
  it('lists what the principal may read, with the cards first', async () => {
    expect((await listAll(session)).map(({ uri }) => uri)).toEqual([
      'ui://care/echo',
      'ui://care/echo-app',
      'care://ann/tea',
      'care://ann/tea/3/audio',
      'care-internal://ann/plan',
      'care://ann/weight',
      'care://ann/weight/1/audio',
      'care://Bo%20%C3%96./50%25%3F',
      'care://Bo%20%C3%96./50%25%3F/1/audio',
    ])
  })

  it('C11: priority maps to MCP annotations.priority, audience and writtenAt to annotations.audience and lastModified; the same facts in _meta', async () => {
    const listed = await listAll(session)
    expect(listed.find(({ uri }) => uri === 'care://ann/tea')).toEqual({
      uri: 'care://ann/tea',
      name: 'ann/tea',
      title: 'tea of ann',
      mimeType: 'text/plain',
      annotations: { audience: ['user'], priority: 0.7, lastModified: '2026-11-21T12:00:00.000Z' },
      _meta: {
        version: 3,
        audience: 'user',
        writtenAt: '2026-11-21T12:00:00.000Z',
        priority: 0.7,
        language: 'en',
      },
    })
    // MCP's priority is 0 to 1; _meta has the value as written.
    expect(listed.find(({ uri }) => uri.startsWith('care://Bo'))).toMatchObject({
      annotations: { priority: 1 },
      _meta: { priority: 12 },
    })
    expect(listed.find(({ uri }) => uri.startsWith('care-internal'))).toMatchObject({
      annotations: { audience: ['assistant'] },
    })
  })

  it('is cursor-paginated; never lists care-internal:// URIs for a user-scope principal, on any page', async () => {
    const paged = await startMcp({ limits: { pageChains: 3 } })
    for (let count = 0; count < 20; count += 1)
      await paged.write({
        domain: `d${count}`,
        audience: count % 3 === 0 ? 'user' : 'assistant',
      })
    const [both, spoken_] = [await paged.open(BOTH), await paged.open(USER)]
    const all = (await listAll(both)).filter(({ uri }) => uri.startsWith('care'))
    expect(new Set(all.map(({ uri }) => uri)).size).toBe(20)
    const seen = (await listAll(spoken_)).filter(({ uri }) => !uri.startsWith('ui:'))
    expect(seen.map(({ uri }) => uri)).toEqual(
      [0, 3, 6, 9, 12, 15, 18].map((count) => `care://ann/d${count}`),
    )
    await paged.close()
  })

  it('an unknown cursor is -32602, and so is one that names a hidden chain', async () => {
    for (const params of [
      { cursor: '!' },
      { cursor: '' },
      makeCursor('care://ann/absent'),
      makeCursor('care-internal://ann/plan'),
      { cursor: 5 },
    ])
      expect(await readCode(user, 'resources/list', params)).toBe(-32602)
  })
})

describe('resources/templates/list', () => {
  it('care://{patient}/{domain}/{version} and care-internal://{patient}/{domain}/{version}', async () => {
    const { resourceTemplates } = await session.result('resources/templates/list')
    expect(
      (resourceTemplates as { uriTemplate: string }[]).map((each) => each.uriTemplate),
    ).toEqual([
      'care://{patient}/{domain}/{version}',
      'care-internal://{patient}/{domain}/{version}',
      'care://{patient}/{domain}/{version}/audio',
    ])
  })
})

describe('C10: reads', () => {
  it('text = value, newline, age line', async () => {
    const { content } = await readRecord(session, 'care://ann/tea')
    expect(content).toMatchObject({
      uri: 'care://ann/tea',
      mimeType: 'text/plain',
      text: 'No sugar.\n[changed 0d ago by Dr Amara]',
    })
    expect((await readRecord(session, 'care://ann/weight')).content.text).toBe(
      'Weighs 71 kg.\n[STALE — last changed 0 days ago by Dr Osei; say this age aloud]',
    )
  })

  it('_meta (on the result and on the content) adds version, versionHash, prevHash, writtenAt, authorId and the raw value', async () => {
    const { content, meta } = await readRecord(session, 'care://ann/tea/2')
    expect(content._meta).toEqual(meta)
    expect(meta).toMatchObject({
      version: 2,
      versionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      prevHash: (await readRecord(session, 'care://ann/tea/1')).meta['versionHash'],
      writtenAt: '2026-11-21T12:00:00.000Z',
      authorId: 'dr-osei',
      authorLabel: 'Dr Amara',
      audience: 'user',
      priority: 0.7,
      value: 'No sugar.',
    })
  })

  it('care/retraction is on a read of version n ≥ 2 whose value differs from n−1', async () => {
    const { meta } = await readRecord(session, 'care://ann/tea/2')
    const sentence = String(meta['care/retraction'])
    for (const part of ['One sugar.', 'No sugar.', 'Dr Amara']) expect(sentence).toContain(part)
    expect((await readRecord(session, 'care://ann/tea/1')).meta).not.toHaveProperty(
      'care/retraction',
    )
    expect((await readRecord(session, 'care://ann/tea/3')).meta).not.toHaveProperty(
      'care/retraction',
    )
  })

  it('C29: the retraction is a text of its own as well, for as long as the old value may be held', async () => {
    const { content, spoken, meta } = await readRecord(session, 'care://ann/tea/2')
    expect(content.text).toMatch(/^Version 2 was replaced by version 3\. .*\nNo sugar\.\n/)
    expect(spoken).toEqual({
      uri: content.uri,
      mimeType: 'text/plain',
      text: meta['care/retraction'],
      _meta: { 'care/kind': 'retraction', version: 2 },
    })
    expect((await readRecord(session, 'care://ann/tea/3')).spoken).toBeUndefined()
    const past = await startMethods({ limits: { retractionMs: -1 } })
    const read = await readRecord(past.session, 'care://ann/tea/2')
    await past.fixture.close()
    expect(read.spoken).toBeUndefined()
    expect(read.meta['care/retraction']).toBe(meta['care/retraction'])
  })

  it('a read of an older version carries _meta.supersededBy', async () => {
    expect((await readRecord(session, 'care://ann/tea/1')).meta['supersededBy']).toBe(3)
    expect((await readRecord(session, 'care://ann/tea/3')).meta).not.toHaveProperty('supersededBy')
    expect((await readRecord(session, 'care://ann/tea')).meta).not.toHaveProperty('supersededBy')
  })

  it('C7: URIs take /<n> and /v<n>, and emit /<n>', async () => {
    expect((await readRecord(session, 'care://ann/tea/v2')).content.uri).toBe('care://ann/tea/2')
    expect((await readRecord(session, 'care://Bo%20%C3%96./50%25%3F')).content.text).toContain(
      'Odd names.',
    )
  })

  it.each([
    'care://ann/absent',
    'care://ann/tea/4',
    'care://ann/tea/0',
    'care-internal://ann/tea',
    'care://ann/plan',
    'care://ann',
    'ui://care/other',
    'https://example.com',
    '',
  ])('a nonexistent one is -32002: %j', async (uri) => {
    expect(await readCode(session, 'resources/read', { uri })).toBe(-32002)
    expect(await readCode(session, 'resources/subscribe', { uri })).toBe(-32002)
  })

  it('a version whose hash, seal or slot fails is never served: -32603 without its text, in reads, prompts and tools; a new write is accepted', async () => {
    const broken = await startMcp({ isOnDisk: true })
    const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
    await broken.write({ domain: 'tea', value: 'One sugar.' })
    await broken.write({ domain: 'tea', value: 'Two sugars.' })
    await broken.tamper(slot, 2, (entry) => entry.replace('Two', 'Ten'))
    const pending = await broken.open(BOTH)
    const answers = [
      await pending.call('resources/read', { uri: 'care://ann/tea' }),
      await pending.call('resources/read', { uri: 'care://ann/tea/2' }),
      await pending.call('prompts/get', { name: 'brief_carer', arguments: { patient: 'ann' } }),
      await pending.call('prompts/get', { name: 'whats_changed', arguments: { patient: 'ann' } }),
      await pending.call('tools/call', {
        name: 'read_record',
        arguments: { uri: 'care://ann/tea' },
      }),
      await pending.call('tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } }),
    ]
    expect(answers[0]?.error?.code).toBe(-32603)
    expect(answers[1]?.error?.code).toBe(-32603)
    expect(answers[4]?.result).toMatchObject({ isError: true })
    // Nor is an older value passed off as the newest.
    for (const answer of answers) expect(JSON.stringify(answer)).not.toMatch(/Ten|Two|One/)
    expect(answers[5]?.result).toMatchObject({
      structuredContent: { changed: [], failed: ['care://ann/tea'] },
    })
    await broken.write({ domain: 'tea', value: 'Three sugars.' })
    const again = await pending.result('resources/read', { uri: 'care://ann/tea' })
    // Nor is the broken version's text served by way of a retraction.
    expect(JSON.stringify(again)).toContain('Three sugars.')
    expect(JSON.stringify(again)).not.toMatch(/Ten|Two|retraction/)
    await broken.close()
  })

  it('malformed parameters are -32602 and name their path, not their value', async () => {
    const answer = await session.call('resources/read', { uri: { secret: 1 } })
    expect(answer.error).toMatchObject({ code: -32602 })
    expect(answer.error?.message).toMatch(/^params\.uri: /)
    expect(await readCode(session, 'resources/read', {})).toBe(-32602)
  })
})

describe('the card', () => {
  it('ui://<service>/echo, content type text/html+skybridge', async () => {
    const { contents } = await user.result('resources/read', { uri: 'ui://care/echo' })
    expect(contents).toMatchObject([{ uri: 'ui://care/echo', mimeType: 'text/html+skybridge' }])
  })

  it('C12: the same page is also ui://care/echo-app as text/html;profile=mcp-app', async () => {
    const [echo] = await listContents(user, 'ui://care/echo')
    const [app] = await listContents(user, 'ui://care/echo-app')
    expect(app?.mimeType).toBe('text/html;profile=mcp-app')
    expect(app?.text).toBe(echo?.text)
    expect(echo?.text).toContain('textContent')
    expect(echo?.text).not.toMatch(/innerHTML|https?:/)
  })
})

describe('a failing store', () => {
  it('is -32603 without its text, and is reported', async () => {
    const failing = await startMcp()
    const current = await failing.open(BOTH)
    failing.store.latest = () => Promise.reject(new Error('disk I/O error at /var/lib/care.db'))
    const answer = await current.call('resources/read', { uri: 'care://ann/tea' })
    expect(answer.error).toEqual({ code: -32603, message: 'Internal error' })
    expect(failing.events).toMatchObject([{ kind: 'request-failed' }])
    await failing.close()
  })
})
