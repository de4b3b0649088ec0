// The event stream and its replay: care.md's Events, and C3 and C4.
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chainUri } from '../domain/record-uri.ts'
import { parseEventId } from './event-id.ts'
import type { EventReader } from './event-reader.fixture.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'
import {
  ASSISTANT,
  BOTH,
  type ClientSession,
  type McpWorld,
  mcpWorld,
  USER,
} from './mcp-world.fixture.ts'

const TEA = 'care://ann/tea'
const PLAN = 'care-internal://ann/plan'

/** A record whose frames are long, to fill buffers with. */
const LONG = { domain: 'x'.repeat(3_900) }

let world: McpWorld
let session: ClientSession
const readers: EventReader[] = []

const stream = async (of: ClientSession = session, lastEventId?: string): Promise<EventReader> => {
  const reader = await of.stream(lastEventId)
  readers.push(reader)
  return reader
}
const tea = (value: string) => world.write({ domain: 'tea', value })
const plan = (value: string) => world.write({ domain: 'plan', audience: 'assistant', value })
/** Streams that were cut because their reader lagged. */
const cutCount = (): number =>
  world.events.filter((event) => event.kind === 'stream-ended' && event.reason === 'slow').length
const sequences = (reader: EventReader, of: ClientSession = session): unknown[] =>
  reader.events.map(({ id }) => (id === undefined ? id : parseEventId(of, id)))

beforeEach(async () => {
  world = await mcpWorld()
  await tea('v1')
  await plan('v1')
  session = await world.open(BOTH)
})
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.drop()
  await world.close()
})

describe('Events', () => {
  it('notifications/resources/updated | an accepted /write | sessions subscribed to the written URI whose principal holds the scope for the URI’s audience | params.uri', async () => {
    const deaf = await world.open(BOTH)
    await session.subscribe(TEA)
    const [mine, theirs] = [await stream(), await stream(deaf)]
    expect((await tea('v2')).subscribers).toBe(1)
    await expect.poll(() => mine.updated).toEqual([TEA])
    await expect.poll(() => theirs.methods).toEqual(['notifications/message'])
  })

  it('notifications/message (revision notice on the log channel) | an accepted /write | sessions whose principal may see that URI | params.data.uri and revision details', async () => {
    const user = await world.open(USER)
    const assistant = await world.open(ASSISTANT)
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
    await session.subscribe(TEA)
    for (const [level, isHeard] of [
      ['emergency', false],
      ['warning', false],
      ['notice', true],
      ['debug', true],
    ] as const) {
      await session.result('logging/setLevel', { level })
      const reader = await stream()
      await tea(level)
      const heard = isHeard ? ['notifications/message'] : []
      await expect.poll(() => reader.methods).toEqual(['notifications/resources/updated', ...heard])
      reader.drop()
      await expect.poll(() => world.endpoint.figures().streams).toBe(0)
    }
    const other = await session.call('logging/setLevel', { level: 'loud' })
    expect(other.error?.code).toBe(-32602)
  })

  it('Frames are stored whether or not a stream is attached. On GET /mcp with last-event-id, frames after that event on the same stream are replayed in order', async () => {
    await session.subscribe(TEA)
    const first = await stream()
    await tea('v2')
    await expect.poll(() => first.methods).toHaveLength(2)
    const [, updated] = first.events
    first.drop()
    await tea('v3')
    await plan('v2')
    const second = await stream(session, updated?.id)
    await expect.poll(() => second.methods).toHaveLength(4)
    expect(sequences(second)).toEqual([1, 2, 3, 4, 5])
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
    const again = await stream(session, first.events[0]?.id)
    await expect.poll(() => again.events).toHaveLength(2)
    expect(again.messages).toHaveLength(1)
  })

  it('An unknown event id is an error (C3: 400 -32000)', async () => {
    await tea('v2')
    const other = await world.open(BOTH)
    const foreign = await stream(other)
    await expect.poll(() => foreign.lastEventId).toBeDefined()
    const tag = (await stream().then(async (reader) => {
      await expect.poll(() => reader.lastEventId).toBeDefined()
      return reader.lastEventId
    })) as string
    for (const eventId of [
      'nonsense',
      '',
      tag.replace(/\d+$/, '99'),
      tag.replace(/\d+$/, '01'),
      tag.replace(/\d+$/, '-1'),
      `${tag}0`,
      foreign.lastEventId as string,
    ]) {
      const answer = await world.request('GET', {
        token: session.token,
        headers: { 'mcp-session-id': session.id, 'last-event-id': eventId },
      })
      expect([eventId, answer.status]).toEqual([eventId, 400])
      expect(answer.body).toMatchObject({ id: null, error: { code: -32000 } })
    }
  })

  it('Replay re-authorizes each frame for the resuming principal: a frame naming a URI that the principal lacks the scope for is dropped silently', async () => {
    await session.subscribe(PLAN)
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    first.drop()
    await plan('v2')
    await tea('v2')
    await world.write({ domain: 'new-plan', audience: 'assistant' })
    session.token = world.token(USER)
    const second = await stream(session, first.lastEventId)
    await expect.poll(() => second.messages).toHaveLength(1)
    expect(JSON.stringify(second.events)).not.toContain('internal')
    expect(second.messages[0]?.params).toMatchObject({ data: { uri: TEA } })
    session.token = world.token(BOTH)
    const third = await stream(session, first.lastEventId)
    await expect
      .poll(() => third.methods)
      .toEqual([
        'notifications/resources/updated',
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
    await expect.poll(() => world.endpoint.figures().streams).toBe(0)
    for (let count = 0; count < 2048; count += 1) await tea(`v${count}`)
    const whole = await stream(session, start)
    await expect.poll(() => whole.messages, { timeout: 5_000 }).toHaveLength(2048)
    whole.drop()
    await expect.poll(() => world.endpoint.figures().streams).toBe(0)
    await tea('one more')
    expect(world.endpoint.figures().framesHeld).toBe(2048)
    await expect(session.stream(start)).rejects.toThrow('400')
    const rest = await stream(session, start.replace(/\d+$/, '1'))
    await expect.poll(() => rest.messages, { timeout: 5_000 }).toHaveLength(2048)
  })
})

describe('C3: the stream', () => {
  it('is primed with an event id at once', async () => {
    const reader = await stream()
    await expect.poll(() => sequences(reader)).toEqual([0])
    expect(reader.retries).toEqual([500])
    expect(reader.headers['content-type']).toBe('text/event-stream')
  })

  it('one logical GET stream per session; the newest GET wins', async () => {
    await session.subscribe(TEA)
    const [first, second] = [await stream(), await stream()]
    await expect.poll(() => first.hasEnded).toBe(true)
    await tea('v2')
    await expect.poll(() => second.updated).toEqual([TEA])
    expect(first.updated).toEqual([])
    expect(world.endpoint.figures().streams).toBe(1)
    // Told to come back late, so that two clients do not push each other out in turn.
    expect(first.retries).toEqual([500, 15_000])
  })

  it('a GET without Last-Event-ID first gets the frames that no stream of the session has carried', async () => {
    await session.subscribe(TEA)
    await tea('v2')
    const first = await stream()
    await expect.poll(() => first.updated).toEqual([TEA])
    first.drop()
    await expect.poll(() => world.endpoint.figures().streams).toBe(0)
    const second = await stream()
    await expect.poll(() => sequences(second)).toEqual([2])
    second.drop()
    await expect.poll(() => world.endpoint.figures().streams).toBe(0)
    await tea('v3')
    const third = await stream()
    await expect.poll(() => sequences(third)).toEqual([2, 3, 4])
  })

  it('keep-alive at least every 15 s', async () => {
    const reader = await stream()
    for (let round = 1; round <= 4; round += 1) {
      await world.clock.advanceMsSettled(15_000)
      await expect.poll(() => reader.comments.length).toBeGreaterThanOrEqual(round)
    }
    expect(new Set(reader.comments)).toEqual(new Set(['keep-alive']))
  })

  it('a frame is stored once and shared between sessions', async () => {
    for (let count = 0; count < 20; count += 1) await (await world.open(BOTH)).subscribe(TEA)
    await tea('v2')
    expect(world.endpoint.figures().framesHeld).toBe(2)
  })
})

/** A stream whose client never reads, straight on the socket. */
const openUnread = (id: string, token: string) => {
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
  socket.pause()
  socket.on('error', () => undefined)
  socket.write(
    `GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\nmcp-session-id: ${id}\r\n\r\n`,
  )
  return socket
}

describe('C3: a slow reader', () => {
  it('is cut off at a bounded buffer and resumes', async () => {
    const { record } = await world.write(LONG)
    await session.subscribe(chainUri(record))
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    const start = first.lastEventId as string
    const socket = openUnread(session.id, session.token)
    await expect.poll(() => first.hasEnded).toBe(true)
    let writes = 0
    while (cutCount() === 0 && writes < 2_000) {
      await world.write(LONG)
      writes += 1
      // Sockets are written to between turns of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(cutCount()).toBe(1)
    expect(world.endpoint.figures().streams).toBe(0)
    socket.destroy()
    const resumed = await stream(session, start)
    await expect.poll(() => resumed.updated, { timeout: 5_000 }).toHaveLength(writes)
    const all = Array.from({ length: 2 * writes + 1 }, (_, index) => index)
    expect(
      sequences(resumed).map((sequence) => Number(sequence) - Number(start.split('-').at(-1))),
    ).toEqual(all)
  })

  it('that drains nothing until the ring has moved on is cut, and its resume refused: never a silent gap', async () => {
    await world.close()
    world = await mcpWorld({ limits: { replayFramesMax: 8, lagFramesMax: 1_000 } })
    session = await world.open(BOTH)
    const socket = openUnread(session.id, session.token)
    await expect.poll(() => world.endpoint.figures().streams).toBe(1)
    while (cutCount() === 0) {
      await world.write(LONG)
      await new Promise((resolve) => setImmediate(resolve))
    }
    socket.destroy()
    await expect(session.stream(`${session.id.slice(0, 12)}-1`)).rejects.toThrow('400')
  })

  it('that takes nothing is cut by time', async () => {
    await world.close()
    world = await mcpWorld({ limits: { lagFramesMax: 100_000, lagBytesMax: 1e9 } })
    session = await world.open(BOTH)
    const { record } = await world.write(LONG)
    await session.subscribe(chainUri(record))
    const socket = openUnread(session.id, session.token)
    await expect.poll(() => world.endpoint.figures().streams).toBe(1)
    // More than the sockets' buffers hold.
    for (let count = 0; count < 1_200; count += 1) {
      await world.write(LONG)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(cutCount()).toBe(0)
    await world.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.stallMs + 15_000)
    expect(cutCount()).toBe(1)
    expect(world.endpoint.figures().streams).toBe(0)
    socket.destroy()
  })
})

describe('C4', () => {
  it('an open stream ends when the token that opened it expires; the session lives on', async () => {
    session.token = world.token(BOTH, { lifetimeSeconds: 60 })
    await session.subscribe(TEA)
    const reader = await stream()
    await world.clock.advanceMsSettled(59_000)
    expect(world.endpoint.figures().streams).toBe(1)
    await world.clock.advanceMsSettled(2_000)
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(world.endpoint.figures()).toMatchObject({ sessions: 1, streams: 0 })
    expect(reader.retries).toEqual([500, 500])
  })

  it('nothing is sent on a stream past its token’s expiry, also before the clock’s next tick', async () => {
    session.token = world.token(BOTH, { lifetimeSeconds: 60 })
    await session.subscribe(TEA)
    const reader = await stream()
    await world.clock.advanceMsSettled(59_999)
    await world.clock.advanceMsSettled(1)
    await tea('v2')
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.messages).toEqual([])
  })

  it('a frame is stored for every session that is to receive it by its last scopes, its token expired or not', async () => {
    session.token = world.token(BOTH, { lifetimeSeconds: 60 })
    await session.subscribe(TEA)
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    await world.clock.advanceMsSettled(120_000)
    expect((await tea('v2')).subscribers).toBe(1)
    session.token = world.token(BOTH)
    const second = await stream(session, first.lastEventId)
    await expect.poll(() => second.updated).toEqual([TEA])
  })

  it('subscribers counts only the subscribed', async () => {
    await world.open(BOTH)
    const other = await world.open(USER)
    expect((await tea('v2')).subscribers).toBe(0)
    await session.subscribe(TEA)
    await session.subscribe(`${TEA}/1`)
    await other.subscribe(TEA)
    expect((await tea('v3')).subscribers).toBe(2)
    await other.result('resources/unsubscribe', { uri: TEA })
    await other.result('resources/unsubscribe', { uri: TEA })
    expect((await tea('v4')).subscribers).toBe(1)
  })

  it('a session refreshed with fewer scopes loses the subscriptions that it no longer covers', async () => {
    await session.subscribe(PLAN)
    await session.subscribe(TEA)
    session.token = world.token(USER)
    await session.result('ping')
    expect((await plan('v2')).subscribers).toBe(0)
    expect((await tea('v2')).subscribers).toBe(1)
    session.token = world.token(BOTH)
    await session.result('ping')
    expect((await plan('v3')).subscribers).toBe(0)
  })
})

describe('C6', () => {
  it('a new chain sends notifications/resources/list_changed to sessions that may list it', async () => {
    const user = await world.open(USER)
    const [both, spoken] = [await stream(), await stream(user)]
    await world.write({ domain: 'new', audience: 'assistant' })
    await world.write({ domain: 'newer' })
    const listChanged = 'notifications/resources/list_changed'
    await expect.poll(() => both.methods.filter((one) => one === listChanged)).toHaveLength(2)
    await expect.poll(() => spoken.methods).toEqual(['notifications/message', listChanged])
    await world.write({ domain: 'newer' })
    await expect.poll(() => spoken.methods).toHaveLength(3)
    expect(spoken.methods.filter((one) => one === listChanged)).toHaveLength(1)
  })

  it('however a URI is spelled, it is one subscription', async () => {
    const before = world.endpoint.figures().subscriptions
    for (const uri of [TEA, 'care://ann/%74ea', `${TEA}/1`, `${TEA}/v1`])
      await session.subscribe(uri)
    expect(world.endpoint.figures().subscriptions).toBe(before + 2)
    await session.result('resources/unsubscribe', { uri: 'care://%61nn/tea' })
    await session.result('resources/unsubscribe', { uri: 'care://ann/tea/v1' })
    expect(world.endpoint.figures().subscriptions).toBe(before)
  })

  it('a subscription to a numbered version is accepted and never fires', async () => {
    for (const uri of [`${TEA}/1`, `${TEA}/v1`, 'ui://care/echo'])
      expect((await session.subscribe(uri)).result).toEqual({})
    expect((await session.subscribe(`${TEA}/2`)).error?.code).toBe(-32002)
    const reader = await stream()
    expect((await tea('v2')).subscribers).toBe(0)
    await expect.poll(() => reader.methods).toEqual(['notifications/message'])
  })
})

describe('the application closing', () => {
  it('ends streams with retry:, and closes at once', async () => {
    const reader = await stream()
    await world.restart()
    await expect.poll(() => reader.hasEnded).toBe(true)
    expect(reader.retries).toEqual([500, 500])
  })
})
