// MCP methods in use, by the words of care.md and of C6, C7 and C10 to C13.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SpeechUnavailable } from '../domain/speech.ts'
import {
  ASSISTANT,
  BOTH,
  type ClientSession,
  type McpWorld,
  mcpWorld,
  START_MS,
  USER,
} from './mcp-world.fixture.ts'

type Content = {
  readonly uri: string
  readonly mimeType: string
  readonly text?: string
  readonly blob?: string
  readonly _meta: Record<string, unknown>
}
type Listed = { readonly uri: string; readonly mimeType: string; readonly annotations?: object }

const DAY_MS = 86_400_000
const spoken: string[] = []
const speech = {
  async speak(text: string) {
    spoken.push(text)
    if (text.includes('unspeakable')) throw new SpeechUnavailable('no')
    return Buffer.from(`RIFF ${text}`)
  },
}

let world: McpWorld
let session: ClientSession
let user: ClientSession
beforeAll(async () => {
  world = await mcpWorld({ speech })
  await world.write({ domain: 'tea', value: 'One sugar.', priority: 0.7 })
  await world.write({ domain: 'tea', value: 'No sugar.', authorLabel: 'Dr Amara', priority: 0.7 })
  await world.write({ domain: 'tea', value: 'No sugar.', authorLabel: 'Dr Amara', priority: 0.7 })
  await world.write({ domain: 'plan', audience: 'assistant', value: 'Watch for falls.' })
  const staleAfter = new Date(START_MS - DAY_MS).toISOString()
  await world.write({ domain: 'weight', value: 'Weighs 71 kg.', staleAfter })
  await world.write({ patient: 'Bo Ö.', domain: '50%?', value: 'Odd names.', priority: 12 })
  session = await world.open(BOTH)
  user = await world.open(USER)
})
afterAll(() => world.close())

const read = async (uri: string, by = session) => {
  const result = await by.result('resources/read', { uri })
  const [content, ...more] = result['contents'] as Content[]
  if (content === undefined || more.length > 0) throw new Error('a read has one content')
  return { content, meta: result['_meta'] as Record<string, unknown> }
}
const listAll = async (by: ClientSession): Promise<Listed[]> => {
  const found: Listed[] = []
  let cursor: string | undefined
  do {
    const page = await by.result('resources/list', cursor === undefined ? {} : { cursor })
    found.push(...(page['resources'] as Listed[]))
    cursor = page['nextCursor'] as string | undefined
  } while (cursor !== undefined)
  return found
}
const codeOf = async (method: string, params: object, by = session) =>
  (await by.call(method, params)).error?.code

const cursorOf = (text: string) => ({ cursor: Buffer.from(text).toString('base64url') })

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
      },
    })
    // MCP's priority is 0 to 1; the fact is in _meta as it was written.
    expect(listed.find(({ uri }) => uri.startsWith('care://Bo'))).toMatchObject({
      annotations: { priority: 1 },
      _meta: { priority: 12 },
    })
    expect(listed.find(({ uri }) => uri.startsWith('care-internal'))).toMatchObject({
      annotations: { audience: ['assistant'] },
    })
  })

  it('is cursor-paginated; never lists care-internal:// URIs for a user-scope principal, on any page', async () => {
    const paged = await mcpWorld({ limits: { pageChains: 3 } })
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

  it('an unknown cursor is -32602, one that names a hidden chain alike', async () => {
    for (const params of [
      { cursor: '!' },
      { cursor: '' },
      cursorOf('care://ann/absent'),
      cursorOf('care-internal://ann/plan'),
      { cursor: 5 },
    ])
      expect(await codeOf('resources/list', params, user)).toBe(-32602)
  })
})

describe('resources/templates/list', () => {
  it('care://{patient}/{domain}/{version} and care-internal://{patient}/{domain}/{version}', async () => {
    const { resourceTemplates } = await session.result('resources/templates/list')
    expect((resourceTemplates as { uriTemplate: string }[]).map((one) => one.uriTemplate)).toEqual([
      'care://{patient}/{domain}/{version}',
      'care-internal://{patient}/{domain}/{version}',
      'care://{patient}/{domain}/{version}/audio',
    ])
  })
})

describe('C10: reads', () => {
  it('text = value, newline, age line', async () => {
    const { content } = await read('care://ann/tea')
    expect(content).toMatchObject({
      uri: 'care://ann/tea',
      mimeType: 'text/plain',
      text: 'No sugar.\n[changed 0d ago by Dr Amara]',
    })
    expect((await read('care://ann/weight')).content.text).toBe(
      'Weighs 71 kg.\n[STALE — last changed 0 days ago by Dr Osei; say this age aloud]',
    )
  })

  it('_meta (on the result and on the content) adds version, versionHash, prevHash, writtenAt, authorId and the raw value', async () => {
    const { content, meta } = await read('care://ann/tea/2')
    expect(content._meta).toEqual(meta)
    expect(meta).toMatchObject({
      version: 2,
      versionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      prevHash: (await read('care://ann/tea/1')).meta['versionHash'],
      writtenAt: '2026-11-21T12:00:00.000Z',
      authorId: 'dr-osei',
      authorLabel: 'Dr Amara',
      audience: 'user',
      priority: 0.7,
      value: 'No sugar.',
    })
  })

  it('care/retraction is on a read of version n ≥ 2 whose value differs from n−1', async () => {
    const { meta } = await read('care://ann/tea/2')
    const sentence = String(meta['care/retraction'])
    for (const part of ['One sugar.', 'No sugar.', 'Dr Amara']) expect(sentence).toContain(part)
    expect((await read('care://ann/tea/1')).meta).not.toHaveProperty('care/retraction')
    expect((await read('care://ann/tea/3')).meta).not.toHaveProperty('care/retraction')
  })

  it('a read of an older version carries _meta.supersededBy', async () => {
    expect((await read('care://ann/tea/1')).meta['supersededBy']).toBe(3)
    expect((await read('care://ann/tea/3')).meta).not.toHaveProperty('supersededBy')
    expect((await read('care://ann/tea')).meta).not.toHaveProperty('supersededBy')
  })

  it('C7: URIs take /<n> and /v<n>, and emit /<n>', async () => {
    expect((await read('care://ann/tea/v2')).content.uri).toBe('care://ann/tea/2')
    expect((await read('care://Bo%20%C3%96./50%25%3F')).content.text).toContain('Odd names.')
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
  ])('nonexistent is -32002: %j', async (uri) => {
    expect(await codeOf('resources/read', { uri })).toBe(-32002)
    expect(await codeOf('resources/subscribe', { uri })).toBe(-32002)
  })

  it('a version whose hash, seal or slot fails is never served: -32603 without its text, in reads, prompts and tools; a new write is accepted', async () => {
    const broken = await mcpWorld()
    const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
    await broken.write({ domain: 'tea', value: 'One sugar.' })
    await broken.write({ domain: 'tea', value: 'Two sugars.' })
    broken.store.tamper(slot, 2, (entry) => entry.replace('Two', 'Ten'))
    const held = await broken.open(BOTH)
    const answers = [
      await held.call('resources/read', { uri: 'care://ann/tea' }),
      await held.call('resources/read', { uri: 'care://ann/tea/2' }),
      await held.call('prompts/get', { name: 'brief_carer', arguments: { patient: 'ann' } }),
      await held.call('prompts/get', { name: 'whats_changed', arguments: { patient: 'ann' } }),
      await held.call('tools/call', { name: 'read_record', arguments: { uri: 'care://ann/tea' } }),
      await held.call('tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } }),
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
    const again = await held.result('resources/read', { uri: 'care://ann/tea' })
    // What the broken version said is not served by way of a retraction either.
    expect(JSON.stringify(again)).toContain('Three sugars.')
    expect(JSON.stringify(again)).not.toMatch(/Ten|Two|retraction/)
    await broken.close()
  })

  it('malformed parameters are -32602 and name their path, not their value', async () => {
    const answer = await session.call('resources/read', { uri: { secret: 1 } })
    expect(answer.error).toMatchObject({ code: -32602 })
    expect(answer.error?.message).toMatch(/^params\.uri: /)
    expect(await codeOf('resources/read', {})).toBe(-32602)
  })
})

describe('C13: the audio blob', () => {
  it('care://<patient>/<domain>/<version>/audio is the text to be spoken as audio/wav', async () => {
    const { content } = await read('care://ann/tea/2/audio')
    expect(content).toMatchObject({
      uri: 'care://ann/tea/2/audio',
      mimeType: 'audio/wav',
      _meta: { version: 2 },
    })
    expect(Buffer.from(content.blob ?? '', 'base64').toString()).toBe('RIFF No sugar.')
  })

  it('says, past staleAfter, its age; it is spoken once for each text', async () => {
    await read('care://ann/weight/1/audio')
    await Promise.all([read('care://ann/weight/1/audio'), read('care://ann/weight/1/audio')])
    const texts = spoken.filter((text) => text.includes('71 kg'))
    expect(texts).toEqual(['Weighs 71 kg.\nPlease note: this was last changed today, by Dr Osei.'])
    await world.clock.advanceMsSettled(2 * DAY_MS)
    session.token = world.token(BOTH)
    session = await world.open(BOTH)
    user = await world.open(USER)
    const { content } = await read('care://ann/weight/1/audio')
    expect(Buffer.from(content.blob ?? '', 'base64').toString()).toContain('2 days ago')
  })

  it('that cannot be spoken is -32603, and tried again', async () => {
    await world.write({ domain: 'odd', value: 'unspeakable' })
    expect(await codeOf('resources/read', { uri: 'care://ann/odd/1/audio' })).toBe(-32603)
    expect(await codeOf('resources/read', { uri: 'care://ann/odd/1/audio' })).toBe(-32603)
    expect(spoken.filter((text) => text === 'unspeakable')).toHaveLength(2)
    expect(world.events).toContainEqual({
      kind: 'speech-failed',
      error: expect.any(SpeechUnavailable),
    })
  })

  it('where nothing can speak it is not listed and reads -32002', async () => {
    const silent = await mcpWorld()
    await silent.write({ domain: 'tea' })
    const held = await silent.open(BOTH)
    expect((await listAll(held)).some(({ uri }) => uri.endsWith('/audio'))).toBe(false)
    const uri = 'care://ann/tea/1/audio'
    expect(await codeOf('resources/read', { uri }, held)).toBe(-32002)
    expect(await codeOf('resources/subscribe', { uri }, held)).toBe(-32002)
    const { resourceTemplates } = await held.result('resources/templates/list')
    expect(JSON.stringify(resourceTemplates)).not.toContain('audio')
    await silent.close()
  })

  it('however its URI is spelled, it is one subscription', async () => {
    const before = world.endpoint.figures().subscriptions
    for (const uri of ['care://ann/tea/1/audio', 'care://ann/tea/v1/audio'])
      expect((await session.subscribe(uri)).result).toEqual({})
    expect(world.endpoint.figures().subscriptions).toBe(before + 1)
    await session.result('resources/unsubscribe', { uri: 'care://%61nn/tea/v1/audio' })
    expect(world.endpoint.figures().subscriptions).toBe(before)
  })

  it('of an internal record there is none', async () => {
    expect(await codeOf('resources/read', { uri: 'care-internal://ann/plan/1/audio' })).toBe(-32002)
  })
})

const cardPage = async (uri: string) =>
  (await user.result('resources/read', { uri }))['contents'] as Content[]

describe('the card', () => {
  it('ui://<service>/echo, content type text/html+skybridge', async () => {
    const { contents } = await user.result('resources/read', { uri: 'ui://care/echo' })
    expect(contents).toMatchObject([{ uri: 'ui://care/echo', mimeType: 'text/html+skybridge' }])
  })

  it('C12: the same page is also ui://care/echo-app as text/html;profile=mcp-app', async () => {
    const [echo] = await cardPage('ui://care/echo')
    const [app] = await cardPage('ui://care/echo-app')
    expect(app?.mimeType).toBe('text/html;profile=mcp-app')
    expect(app?.text).toBe(echo?.text)
    expect(echo?.text).toContain('textContent')
    expect(echo?.text).not.toMatch(/innerHTML|https?:/)
  })
})

const complete = async (
  ref: object,
  argument: object,
  given: { readonly arguments?: object; readonly by?: ClientSession } = {},
) => {
  const { arguments: known, by = session } = given
  const context = known === undefined ? {} : { context: { arguments: known } }
  const answer = await by.call('completion/complete', { ref, argument, ...context })
  if (answer.error !== undefined) return answer.error.code
  const completion = answer.result?.['completion'] as { values: string[] } | undefined
  return completion?.values
}

describe('completion', () => {
  const care = { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' }
  const internal = { type: 'ref/resource', uri: 'care-internal://{patient}/{domain}/{version}' }
  const tea = { patient: 'ann', domain: 'tea' }
  const plan = { patient: 'ann', domain: 'plan' }

  it('of {version} returns the available versions (newest first), resolved from the other URI arguments in the completion context', async () => {
    expect(await complete(care, { name: 'version', value: '' }, { arguments: tea })).toEqual([
      '3',
      '2',
      '1',
    ])
    expect(await complete(care, { name: 'version', value: 'v' }, { arguments: tea })).toEqual([
      'v3',
      'v2',
      'v1',
    ])
    expect(await complete(care, { name: 'version', value: '' })).toEqual([])
    expect(await complete(internal, { name: 'version', value: '' }, { arguments: plan })).toEqual([
      '1',
    ])
  })

  it('of patients and domains', async () => {
    expect(await complete(care, { name: 'patient', value: '' })).toEqual(['Bo Ö.', 'ann'])
    expect(
      await complete(care, { name: 'domain', value: 'w' }, { arguments: { patient: 'ann' } }),
    ).toEqual(['weight'])
    const prompt = { type: 'ref/prompt', name: 'brief_carer' }
    expect(await complete(prompt, { name: 'patient', value: 'a' })).toEqual(['ann'])
  })

  it('gives a user-scope principal nothing of internal records', async () => {
    expect(
      await complete(internal, { name: 'version', value: '' }, { arguments: plan, by: user }),
    ).toEqual([])
    expect(
      await complete(
        internal,
        { name: 'domain', value: '' },
        { arguments: { patient: 'ann' }, by: user },
      ),
    ).toEqual([])
    expect(await complete(internal, { name: 'patient', value: '' }, { by: user })).toEqual([])
  })

  it('of what does not exist is -32602', async () => {
    for (const [ref, name] of [
      [{ type: 'ref/prompt', name: 'other' }, 'patient'],
      [{ type: 'ref/prompt', name: 'constructor' }, 'patient'],
      [{ type: 'ref/prompt', name: 'brief_carer' }, 'other'],
      [{ type: 'ref/resource', uri: 'other://{x}' }, 'x'],
      [care, 'other'],
      [{ type: 'other' }, 'x'],
    ] as const)
      expect(await complete(ref, { name, value: '' })).toBe(-32602)
  })
})

const textOf = async (name: string, given: object, by = session): Promise<string> => {
  const result = await by.result('prompts/get', { name, arguments: given })
  const [message] = result['messages'] as { role: string; content: { text: string } }[]
  return message?.content.text ?? ''
}

describe('prompts', () => {
  it('prompts/list has brief_carer(patient) and whats_changed(patient, since?), with descriptions', async () => {
    const { prompts } = await session.result('prompts/list')
    expect(prompts).toMatchObject([
      {
        name: 'brief_carer',
        description: expect.any(String),
        arguments: [{ name: 'patient', required: true }],
      },
      {
        name: 'whats_changed',
        description: expect.any(String),
        arguments: [
          { name: 'patient', required: true },
          { name: 'since', required: false },
        ],
      },
    ])
  })

  it('brief_carer returns speakable-only text, also for a principal with both scopes', async () => {
    const text = await textOf('brief_carer', { patient: 'ann' })
    expect(text).toContain('tea: No sugar.\n[changed')
    expect(text).toContain('[STALE — last changed')
    expect(text).not.toMatch(/plan|falls|internal/)
    expect(await textOf('brief_carer', { patient: 'nobody' })).toContain('Nothing is recorded')
    const internal = await world.open(ASSISTANT)
    expect(await textOf('brief_carer', { patient: 'ann' }, internal)).toContain('Nothing is')
  })

  it('whats_changed returns the count of revisions and the previousValue, so it can retract', async () => {
    const text = await textOf('whats_changed', { patient: 'Bo Ö.' })
    expect(text).toContain('1 revision of')
    await world.write({ patient: 'Bo Ö.', domain: '50%?', value: 'Changed.' })
    const since = new Date(world.clock.unixMs()).toISOString()
    const changed = await textOf('whats_changed', { patient: 'Bo Ö.', since })
    expect(changed).toContain('1 revision of')
    expect(changed).toContain('"previousValue": "Odd names."')
    expect(changed).toContain('Please disregard “Odd names.”')
    expect(await textOf('whats_changed', { patient: 'Bo Ö.' })).toContain('2 revisions of')
    const later = new Date(world.clock.unixMs() + 1).toISOString()
    expect(await textOf('whats_changed', { patient: 'Bo Ö.', since: later })).toContain(
      '0 revisions',
    )
  })

  it('unknown prompts and malformed arguments are -32602', async () => {
    for (const params of [
      { name: 'other' },
      { name: 'brief_carer' },
      { name: 'brief_carer', arguments: {} },
      { name: 'brief_carer', arguments: { patient: 'a/b' } },
      { name: 'whats_changed', arguments: { patient: 'ann', since: 'yesterday' } },
      {},
    ])
      expect(await codeOf('prompts/get', params)).toBe(-32602)
  })
})

const callTool = async (name: string, given: object, by = session) =>
  (await by.result('tools/call', { name, arguments: given })) as {
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
  it('are list_records, read_record and whats_changed, read-only, with schemas, and the card bound by openai/outputTemplate and _meta.ui.resourceUri', async () => {
    const { tools } = (await session.result('tools/list')) as unknown as {
      tools: { name: string; description: string; annotations: object; _meta?: object }[]
    }
    expect(tools.map(({ name }) => name)).toEqual(['list_records', 'read_record', 'whats_changed'])
    for (const tool of tools)
      expect(tool).toMatchObject({
        description: expect.any(String),
        inputSchema: { type: 'object' },
        outputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
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
    const answer = await callTool('read_record', { uri: 'care://ann/tea/2' })
    expect(answer.content[0]?.text).toMatch(/^Correction from Dr Amara.*\nNo sugar\.\n\[changed/)
    expect(answer.structuredContent).toMatchObject({
      uri: 'care://ann/tea/2',
      version: 2,
      latestVersion: 3,
      value: 'No sugar.',
      previousValue: 'One sugar.',
      stale: false,
    })
  })

  it('a hidden and an absent record are the same result', async () => {
    const hidden = await callTool('read_record', { uri: 'care-internal://ann/plan' }, user)
    const absent = await callTool('read_record', { uri: 'care-internal://ann/absent' }, user)
    expect(hidden).toEqual(absent)
    expect(hidden).toMatchObject({ isError: true, content: [{ text: 'Resource not found' }] })
  })

  it('whats_changed says what changed as of now', async () => {
    const { structuredContent } = await callTool('whats_changed', { patient: 'ann' }, user)
    expect(structuredContent).toMatchObject({
      patient: 'ann',
      asOf: new Date(world.clock.unixMs()).toISOString(),
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

  it('arguments that do not fit are a result that a model can mend; an unknown tool is -32602', async () => {
    for (const [name, given] of [
      ['read_record', {}],
      ['read_record', { uri: 5 }],
      ['whats_changed', { patient: 'a|b' }],
      ['whats_changed', { patient: 'ann', other: 1 }],
      ['list_records', { cursor: 'x' }],
    ] as const)
      expect(await callTool(name, given)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^arguments/) }],
      })
    expect(await codeOf('tools/call', { name: 'other' })).toBe(-32602)
    expect(await codeOf('tools/call', {})).toBe(-32602)
  })
})

describe('a failing store', () => {
  it('is -32603 without a word of it, and is reported', async () => {
    const failing = await mcpWorld()
    const held = await failing.open(BOTH)
    failing.store.latest = () => Promise.reject(new Error('disk I/O error at /var/lib/care.db'))
    const answer = await held.call('resources/read', { uri: 'care://ann/tea' })
    expect(answer.error).toEqual({ code: -32603, message: 'Internal error' })
    expect(failing.events).toMatchObject([{ kind: 'request-failed' }])
    await failing.close()
  })
})
