// Random interleavings of writes, subscriptions, scope changes, drops, resumes and restarts, checked against a model that
// knows nothing about rings, cursors or sockets. For each session, it keeps the list of all frames that the session
// should receive.
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventReader } from './event-reader.fixture.ts'
import { parseEventId } from './event-streams.ts'
import { BOTH, type ClientSession, type McpFixture, startMcp, USER } from './mcp.fixture.ts'

/** Plans of 4 to 14 steps, of eight kinds: in the long run even the rarest two kinds follow each other some 50 times. */
const RUNS = process.env['TALLYSTICK_LONG'] === '1' ? 3_000 : 100
const SESSIONS = 2
const DOMAINS = ['tea', 'milk'] as const
const isInternal = (about: string): boolean => about.startsWith('care-internal:')

/** A frame in words: its method and what it is about. */
type ModelFrame = { readonly method: string; readonly about: string }

type ModelSession = {
  client: ClientSession
  /** All frames ever stored for it. */
  readonly frames: ModelFrame[]
  readonly subscriptions: Set<string>
  isBoth: boolean
  hearsNotices: boolean
  reader: EventReader | undefined
  /** Whether the token that opened its reader's stream may read both audiences: a stream shows what its own token may see (C48). */
  isReaderBoth: boolean
  /** The sequence after which its reader began, and the scopes under which each frame was written. */
  cursor: number
  lastEventId: string | undefined
  /** Newest frame that any stream has carried. */
  carried: number
}

type Action =
  | { readonly kind: 'write'; readonly domain: number; readonly internal: boolean }
  | {
      readonly kind: 'subscribe' | 'unsubscribe'
      readonly domain: number
      readonly internal: boolean
    }
  | { readonly kind: 'scope'; readonly both: boolean }
  | { readonly kind: 'level'; readonly isHigh: boolean }
  | { readonly kind: 'attach'; readonly resumes: boolean }
  | { readonly kind: 'drop' }
  | { readonly kind: 'restart' }

const target = { domain: fc.nat({ max: DOMAINS.length - 1 }), internal: fc.boolean() }
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), ...target }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('subscribe' as const), ...target }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unsubscribe' as const), ...target }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('scope' as const), both: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('level' as const), isHigh: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('attach' as const), resumes: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: 'drop' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)
const steps = fc.array(fc.tuple(fc.nat({ max: SESSIONS - 1 }), action), {
  minLength: 4,
  maxLength: 14,
})

/** Every run uses new chains, so that first versions are among the writes. */
let runNumber = 0

const uriOf = ({ domain, internal }: { domain: number; internal: boolean }): string =>
  `${internal ? 'care-internal' : 'care'}://ann/${DOMAINS[domain] ?? ''}${internal ? '-plan' : ''}-${runNumber}`

const inWordsOfEvent = ({ message }: EventReader['events'][number]): string | undefined => {
  if (message === undefined) return undefined
  const params = message.params as { uri?: string; data?: { uri?: string } } | undefined
  return `${message.method} ${params?.uri ?? params?.data?.uri ?? ''}`
}
const inWords = ({ method, about }: ModelFrame): string =>
  `${method} ${method.endsWith('list_changed') ? '' : about}`

/** What a reader should hold: everything stored after its cursor and in scope, nothing missed, nothing repeated, in order. */
function expected(model: ModelSession): readonly (readonly [number, string])[] {
  return model.frames
    .map((frame, index) => [index + 1, frame] as const)
    .filter(([sequence]) => sequence > model.cursor)
    .filter(([, { about }]) => (model.isBoth && model.isReaderBoth) || !isInternal(about))
    .map(([sequence, frame]) => [sequence, inWords(frame)] as const)
}

async function checkReader(model: ModelSession): Promise<void> {
  const { reader, client } = model
  if (reader === undefined) return
  const held = (): unknown =>
    reader.events
      .filter(({ message }) => message !== undefined)
      .map((event) => [parseEventId(client, event.id ?? ''), inWordsOfEvent(event)])
  await expect.poll(held, { interval: 1 }).toEqual(expected(model))
}

async function write(
  fixture: McpFixture,
  models: ModelSession[],
  step: Action & { kind: 'write' },
) {
  const about = uriOf(step)
  const domain = about.split('/').at(-1) ?? ''
  const { record, subscribers } = await fixture.write({
    domain,
    audience: step.internal ? 'assistant' : 'user',
  })
  let subscribed = 0
  for (const model of models) {
    const mayKnow = model.isBoth || !step.internal
    if (model.subscriptions.has(about)) {
      subscribed += 1
      model.frames.push({ method: 'notifications/resources/updated', about })
    }
    if (mayKnow && model.hearsNotices) model.frames.push({ method: 'notifications/message', about })
    if (mayKnow && record.version === 1)
      model.frames.push({ method: 'notifications/resources/list_changed', about })
  }
  expect(subscribers).toBe(subscribed)
}

/** Breaks the stream, after everything sent on it has arrived. */
async function drop(fixture: McpFixture, model: ModelSession): Promise<void> {
  const { reader } = model
  if (reader === undefined) return
  await checkReader(model)
  const streams = fixture.endpoint.figures().streams
  model.carried = Math.max(model.carried, model.frames.length)
  model.lastEventId = reader.lastEventId
  model.reader = undefined
  reader.drop()
  await expect.poll(() => fixture.endpoint.figures().streams, { interval: 1 }).toBe(streams - 1)
}

async function attach(fixture: McpFixture, model: ModelSession, resumes: boolean): Promise<void> {
  if (model.reader !== undefined) {
    // A second GET takes over from the first.
    await checkReader(model)
    model.carried = model.frames.length
    model.lastEventId = model.reader.lastEventId
  }
  const { lastEventId, client } = model
  const from = resumes ? lastEventId : undefined
  model.cursor = from === undefined ? model.carried : (parseEventId(client, from) ?? 0)
  const before = model.reader
  model.reader = await client.stream(from)
  model.isReaderBoth = model.isBoth
  if (before !== undefined) await expect.poll(() => before.hasEnded, { interval: 1 }).toBe(true)
  await expect.poll(() => model.reader?.events.length, { interval: 1 }).toBeGreaterThan(0)
  model.carried = model.frames.length
}

async function subscribe(
  fixture: McpFixture,
  model: ModelSession,
  step: Action & { kind: 'subscribe' | 'unsubscribe' },
): Promise<void> {
  const uri = uriOf(step)
  if (step.kind === 'unsubscribe') {
    await model.client.result('resources/unsubscribe', { uri })
    model.subscriptions.delete(uri)
    return
  }
  const domain = uri.split('/').at(-1) ?? ''
  const audience = step.internal ? 'assistant' : 'user'
  const isThere = (await fixture.store.head({ patient: 'ann', domain, audience })) !== undefined
  const answer = await model.client.subscribe(uri)
  const isAllowed = isThere && (model.isBoth || !step.internal)
  expect(answer.error?.code).toBe(isAllowed ? undefined : -32002)
  if (isAllowed) model.subscriptions.add(uri)
}

async function changeScope(model: ModelSession, both: boolean, fixture: McpFixture): Promise<void> {
  // What was written to the open stream was written under the earlier scopes.
  await checkReader(model)
  if (model.reader !== undefined) {
    model.cursor = model.frames.length
    model.reader.events.length = 0
    model.carried = model.frames.length
  }
  model.isBoth = both
  model.client.token = fixture.token(both ? BOTH : USER, { sub: 'host' })
  await model.client.result('ping')
  if (!both)
    for (const uri of model.subscriptions) if (isInternal(uri)) model.subscriptions.delete(uri)
}

async function run(fixture: McpFixture, models: ModelSession[], plan: readonly [number, Action][]) {
  for (const [who, step] of plan) {
    const model = models[who]
    if (model === undefined) throw new Error('the plan names a session that is not there')
    switch (step.kind) {
      case 'write':
        await write(fixture, models, step)
        break
      case 'subscribe':
      case 'unsubscribe':
        await subscribe(fixture, model, step)
        break
      case 'scope':
        await changeScope(model, step.both, fixture)
        break
      case 'level':
        await model.client.result('logging/setLevel', { level: step.isHigh ? 'alert' : 'info' })
        model.hearsNotices = !step.isHigh
        break
      case 'attach':
        await attach(fixture, model, step.resumes)
        break
      case 'drop':
        await drop(fixture, model)
        break
      case 'restart':
        for (const one of models) await drop(fixture, one)
        await fixture.restart()
        break
    }
  }
  for (const model of models) await checkReader(model)
}

async function newModel(fixture: McpFixture): Promise<ModelSession> {
  return {
    client: await fixture.open(BOTH),
    frames: [],
    subscriptions: new Set(),
    isBoth: true,
    hearsNotices: true,
    reader: undefined,
    isReaderBoth: true,
    cursor: 0,
    lastEventId: undefined,
    carried: 0,
  }
}

describe('random interleavings of writes, subscribes, scope changes, drops and resumes', () => {
  let fixture: McpFixture
  beforeAll(async () => {
    fixture = await startMcp({ limits: { sessionsPerSubMax: 10 } })
  })
  afterAll(async () => {
    await fixture.close()
  })

  it('agree with the model: a resumed stream misses nothing and repeats nothing', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        runNumber += 1
        const models: ModelSession[] = []
        for (let count = 0; count < SESSIONS; count += 1) models.push(await newModel(fixture))
        try {
          await run(fixture, models, plan)
        } finally {
          for (const model of models) {
            model.reader?.drop()
            await model.client.end()
          }
        }
        expect(fixture.endpoint.figures()).toMatchObject({ sessions: 0, framesHeld: 0 })
      }),
      { numRuns: RUNS },
    )
  })
})
