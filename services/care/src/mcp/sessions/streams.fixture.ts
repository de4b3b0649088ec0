// Shared by the tests of event streams: a fixture with a chain for each audience, a session that reads both, and streams
// that are dropped after each test.
import { afterEach, beforeEach } from 'vitest'
import type { NewRecord } from '../../domain/care-record.ts'
import {
  BOTH,
  type ClientSession,
  type McpFixture,
  type McpFixtureOptions,
  startMcp,
} from '../mcp.fixture.ts'
import type { EventReader } from './event-reader.fixture.ts'

export const TEA = 'care://ann/tea'
export const PLAN = 'care-internal://ann/plan'

type Written = ReturnType<McpFixture['write']>

type StreamFixture = {
  /** The fixture of the running test. */
  readonly fixture: McpFixture
  /** Open since before the test, with both scopes. */
  readonly session: ClientSession
  /** Restarts the fixture with other options. */
  start(options: McpFixtureOptions): Promise<void>
  /** Opens a session's event stream, by default this session's. */
  readonly stream: (source?: ClientSession, lastEventId?: string) => Promise<EventReader>
  /** Writes to the chain that users may read. */
  readonly tea: (value: string, over?: Partial<NewRecord>) => Written
  /** Writes to the chain that only assistants may read. */
  readonly plan: (value: string) => Written
  /** Ids of a reader's events so far. */
  readonly ids: (reader: EventReader) => readonly (string | undefined)[]
}

/** Registers a file's hooks: each test has its own fixture. */
export function useStreams(): StreamFixture {
  const readers: EventReader[] = []
  let fixture: McpFixture
  let session: ClientSession
  const tea = (value: string, over?: Partial<NewRecord>): Written =>
    fixture.write({ domain: 'tea', value, ...over })
  const plan = (value: string): Written =>
    fixture.write({ domain: 'plan', audience: 'assistant', value })
  const begin = async (options?: McpFixtureOptions): Promise<void> => {
    fixture = await startMcp(options)
    await tea('v1')
    await plan('v1')
    session = await fixture.open(BOTH)
  }
  beforeEach(() => begin())
  afterEach(async () => {
    for (const reader of readers.splice(0)) reader.drop()
    await fixture.close()
  })
  return {
    get fixture() {
      return fixture
    },
    get session() {
      return session
    },
    async start(options) {
      await fixture.close()
      await begin(options)
    },
    stream: async (name = session, lastEventId) => {
      const reader = await name.stream(lastEventId)
      readers.push(reader)
      return reader
    },
    tea,
    plan,
    ids: (reader) => reader.events.map(({ id }) => id),
  }
}
