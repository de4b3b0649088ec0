// The journal is the stream: what a session is told is read from the journals, live and replayed alike (C3, C4, C30).
import { describe, expect, it } from 'vitest'
import { sampleRecord } from '../../domain/record-store.fixture.ts'
import { BOTH, type ClientSession, USER } from '../mcp.fixture.ts'
import type { EventReader } from './event-reader.fixture.ts'
import { PLAN, TEA, useStreams } from './streams.fixture.ts'

const suite = useStreams()
const { ids, plan, stream, tea } = suite

/** What a reader was told, in words. */
const messages = (reader: EventReader): readonly string[] =>
  reader.messages.map(({ method = '', params }) => {
    const data = params?.['data'] as { readonly uri: string; readonly version: number } | undefined
    const about = data === undefined ? params?.['uri'] : `${data.uri} ${data.version}`
    return [method.split('/').at(-1), about].filter(Boolean).join(' ')
  })
const opened = async (options?: ClientSession, lastEventId?: string): Promise<EventReader> => {
  const reader = await stream(options, lastEventId)
  await expect.poll(() => reader.lastEventId).toBeDefined()
  return reader
}
const hearNoNotices = (session: ClientSession) =>
  session.result('logging/setLevel', { level: 'error' })
/** Writes that nobody publishes, as another process or a killed one leaves them. */
const append = (count: number, domain = 'others') =>
  Promise.all(
    Array.from({ length: count }, (_, at) =>
      suite.fixture.store.append(sampleRecord({ domain, value: `${at}` })),
    ),
  )

describe('C3: a replay', () => {
  it('in the middle of one version does not repeat its first frame, and has the same ids, also after a restart', async () => {
    const domain = 'new'
    await suite.fixture.write({ domain })
    await suite.session.subscribe('care://ann/new')
    const first = await opened()
    await expect.poll(() => messages(first)).toEqual(['message care://ann/new 1', 'list_changed'])
    await suite.fixture.write({ domain })
    await expect.poll(() => messages(first)).toHaveLength(4)
    for (const when of ['running', 'restarted']) {
      if (when === 'restarted') await suite.fixture.restart()
      for (const from of [0, 1, 2, 3]) {
        const again = await opened(suite.session, ids(first)[from])
        await expect.poll(() => ids(again)).toEqual(ids(first).slice(from))
        expect(messages(again)).toEqual(messages(first).slice(from))
      }
    }
  })

  it('of both audiences has one order, the same as live', async () => {
    const live = await opened()
    const start = live.lastEventId
    for (let count = 0; count < 20; count += 1)
      await (count % 3 === 0 ? plan(`v${count}`) : tea(`v${count}`))
    await expect.poll(() => messages(live)).toHaveLength(20)
    const again = await opened(suite.session, start)
    await expect.poll(() => ids(again)).toEqual(ids(live))
    expect(messages(again)).toEqual(messages(live))
  })

  it('reaches so many frames of the session, whatever others wrote; an id further behind is unknown', async () => {
    await suite.start({ limits: { replayFramesMax: 8 } })
    const [loud, quiet] = [suite.session, await suite.fixture.open(USER)]
    await hearNoNotices(quiet)
    await quiet.subscribe(TEA)
    const [starts, quietly] = [(await opened()).lastEventId, (await opened(quiet)).lastEventId]
    await append(1_000)
    await tea('v2')
    await expect(loud.stream(starts)).rejects.toThrow('400')
    const heard = await opened(quiet, quietly)
    await expect.poll(() => messages(heard)).toEqual(['list_changed', `updated ${TEA}`])
  })

  it('says what nobody was told of: a version that a process left durable, before a stream opens or while it stands', async () => {
    await suite.session.subscribe(TEA)
    const reader = await opened()
    await append(1, 'tea')
    await suite.fixture.clock.advanceMsSettled(1_000)
    await expect.poll(() => messages(reader)).toEqual([`updated ${TEA}`, `message ${TEA} 2`])
  })

  it('of two GETs at once the newest wins, and nothing is told twice on the two or lost', async () => {
    await suite.session.subscribe(TEA)
    await hearNoNotices(suite.session)
    let last = await opened()
    const seen = new Map<string, string>()
    const note = (reader: EventReader): void => {
      for (const [at, id] of ids(reader).slice(1).entries())
        seen.set(id ?? '', messages(reader)[at] ?? '')
    }
    for (let round = 1; round <= 20; round += 1) {
      const from = last.lastEventId
      const [, left, right] = await Promise.all([
        tea(`v${round}`),
        stream(suite.session, from),
        stream(suite.session, from),
      ])
      await expect.poll(() => [left, right].filter(({ hasEnded }) => hasEnded)).toHaveLength(1)
      note(last)
      last = left.hasEnded ? right : left
      await expect.poll(() => messages(last)).toEqual([`updated ${TEA}`])
      for (const reader of [left, right]) note(reader)
      expect(seen.size).toBe(round)
    }
    expect(suite.fixture.endpoint.figures().streams).toBe(1)
  })
})

/** Leaves more behind a session's stream than a replay reaches; returns where the stream began. */
const leaveBehind = async () => {
  await suite.start({ limits: { replayFramesMax: 8 }, replayBeyond: 'newest' })
  for (const domain of ['walks', 'diet']) await suite.fixture.write({ domain })
  for (const uri of [TEA, PLAN, 'care://ann/walks']) await suite.session.subscribe(uri)
  const reader = await opened()
  const start = reader.lastEventId
  await append(6, 'walks')
  await append(9)
  await tea('v2')
  await plan('v2')
  await append(1, 'walks')
  return start
}

describe('C3: REPLAY_BEYOND=newest', () => {
  /** In the order of their newest versions. */
  const newest = ['list_changed', `updated ${TEA}`, `updated ${PLAN}`, 'updated care://ann/walks']

  it('tells what changed, once for each record, without notices, and goes on from there', async () => {
    const start = await leaveBehind()
    const resumed = await opened(suite.session, start)
    await expect.poll(() => messages(resumed)).toEqual(newest)
    await tea('v3')
    await expect
      .poll(() => messages(resumed).slice(4))
      .toEqual([`updated ${TEA}`, `message ${TEA} 3`])
  })

  it('cut off in between, it goes on behind what was told', async () => {
    const start = await leaveBehind()
    const resumed = await opened(suite.session, start)
    await expect.poll(() => messages(resumed)).toEqual(newest)
    const again = await opened(suite.session, ids(resumed)[2])
    await expect.poll(() => again.updated).toEqual([PLAN, 'care://ann/walks'])
  })

  it('an unknown id is unknown all the same', async () => {
    await leaveBehind()
    await expect(suite.session.stream('nonsense')).rejects.toThrow('400')
  })

  it('so does a GET without an id, whatever is set: it is never refused', async () => {
    await leaveBehind()
    await suite.start({ limits: { replayFramesMax: 8 } })
    await suite.session.subscribe(TEA)
    for (let count = 0; count < 9; count += 1) await tea(`v${count}`)
    const reader = await opened()
    await expect.poll(() => messages(reader)).toEqual([`updated ${TEA}`])
  })
})

describe('C4: what a session is told', () => {
  it('of a version before its subscription and its stream is the notice, of later ones both', async () => {
    await tea('v2')
    await suite.session.subscribe(TEA)
    await tea('v3')
    const reader = await opened()
    await expect
      .poll(() => messages(reader))
      .toEqual([`message ${TEA} 2`, `updated ${TEA}`, `message ${TEA} 3`])
  })

  it('is judged by its level when it is sent: raised, it silences at once; lowered, a replay has the notices', async () => {
    const reader = await opened()
    const start = reader.lastEventId
    await hearNoNotices(suite.session)
    await tea('v2')
    await suite.session.subscribe(TEA)
    await tea('v3')
    await expect.poll(() => messages(reader)).toEqual([`updated ${TEA}`])
    await suite.session.result('logging/setLevel', { level: 'info' })
    const again = await opened(suite.session, start)
    await expect
      .poll(() => messages(again))
      .toEqual([`message ${TEA} 2`, `updated ${TEA}`, `message ${TEA} 3`])
  })

  it('is judged by its subscriptions: who has ended one is not told of it by a replay', async () => {
    await hearNoNotices(suite.session)
    await suite.session.subscribe(TEA)
    const reader = await opened()
    await tea('v2')
    await expect.poll(() => messages(reader)).toEqual([`updated ${TEA}`])
    await suite.session.result('resources/unsubscribe', { uri: TEA })
    await suite.session.subscribe(PLAN)
    await plan('v2')
    const again = await opened(suite.session, ids(reader)[0])
    await expect.poll(() => messages(again)).toEqual([`updated ${PLAN}`])
  })

  it('with fewer scopes is less at once, and what comes back brings no subscription back', async () => {
    await hearNoNotices(suite.session)
    for (const uri of [TEA, PLAN]) await suite.session.subscribe(uri)
    const reader = await opened()
    suite.session.token = suite.fixture.token(USER)
    await suite.session.result('ping')
    await plan('v2')
    await tea('v2')
    await expect.poll(() => messages(reader)).toEqual([`updated ${TEA}`])
    suite.session.token = suite.fixture.token(BOTH)
    await suite.session.result('ping')
    await plan('v3')
    await tea('v3')
    await expect.poll(() => messages(reader)).toEqual([`updated ${TEA}`, `updated ${TEA}`])
  })
})

describe('C30: an internal write', () => {
  it('moves nothing for a user: no frame, no id, and where a stream begins stays where it was', async () => {
    const user = await suite.fixture.open(USER)
    const reader = await opened(user)
    await tea('v2')
    await expect.poll(() => messages(reader)).toEqual([`message ${TEA} 2`])
    const before = reader.lastEventId
    for (let count = 0; count < 3; count += 1) await plan(`v${count}`)
    const again = await opened(user)
    expect(ids(again)).toEqual([before])
    await suite.fixture.restart()
    expect(ids(await opened(user))).toEqual([before])
    expect(messages(reader)).toHaveLength(1)
  })
})
