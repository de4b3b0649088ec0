// C3: what happens to a reader that accepts nothing.
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openSqliteSideRows } from '../adapters/side-rows.ts'
import { openSessionStore } from '../adapters/write-behind-sessions.ts'
import { chainUri } from '../wire/record-uri.ts'
import { EventStream } from './event-streams.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'
import { USER } from './mcp.fixture.ts'
import type { StreamEnd } from './open-stream.ts'
import { createReplayBuffer } from './replay-buffer.ts'
import { McpSession } from './session-registry.ts'
import { TEA, useStreams } from './streams.fixture.ts'

const suite = useStreams()
const { stream, sequences } = suite

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

/** A stream whose reader takes nothing until `take` is called, and the buffer that its frames come from. */
const stalledStream = (lagBytesMax: number) => {
  const store = openSessionStore(openSqliteSideRows(':memory:'))
  const limits = { ...DEFAULT_MCP_LIMITS, lagBytesMax }
  const replay = createReplayBuffer(store, limits.replayFramesMax)
  const session = new McpSession(
    {
      number: 1,
      id: 'one',
      sub: 'host',
      scopes: [USER],
      createdAtMs: 0,
      lastSequence: 0,
      carriedSequence: 0,
    },
    0,
  )
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
  const opened = new EventStream({
    session,
    response: response as unknown as ServerResponse,
    claims: { sub: 'host', scopes: [USER], expiresAtSeconds: Number.POSITIVE_INFINITY },
    isRevoked: () => false,
    chance: () => 0,
    cursor: 0,
    limits,
    clock: suite.fixture.clock,
    onUpdate: () => undefined,
    onEnd: (_stream, reason) => ends.push(reason),
  })
  opened.open()
  const add = (message: object): void => {
    replay.add({ message, about: TEA, recipients: [session] })
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
    const all = Array.from({ length: 2 * writes + 1 }, (_, index) => index)
    expect(
      sequences(resumed).map((sequence) => Number(sequence) - Number(start.split('-').at(-1))),
    ).toEqual(all)
  })

  it('that drains nothing until the ring has moved on is cut, and its resume refused: never a silent gap', async () => {
    await suite.start({ limits: { replayFramesMax: 8, lagFramesMax: 1_000 } })
    const socket = openUnread()
    await expect.poll(() => suite.fixture.endpoint.figures().streams).toBe(1)
    while (cutCount() === 0) {
      await suite.fixture.write(LONG)
      await new Promise((resolve) => setImmediate(resolve))
    }
    socket.destroy()
    await expect(suite.session.stream(`${suite.session.id.slice(0, 12)}-1`)).rejects.toThrow('400')
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
    const message = { method: 'notifications/message', params: character.repeat(300) }
    const frameBytes = Buffer.byteLength(JSON.stringify(message))
    const { add, ends, response } = stalledStream(3 * frameBytes)
    for (let count = 0; count < 3; count += 1) add(message)
    expect(ends).toEqual([])
    add(message)
    expect(ends).toEqual(['slow'])
    suite.fixture.clock.advanceMs(5_000)
    expect(response.destroyed).toBe(true)
  })

  it('C36: is told to come back at once, if it takes what waits within 5 s', async () => {
    const { add, ends, response, take, taken } = stalledStream(1)
    add({ method: 'notifications/message', params: 'x' })
    expect(ends).toEqual(['slow'])
    await take()
    expect(taken.at(-1)).toBe('retry: 500\n\n')
    await expect.poll(() => response.destroyed).toBe(true)
  })
})
