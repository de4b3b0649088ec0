// What sessions are told: care.md's Events, and C6.
import { describe, expect, it } from 'vitest'
import { ASSISTANT, BOTH, USER } from './mcp.fixture.ts'
import { DEFAULT_MCP_LIMITS } from './sessions/limits.ts'
import { PLAN, TEA, useStreams } from './sessions/streams.fixture.ts'

const suite = useStreams()
const { stream, tea, plan, ids } = suite

describe('Events', () => {
  it('notifications/resources/updated | an accepted /write | sessions subscribed to the written URI whose principal holds the scope for the URI’s audience | params.uri', async () => {
    const deaf = await suite.fixture.open(BOTH)
    await suite.session.subscribe(TEA)
    const [mine, theirs] = [await stream(), await stream(deaf)]
    expect((await tea('v2')).subscribers).toBe(1)
    await expect.poll(() => mine.updated).toEqual([TEA])
    await expect.poll(() => theirs.methods).toEqual(['notifications/message'])
  })

  it('notifications/message (revision notice on the log channel) | an accepted /write | sessions whose principal may see that URI | params.data.uri and revision details', async () => {
    const user = await suite.fixture.open(USER)
    const assistant = await suite.fixture.open(ASSISTANT)
    const [both, spoken, internal] = [await stream(), await stream(user), await stream(assistant)]
    const { record } = await tea('v2')
    await plan('v2')
    await expect.poll(() => both.methods).toHaveLength(2)
    await expect.poll(() => spoken.messages).toHaveLength(1)
    await expect.poll(() => internal.messages).toHaveLength(1)
    expect(spoken.messages[0]?.params).toEqual({
      level: 'notice',
      logger: 'care/revisions',
      data: {
        uri: TEA,
        version: 2,
        previousVersion: 1,
        valueChanged: true,
        versionHash: record.versionHash,
        prevHash: record.prevHash,
        writtenAt: record.writtenAt,
        authorId: 'dr-osei',
        authorLabel: 'Dr Osei',
      },
    })
    expect(internal.messages[0]?.params).toMatchObject({ data: { uri: PLAN } })
  })

  it('a revision notice never holds a value', async () => {
    const reader = await stream()
    await tea('a very private sentence')
    await expect.poll(() => reader.methods).toHaveLength(1)
    expect(JSON.stringify(reader.messages)).not.toContain('private')
  })

  it('Setting logging/setLevel to a high level (for example emergency) suppresses the revision notice; notifications/resources/updated is still delivered', async () => {
    await suite.session.subscribe(TEA)
    for (const [level, isHeard] of [
      ['emergency', false],
      ['warning', false],
      ['notice', true],
      ['debug', true],
    ] as const) {
      await suite.session.result('logging/setLevel', { level })
      const reader = await stream()
      await tea(level)
      const heard = isHeard ? ['notifications/message'] : []
      await expect.poll(() => reader.methods).toEqual(['notifications/resources/updated', ...heard])
      reader.drop()
      await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(0)
    }
    const other = await suite.session.call('logging/setLevel', { level: 'loud' })
    expect(other.error?.code).toBe(-32602)
  })

  it('Frames are stored whether or not a stream is attached. On GET /mcp with last-event-id, frames after that event on the same stream are replayed in order', async () => {
    await suite.session.subscribe(TEA)
    const first = await stream()
    await tea('v2')
    await expect.poll(() => first.methods).toHaveLength(2)
    const [, updated] = first.events
    const sent = ids(first).slice(1)
    first.drop()
    await tea('v3')
    await plan('v2')
    const second = await stream(suite.session, updated?.id)
    await expect.poll(() => second.methods).toHaveLength(4)
    // The first is where it resumes; what was sent before has the same ids.
    expect(ids(second).slice(0, 2)).toEqual(sent)
    expect(new Set(ids(second)).size).toBe(5)
    expect(second.messages.map(({ params }) => params?.['data'] ?? params?.['uri'])).toMatchObject([
      { uri: TEA, version: 2 },
      TEA,
      { uri: TEA, version: 3 },
      { uri: PLAN, version: 2 },
    ])
  })

  it('Internal priming entries are skipped', async () => {
    const first = await stream()
    await expect.poll(() => first.events).toHaveLength(1)
    await tea('v2')
    await expect.poll(() => first.methods).toHaveLength(1)
    const again = await stream(suite.session, first.events[0]?.id)
    await expect.poll(() => again.events).toHaveLength(2)
    expect(again.messages).toHaveLength(1)
  })

  it('An unknown event id is an error (C3: 400 -32000)', async () => {
    await tea('v2')
    const other = await suite.fixture.open(BOTH)
    const foreign = await stream(other)
    await expect.poll(() => foreign.lastEventId).toBeDefined()
    const tag = (await stream().then(async (reader) => {
      await expect.poll(() => reader.lastEventId).toBeDefined()
      return reader.lastEventId
    })) as string
    for (const eventId of [
      'nonsense',
      '',
      `${tag.slice(0, -1)}_`,
      `${tag.slice(1)}A`,
      tag.toLowerCase(),
      `${tag}0`,
      foreign.lastEventId as string,
    ]) {
      const answer = await suite.fixture.request('GET', {
        token: suite.session.token,
        headers: { 'mcp-session-id': suite.session.id, 'last-event-id': eventId },
      })
      expect([eventId, answer.status]).toEqual([eventId, 400])
      expect(answer.body).toMatchObject({ id: null, error: { code: -32000 } })
    }
  })

  it('Replay re-authorizes each frame for the resuming principal: a frame naming a URI that the principal lacks the scope for is dropped silently', async () => {
    await suite.session.subscribe(PLAN)
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    first.drop()
    await plan('v2')
    await tea('v2')
    await suite.fixture.write({ domain: 'new-plan', audience: 'assistant' })
    suite.session.token = suite.fixture.token(USER)
    const second = await stream(suite.session, first.lastEventId)
    await expect.poll(() => second.messages).toHaveLength(1)
    expect(JSON.stringify(second.events)).not.toContain('internal')
    expect(second.messages[0]?.params).toMatchObject({ data: { uri: TEA } })
    suite.session.token = suite.fixture.token(BOTH)
    const third = await stream(suite.session, first.lastEventId)
    await expect
      .poll(() => third.methods)
      .toEqual([
        'notifications/message',
        'notifications/message',
        'notifications/message',
        'notifications/resources/list_changed',
      ])
  })

  it('The event store keeps the latest 2048 frames by default; older ones are dropped', async () => {
    expect(DEFAULT_MCP_LIMITS.replayFramesMax).toBe(2048)
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    const start = first.lastEventId as string
    first.drop()
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(0)
    for (let count = 0; count < 2048; count += 1) await tea(`v${count}`)
    const whole = await stream(suite.session, start)
    await expect.poll(() => whole.messages).toHaveLength(2048)
    whole.drop()
    const [, second] = ids(whole)
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(0)
    await tea('one more')
    await expect(suite.session.stream(start)).rejects.toThrow('400')
    const rest = await stream(suite.session, second)
    await expect.poll(() => rest.messages).toHaveLength(2048)
  })
})

describe('C6', () => {
  it('a new chain sends notifications/resources/list_changed to sessions that may list it', async () => {
    const user = await suite.fixture.open(USER)
    const [both, spoken] = [await stream(), await stream(user)]
    await suite.fixture.write({ domain: 'new', audience: 'assistant' })
    await suite.fixture.write({ domain: 'newer' })
    const listChanged = 'notifications/resources/list_changed'
    await expect.poll(() => both.methods.filter((each) => each === listChanged)).toHaveLength(2)
    await expect.poll(() => spoken.methods).toEqual(['notifications/message', listChanged])
    await suite.fixture.write({ domain: 'newer' })
    await expect.poll(() => spoken.methods).toHaveLength(3)
    expect(spoken.methods.filter((each) => each === listChanged)).toHaveLength(1)
  })

  it('however a URI is spelled, it is one subscription', async () => {
    const before = suite.fixture.endpoint.figures().subscriptions
    for (const uri of [TEA, 'care://ann/%74ea', `${TEA}/1`, `${TEA}/v1`])
      await suite.session.subscribe(uri)
    expect(suite.fixture.endpoint.figures().subscriptions).toBe(before + 2)
    await suite.session.result('resources/unsubscribe', { uri: 'care://%61nn/tea' })
    await suite.session.result('resources/unsubscribe', { uri: 'care://ann/tea/v1' })
    expect(suite.fixture.endpoint.figures().subscriptions).toBe(before)
  })

  it('a subscription to a numbered version is accepted and never fires', async () => {
    for (const uri of [`${TEA}/1`, `${TEA}/v1`, 'ui://care/echo'])
      expect((await suite.session.subscribe(uri)).result).toEqual({})
    expect((await suite.session.subscribe(`${TEA}/2`)).error?.code).toBe(-32002)
    const reader = await stream()
    expect((await tea('v2')).subscribers).toBe(0)
    await expect.poll(() => reader.methods).toEqual(['notifications/message'])
  })
})
