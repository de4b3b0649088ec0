// C3: what happens to a reader that accepts nothing.
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { isBefore } from '../../domain/position.ts'
import { chainUri } from '../../wire/record-uri.ts'
import { USER } from '../mcp.fixture.ts'
import { createEventIds } from './event-ids.ts'
import { EventStream } from './event-streams.ts'
import { Happening, type Listener } from './frames.ts'
import { JournalPages } from './journal-pages.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'
import { McpSession } from './mcp-session.ts'
import type { StreamEnd } from './open-stream.ts'
import { useStreams } from './streams.fixture.ts'

const suite = useStreams()
const { stream, ids } = suite

/** A record with long frames, to fill buffers. */
const LONG = { domain: 'x'.repeat(3_900) }

/** How many streams were cut because their reader lagged. */
const cutCount = (): number =>
  suite.fixture.events.filter((event) => event.kind === 'stream-ended' && event.reason === 'slow')
    .length

/** A stream whose client never reads, directly on the socket. */
const openUnread = (): Socket => {
  const { id, token } = suite.session
  const socket = connect(Number(new URL(suite.fixture.url).port), '127.0.0.1')
  socket.pause()
  socket.on('error', () => undefined)
  socket.write(
    `GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\nmcp-session-id: ${id}\r\n\r\n`,
  )
  return socket
}

/** The `count`th version of a record by an author of that name. */
const happeningBy = (authorLabel: string, count: number): Happening => {
  const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
  const at = { user: count, assistant: 0 }
  const version = count + 1
  const happening = new Happening({
    slot,
    at,
    first: 0,
    version,
    changesList: false,
    serviceName: 'care',
  })
  const texts = { value: '', authorId: '', writtenAt: '', versionHash: '', prevHash: '' }
  const record = { ...slot, ...texts, version, authorLabel }
  happening.revision = { record, previous: undefined }
  return happening
}

/** A stream whose reader takes nothing until `take` is called, and a way to let something happen. */
const stalledStream = (lagBytesMax: number) => {
  const limits = { ...DEFAULT_MCP_LIMITS, lagBytesMax }
  const start = { user: 1, assistant: 0, frames: 0 }
  const stored = { number: 1, id: 'one', sub: 'host', scopes: [USER], createdAtMs: 0 }
  const session = new McpSession({ ...stored, carried: start, changes: 1, streamEpoch: 1 }, 0, 0)
  const ends: StreamEnd[] = []
  const taken: string[] = []
  const taking: (() => void)[] = []
  const response = new Writable({
    highWaterMark: 1,
    write: (chunk, _encoding, done) => {
      taken.push(String(chunk))
      taking.push(done)
    },
  })
  const remaining: Happening[] = []
  const opened = new EventStream({
    session,
    epoch: 1,
    response: response as unknown as ServerResponse,
    claims: { sub: 'host', scopes: [USER], expiresAtSeconds: Number.POSITIVE_INFINITY },
    isRevoked: () => false,
    chance: () => 0,
    from: start,
    isCoalesced: false,
    eventIds: createEventIds(Buffer.alloc(32)),
    follower: {
      end: () => remaining.at(-1)?.end ?? start,
      floor: () => start,
      keptFrom: (from) => remaining.filter(({ end }) => isBefore(from, end)),
      looks: {
        reached: start,
        isFresh: true,
        hasOthers: false,
        reach: async () => undefined,
        again: async () => undefined,
      },
      wake: () => undefined,
      pages: new JournalPages(suite.fixture.store, 'care'),
    },
    limits,
    clock: suite.fixture.clock,
    onUpdate: () => undefined,
    onFailure: () => undefined,
    keepCarried: () => undefined,
    onEnd: (_stream, reason) => ends.push(reason),
  })
  opened.open()
  const add = (authorLabel: string): void => {
    remaining.push(happeningBy(authorLabel, remaining.length + 1))
    opened.pump()
  }
  const take = async (): Promise<void> => {
    for (let done = taking.shift(); done !== undefined; done = taking.shift()) {
      done()
      await new Promise<void>((resolve) => void setImmediate(resolve))
    }
  }
  return { add, ends, response, take, taken }
}

describe('C3: a slow reader', () => {
  it('is cut off at a bounded buffer and resumes', async () => {
    const { record } = await suite.fixture.write(LONG)
    await suite.session.subscribe(chainUri(record))
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    const start = first.lastEventId as string
    const socket = openUnread()
    await expect.poll(() => first.hasEnded).toBe(true)
    let writes = 0
    while (cutCount() === 0 && writes < 2_000) {
      await suite.fixture.write(LONG)
      writes += 1
      // Sockets are written to between iterations of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(cutCount()).toBe(1)
    expect(suite.fixture.endpoint.figures().streams).toBe(0)
    socket.destroy()
    const resumed = await stream(suite.session, start)
    await expect.poll(() => resumed.updated).toHaveLength(writes)
    expect(resumed.methods).toHaveLength(2 * writes)
    expect(new Set(ids(resumed)).size).toBe(2 * writes + 1)
  })

  it('that drains nothing until more is behind than a replay reaches is cut, and its resume refused: never a silent gap', async () => {
    await suite.start({ limits: { replayFramesMax: 8, lagFramesMax: 1_000 } })
    const first = await stream()
    await expect.poll(() => first.lastEventId).toBeDefined()
    const start = first.lastEventId
    const socket = openUnread()
    await expect.poll(() => first.hasEnded).toBe(true)
    while (cutCount() === 0) {
      await suite.fixture.write(LONG)
      await new Promise((resolve) => setImmediate(resolve))
    }
    socket.destroy()
    await expect(suite.session.stream(start)).rejects.toThrow('400')
  })

  it('that takes nothing is cut after a time', async () => {
    await suite.start({ limits: { lagFramesMax: 100_000, lagBytesMax: 1e9 } })
    const { record } = await suite.fixture.write(LONG)
    await suite.session.subscribe(chainUri(record))
    const socket = openUnread()
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(1)
    // More than the sockets' buffers hold.
    for (let count = 0; count < 1_200; count += 1) {
      await suite.fixture.write(LONG)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(cutCount()).toBe(0)
    await suite.fixture.clock.advanceMsSettled(DEFAULT_MCP_LIMITS.stallMs + 15_000)
    expect(cutCount()).toBe(1)
    expect(suite.fixture.endpoint.figures().streams).toBe(0)
    socket.destroy()
  })

  it.each([
    ['of one byte', 'x'],
    ['of two bytes', 'é'],
    ['of three bytes', '藥'],
  ])('is cut at its limit in bytes, with characters %s', (_size, character) => {
    const label = character.repeat(200)
    const listener = { session: { scopes: [USER] }, ownScopes: [USER] } as unknown as Listener
    const at = { user: 0, assistant: 0, frames: 0 }
    const [frame] = happeningBy(label, 1).framesFor(listener, at)
    const { add, ends, response } = stalledStream(3 * Buffer.byteLength(frame?.text ?? ''))
    for (let count = 0; count < 3; count += 1) add(label)
    expect(ends).toEqual([])
    add(label)
    expect(ends).toEqual(['slow'])
    suite.fixture.clock.advanceMs(5_000)
    expect(response.destroyed).toBe(true)
  })

  it('C36: is told to come back at once, if it takes what waits within 5 s', async () => {
    const { add, ends, response, take, taken } = stalledStream(1)
    add('x')
    expect(ends).toEqual(['slow'])
    await take()
    expect(taken.at(-1)).toBe('retry: 500\n\n')
    await expect.poll(() => response.destroyed).toBe(true)
  })
})
