// Random interleavings of writes, subscriptions, scope changes, drops, resumes and restarts, checked against a model that
// knows nothing about windows, pages or sockets: all that was written, in order, and for each stream what it should have told.
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BOTH, type ClientSession, type McpFixture, startMcp, USER } from './mcp.fixture.ts'
import type { EventReader } from './sessions/event-reader.fixture.ts'

/** Plans of 4 to 14 steps, of eight kinds: in the long run even the rarest two kinds follow each other some 50 times. */
const RUNS = process.env['TALLYSTICK_LONG'] === '1' ? 3_000 : 100
const SESSIONS = 2
const DOMAINS = ['tea', 'milk'] as const
const isInternal = (about: string): boolean => about.startsWith('care-internal:')

/** What was written, by place: the fixture's store is empty at first. */
const journal: { readonly about: string; readonly version: number }[] = []

/** A place, and how many frames of it are behind. */
type At = readonly [place: number, told: number]
const chooseLater = (left: At, right: At): At =>
  left[0] > right[0] || (left[0] === right[0] && left[1] > right[1]) ? left : right

/** A frame in words, and the position behind it. */
type ModelFrame = readonly [words: string, at: At]

type ModelSession = {
  client: ClientSession
  /** Where each subscription began. */
  readonly since: Map<string, number>
  isBoth: boolean
  hearsNotices: boolean
  reader: EventReader | undefined
  /** Whether the token that opened its reader's stream may read both audiences: a stream shows what its own token may see (C48). */
  isReaderBoth: boolean
  /** Where its reader began, and all that it should have been told. */
  start: At
  expected: ModelFrame[]
  lastEventId: string | undefined
  last: At
  /** Behind the newest frame that any stream has carried. */
  carried: At
  /** By position: equal positions have equal ids. */
  readonly ids: Map<string, string>
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

const toUri = ({ domain, internal }: { domain: number; internal: boolean }): string =>
  `${internal ? 'care-internal' : 'care'}://ann/${DOMAINS[domain] ?? ''}${internal ? '-plan' : ''}-${runNumber}`

const inWords = ({ message }: EventReader['events'][number]): string => {
  const params = message?.params as { uri?: string; data?: { uri?: string } } | undefined
  return `${message?.method ?? ''} ${params?.uri ?? params?.data?.uri ?? ''}`
}

/** The frames of a place for a session as it is now, but for those that are behind already. */
function framesAt(model: ModelSession, place: number, heard = 0): readonly ModelFrame[] {
  const written = journal[place]
  if (written === undefined) return []
  const { about, version } = written
  if (isInternal(about) && !(model.isBoth && model.isReaderBoth)) return []
  const kinds = [
    [(model.since.get(about) ?? Number.POSITIVE_INFINITY) <= place, 'resources/updated', about],
    [model.hearsNotices, 'message', about],
    [version === 1, 'resources/list_changed', ''],
  ] as const
  const last = kinds.findLastIndex(([isFor]) => isFor)
  return kinds.flatMap(([isFor, method, named], index): readonly ModelFrame[] =>
    isFor && index >= heard
      ? [[`notifications/${method} ${named}`, index === last ? [place + 1, 0] : [place, index + 1]]]
      : [],
  )
}

/** Everything, nothing twice, in order, and equal positions under equal ids. */
async function checkReader(model: ModelSession): Promise<void> {
  const { reader } = model
  if (reader === undefined) return
  const messages = () => reader.events.filter(({ message }) => message !== undefined)
  const words = model.expected.map(([word]) => word)
  await expect.poll(() => messages().map(inWords), { interval: 1 }).toEqual(words)
  model.last = model.start
  for (const [index, { id = '' }] of messages().entries()) {
    const [, at = model.start] = model.expected[index] ?? []
    expect(model.ids.get(String(at)) ?? id).toBe(id)
    model.ids.set(String(at), id)
    model.last = at
    model.carried = chooseLater(model.carried, at)
  }
  expect(new Set(model.ids.values()).size).toBe(model.ids.size)
  model.lastEventId = reader.lastEventId
}

async function write(
  fixture: McpFixture,
  models: ModelSession[],
  step: Action & { kind: 'write' },
) {
  const about = toUri(step)
  const domain = about.split('/').at(-1) ?? ''
  const { record, subscribers } = await fixture.write({
    domain,
    audience: step.internal ? 'assistant' : 'user',
  })
  const place = journal.push({ about, version: record.version }) - 1
  for (const model of models)
    if (model.reader !== undefined) model.expected.push(...framesAt(model, place))
  expect(subscribers).toBe(models.filter(({ since }) => since.has(about)).length)
}

/** Breaks the stream, after everything sent on it has arrived. */
async function drop(fixture: McpFixture, model: ModelSession): Promise<void> {
  const { reader } = model
  if (reader === undefined) return
  await checkReader(model)
  const streams = fixture.endpoint.figures().streams
  model.reader = undefined
  reader.drop()
  await expect.poll(() => fixture.endpoint.figures().streams, { interval: 1 }).toBe(streams - 1)
}

async function attach(model: ModelSession, resumes: boolean): Promise<void> {
  // A second GET takes over from the first.
  await checkReader(model)
  const { client, lastEventId, reader: before } = model
  const from = resumes ? lastEventId : undefined
  model.start = from === undefined ? model.carried : model.last
  model.isReaderBoth = model.isBoth
  const [place, sentences] = model.start
  model.expected = journal
    .slice(place)
    .flatMap((_, index) => framesAt(model, place + index, index === 0 ? sentences : 0))
  model.reader = await client.stream(from)
  if (before !== undefined) await expect.poll(() => before.hasEnded, { interval: 1 }).toBe(true)
  await expect.poll(() => model.reader?.events.length, { interval: 1 }).toBeGreaterThan(0)
  expect(model.reader.events[0]?.id).toBe(
    from ?? model.ids.get(String(model.start)) ?? model.reader.events[0]?.id,
  )
  await checkReader(model)
}

async function subscribe(
  fixture: McpFixture,
  model: ModelSession,
  step: Action & { kind: 'subscribe' | 'unsubscribe' },
): Promise<void> {
  const uri = toUri(step)
  if (step.kind === 'unsubscribe') {
    // Frames are judged when they are made.
    await checkReader(model)
    await model.client.result('resources/unsubscribe', { uri })
    model.since.delete(uri)
    return
  }
  const domain = uri.split('/').at(-1) ?? ''
  const audience = step.internal ? 'assistant' : 'user'
  const isThere = (await fixture.store.head({ patient: 'ann', domain, audience })) !== undefined
  const answer = await model.client.subscribe(uri)
  const isAllowed = isThere && (model.isBoth || !step.internal)
  expect(answer.error?.code).toBe(isAllowed ? undefined : -32002)
  if (isAllowed && !model.since.has(uri)) model.since.set(uri, journal.length)
}

async function changeScope(model: ModelSession, both: boolean, fixture: McpFixture): Promise<void> {
  await checkReader(model)
  model.isBoth = both
  model.client.token = fixture.token(both ? BOTH : USER, { sub: 'host' })
  await model.client.result('ping')
  if (!both) for (const uri of model.since.keys()) if (isInternal(uri)) model.since.delete(uri)
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
        await checkReader(model)
        await model.client.result('logging/setLevel', { level: step.isHigh ? 'alert' : 'info' })
        model.hearsNotices = !step.isHigh
        break
      case 'attach':
        await attach(model, step.resumes)
        break
      case 'drop':
        await drop(fixture, model)
        break
      case 'restart':
        for (const each of models) await drop(fixture, each)
        await fixture.restart()
        break
    }
  }
  for (const model of models) await checkReader(model)
}

async function newModel(fixture: McpFixture): Promise<ModelSession> {
  const start: At = [journal.length, 0]
  return {
    client: await fixture.open(BOTH),
    since: new Map(),
    isBoth: true,
    hearsNotices: true,
    reader: undefined,
    isReaderBoth: true,
    start,
    expected: [],
    lastEventId: undefined,
    last: start,
    carried: start,
    ids: new Map(),
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
        expect(fixture.endpoint.figures()).toMatchObject({ sessions: 0, streams: 0 })
      }),
      { numRuns: RUNS },
    )
  })
})
