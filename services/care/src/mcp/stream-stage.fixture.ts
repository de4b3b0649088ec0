// What the tests of event streams share: a world with a chain of each audience, a session that reads both, and streams that
// are dropped when a test is over.
import { afterEach, beforeEach } from 'vitest'
import type { EventReader } from './event-reader.fixture.ts'
import { parseEventId } from './event-streams.ts'
import {
  BOTH,
  type ClientSession,
  type McpWorld,
  type McpWorldOptions,
  mcpWorld,
} from './mcp-world.fixture.ts'

export const TEA = 'care://ann/tea'
export const PLAN = 'care-internal://ann/plan'

type Written = ReturnType<McpWorld['write']>

export type StreamStage = {
  /** The world of the running test. */
  readonly world: McpWorld
  /** Open since before the test, with both scopes. */
  readonly session: ClientSession
  /** Starts the world anew, with other options. */
  start(options: McpWorldOptions): Promise<void>
  /** Opens the event stream of a session, this one's unless told otherwise. */
  readonly stream: (of?: ClientSession, lastEventId?: string) => Promise<EventReader>
  /** Writes to the chain that users may read. */
  readonly tea: (value: string) => Written
  /** Writes to the chain that only assistants may read. */
  readonly plan: (value: string) => Written
  /** Sequences of a reader's events so far. */
  readonly sequences: (reader: EventReader, of?: ClientSession) => unknown[]
}

/** Registers the hooks of a file: each test has a world of its own. */
export function useStreamStage(): StreamStage {
  const readers: EventReader[] = []
  let world: McpWorld
  let session: ClientSession
  const tea = (value: string): Written => world.write({ domain: 'tea', value })
  const plan = (value: string): Written =>
    world.write({ domain: 'plan', audience: 'assistant', value })
  const begin = async (options?: McpWorldOptions): Promise<void> => {
    world = await mcpWorld(options)
    await tea('v1')
    await plan('v1')
    session = await world.open(BOTH)
  }
  beforeEach(() => begin())
  afterEach(async () => {
    for (const reader of readers.splice(0)) reader.drop()
    await world.close()
  })
  return {
    get world() {
      return world
    },
    get session() {
      return session
    },
    async start(options) {
      await world.close()
      await begin(options)
    },
    stream: async (of = session, lastEventId) => {
      const reader = await of.stream(lastEventId)
      readers.push(reader)
      return reader
    },
    tea,
    plan,
    sequences: (reader, of = session) =>
      reader.events.map(({ id }) => (id === undefined ? id : parseEventId(of, id))),
  }
}
