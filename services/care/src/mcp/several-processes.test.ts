// C25: any process serves any session and any stream, over one PostgreSQL, in processes as an operator starts them.
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { pause, systemClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  BOTH,
  openClient,
  openListen,
  type RunningProcess,
  startCares,
  USER,
  writeAt,
} from '../testing/several-cares.fixture.ts'
import type { EventReader } from './sessions/event-reader.fixture.ts'

const TEA = 'care://ann/tea'
const PLAN = 'care-internal://ann/plan'
const POLL = { interval: 5 }
/** A look is made this often at least. */
const LOOK_MS = 250
const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')

/** What a stream has told, in short. */
const toldBy = ({ messages }: EventReader): readonly string[] =>
  messages.map(({ method = '', params = {} }) => {
    const { data, uri } = params as { uri?: string; data?: { uri: string; version: number } }
    const about = data === undefined ? uri : `${data.uri} ${data.version}`
    return [method.split('/').at(-1), about].filter(Boolean).join(' ')
  })
const listIds = ({ events }: EventReader) =>
  events.filter(({ message }) => message !== undefined).map(({ id }) => id)

/** Sessions that a process counts. */
const health = async (at: RunningProcess) =>
  (await (await fetch(`${at.url}/health`)).json()) as { readonly sessions: number }

describe.skipIf(reason !== undefined)(
  `C25: two processes${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let cares: Awaited<ReturnType<typeof startCares>>
    let first: RunningProcess
    let second: RunningProcess
    const say = (value: string, over: Readonly<Record<string, string>> = {}, at = first) =>
      writeAt(at, { value, ...over })
    beforeAll(async () => {
      cares = await startCares({ SEAL_KEYS: `k1:${Buffer.alloc(32, 5).toString('base64')}` })
      ;[first, second] = await Promise.all([cares.start(), cares.start()])
      await say('One sugar.')
      await say('Two tablets.', { domain: 'plan', audience: 'assistant' })
    })
    afterAll(() => cares.end())
    const quiet = async (scope = USER) => {
      const client = await openClient(first, scope)
      await client.call('logging/setLevel', { level: 'error' }, second)
      return client
    }

    test('a session opened at one is used at the other, and hears there what was written here; ended at one, it is unknown at the other', async () => {
      const client = await openClient(first)
      expect((await client.call('ping', {}, second)).body.result).toEqual({})
      await client.subscribe(TEA, second)
      const stream = await client.stream(second)
      expect(await say('No sugar.')).toMatchObject({ subscribers: 1 })
      await expect.poll(() => stream.updated, POLL).toEqual([TEA])
      expect((await client.end(first)).status).toBe(200)
      expect((await client.call('ping', {}, second)).status).toBe(404)
      await expect.poll(() => stream.hasEnded, POLL).toBe(true)
    })

    test('C4: subscribed after a version but before the stream: that version is not told of, what follows is', async () => {
      const client = await openClient(first)
      const { version } = await say('Before the subscription.')
      await client.subscribe(TEA, second)
      await say('Before the stream.', {}, second)
      const stream = await client.stream(second)
      const due = [`message ${TEA} ${version}`, `updated ${TEA}`, `message ${TEA} ${version + 1}`]
      await expect.poll(() => toldBy(stream), POLL).toEqual(due)
      stream.drop()
    })

    test('C3: the newest GET wins across processes; what the older one carried is not stored any more', async () => {
      const client = await openClient(first)
      const old = await client.stream(first)
      await client.subscribe(TEA)
      const fresh = await client.stream(second, old.lastEventId)
      await expect.poll(() => old.hasEnded, POLL).toBe(true)
      expect(old.retries.at(-1)).toBe(3_000)
      await say('Three.')
      await expect.poll(() => toldBy(fresh).length, POLL).toBe(2)
      expect(toldBy(old)).toEqual([])
      const id = `id = '${client.sessionId}'`
      const { rows } = await cares.sql(
        `SELECT stream_epoch::int AS epoch, stream_process IS NOT NULL AS has_stream FROM care.mcp_sessions WHERE ${id}`,
      )
      expect(rows).toEqual([{ epoch: 2, has_stream: true }])
      fresh.drop()
    })

    test('C3: resumed in the middle of one version elsewhere: its first frame is not repeated, the ids are the same', async () => {
      const client = await openClient(first, BOTH)
      const stream = await client.stream()
      const domain = `new-${Date.now()}`
      await say('A new chain.', { domain })
      await expect.poll(() => toldBy(stream), POLL).toHaveLength(2)
      stream.drop()
      const again = await client.stream(second, listIds(stream)[0])
      await expect.poll(() => toldBy(again), POLL).toEqual(['list_changed'])
      expect(listIds(again)).toEqual(listIds(stream).slice(1))
      again.drop()
    })

    test('C3: both audiences have one order, the same live, replayed, and at the other process', async () => {
      const client = await openClient(first, BOTH)
      const stream = await client.stream()
      const from = stream.lastEventId
      for (let count = 0; count < 30; count += 1) {
        const over = count % 3 === 0 ? { domain: 'plan', audience: 'assistant' } : {}
        await say(`v${count}`, over, count % 2 === 0 ? first : second)
      }
      await expect.poll(() => toldBy(stream).length, POLL).toBe(30)
      const again = await client.stream(second, from)
      await expect.poll(() => listIds(again), POLL).toEqual(listIds(stream))
      again.drop()
    })

    test('C3: the id of another session, a changed one and an unknown one are refused by either process', async () => {
      const [mine, other] = [await openClient(first), await openClient(second)]
      const [stream, others] = [await mine.stream(second), await other.stream(first)]
      await say('x')
      await expect.poll(() => toldBy(others).length, POLL).toBe(1)
      await expect.poll(() => toldBy(stream).length, POLL).toBe(1)
      expect(listIds(stream)[0]).not.toBe(listIds(others)[0])
      const last = stream.lastEventId ?? ''
      const changed = `${last.startsWith('x') ? 'y' : 'x'}${last.slice(1)}`
      for (const id of [others.lastEventId, changed, 'abc-17', ''])
        await expect(mine.stream(second, id)).rejects.toThrow('400')
      stream.drop()
      others.drop()
    })

    test('C30: an internal write at one moves nothing for a user’s stream at the other', async () => {
      const client = await openClient(first)
      const stream = await client.stream(second)
      const before = stream.lastEventId
      await say('hidden', { domain: 'plan', audience: 'assistant' })
      await pause(systemClock, 2 * LOOK_MS)
      expect([toldBy(stream), stream.lastEventId]).toEqual([[], before])
      stream.drop()
    })

    test('C4: a level raised at one silences the stream at the other at once; lowered, a replay has the notices', async () => {
      const client = await openClient(first)
      await client.subscribe(TEA)
      const stream = await client.stream(second)
      const start = stream.lastEventId
      await client.call('logging/setLevel', { level: 'error' })
      const { version } = await say('silent')
      // The level that counts is the one at which a stream comes to a version.
      const silent = [`updated ${TEA}`]
      await expect.poll(() => toldBy(stream), POLL).toEqual(silent)
      await client.call('logging/setLevel', { level: 'info' })
      await say('aloud')
      const aloud = [`updated ${TEA}`, `message ${TEA} ${version + 1}`]
      await expect.poll(() => toldBy(stream), POLL).toEqual([...silent, ...aloud])
      stream.drop()
      const again = await client.stream(first, start)
      await expect.poll(() => toldBy(again).length, POLL).toBe(4)
      again.drop()
    })

    test('C4: fewer scopes at one: the stream at the other loses frames and subscriptions at once, and has them not back', async () => {
      const client = await quiet(BOTH)
      const stream = await client.stream(second)
      await client.subscribe(PLAN)
      await client.subscribe(TEA, second)
      client.become(USER)
      await client.call('ping')
      await say('p', { domain: 'plan', audience: 'assistant' })
      await say('t', {}, second)
      client.become(BOTH)
      await client.call('ping', {}, second)
      await say('q', { domain: 'plan', audience: 'assistant' }, second)
      await say('u')
      await expect.poll(() => toldBy(stream), POLL).toEqual([`updated ${TEA}`, `updated ${TEA}`])
      stream.drop()
    })

    test('C31: erased: a replay at either process says nothing of it, and ids before it stay good', async () => {
      const client = await openClient(first)
      const stream = await client.stream()
      await say('gone', { patient: 'bea' })
      await say('stays')
      await expect.poll(() => toldBy(stream).length, POLL).toBe(3)
      const from = listIds(stream)[0]
      stream.drop()
      await cares.command('erase', 'care://bea/tea', '--by', 'dr-osei', '--reason', 'asked to')
      const replay = async (at: RunningProcess): Promise<readonly string[]> => {
        const again = await client.stream(at, from)
        await expect.poll(() => toldBy(again).at(-1), POLL).toContain(TEA)
        again.drop()
        return toldBy(again)
      }
      // A running process learns of it within a second.
      for (const at of [first, second]) await expect.poll(() => replay(at), POLL).toHaveLength(1)
    })

    test('C3: 2,048 frames behind are served at either process, one more is refused; a quiet session is served behind all of them', async () => {
      await say('.', { domain: 'quiet' })
      const [loud, silent] = [await openClient(first), await quiet()]
      await silent.subscribe('care://ann/quiet')
      const [each, two] = [await loud.stream(), await silent.stream(second)]
      const [from, quietFrom] = [each.lastEventId, two.lastEventId]
      for (const stream of [each, two]) stream.drop()
      await cares.writeMany({ patient: 'ann', domain: 'tea' }, 2_048)
      const full = await loud.stream(second, from)
      await expect.poll(() => toldBy(full).length, POLL).toBe(2_048)
      full.drop()
      await say('one more')
      await expect(loud.stream(second, from)).rejects.toThrow('400')
      // Without an id nothing was promised.
      const fresh = await loud.stream(first)
      fresh.drop()
      await say('at last', { domain: 'quiet' }, second)
      const late = await silent.stream(first, quietFrom)
      await expect.poll(() => toldBy(late), POLL).toEqual(['updated care://ann/quiet'])
      late.drop()
    })

    test('C5: a principal’s sessions, and the sessions that /health counts, are those of both', async () => {
      const before = await health(first)
      const requested = Array.from({ length: 70 }, (_, at) =>
        openClient(at % 2 === 0 ? first : second, USER, 'many').then(
          () => 200,
          (error: Error) => error.message,
        ),
      )
      const opened = await Promise.all(requested)
      expect(opened.filter((status) => status === 200)).toHaveLength(64)
      expect(new Set(opened)).toEqual(new Set([200, 'no session was opened: 429']))
      for (const at of [first, second])
        await expect.poll(async () => (await health(at)).sessions - before.sessions, POLL).toBe(64)
    })

    test('C21: a listen at one is counted by a write at the other, and told of it; its principal has no more than it may over both', async () => {
      await say('.', { domain: 'listened' })
      const uri = 'care://ann/listened'
      const listen = await openListen(first, uri)
      await expect.poll(() => toldBy(listen), POLL).toEqual(['acknowledged'])
      expect(await say('heard', { domain: 'listened' }, second)).toMatchObject({ subscribers: 1 })
      await expect.poll(() => listen.updated, POLL).toEqual([uri])
      listen.drop()
      await expect
        .poll(() => say('unheard', { domain: 'listened' }, second), POLL)
        .toMatchObject({ subscribers: 0 })
      const requests = Array.from({ length: 70 }, (_, at) =>
        openListen(at % 2 === 0 ? first : second, uri).catch(() => undefined),
      )
      const open = (await Promise.all(requests)).filter((each) => each !== undefined)
      expect(open).toHaveLength(64)
      for (const each of open) each.drop()
    })

    test('C25: a process that is told to end hands its streams over: their clients come back at once, and are served elsewhere', async () => {
      const third = await cares.start()
      const client = await quiet()
      await say('.', { domain: 'handed' })
      await client.subscribe('care://ann/handed', third)
      const stream = await client.stream(third)
      third.kill('SIGTERM')
      await expect.poll(() => stream.hasEnded, POLL).toBe(true)
      expect(stream.retries.at(-1)).toBe(500)
      expect(await say('after', { domain: 'handed' })).toMatchObject({ subscribers: 1 })
      const again = await client.stream(first, stream.lastEventId)
      await expect.poll(() => again.updated, POLL).toEqual(['care://ann/handed'])
      expect((await third.ended).code).toBe(0)
      again.drop()
    })

    test('C25: a stopped process: its client resumes elsewhere; woken, it ends its streams, says nothing twice, and goes on under a new name', async () => {
      const third = await cares.start()
      const client = await quiet()
      await client.subscribe(TEA, third)
      const old = await client.stream(third)
      await say('before')
      await expect.poll(() => old.updated, POLL).toEqual([TEA])
      const names = async () =>
        (await cares.sql('SELECT id::text FROM care.processes')).rows.map(
          ({ id }: { readonly id: string }) => id,
        )
      const before = await names()
      third.kill('SIGSTOP')
      const fresh = await client.stream(second, old.lastEventId)
      for (let count = 0; count < 5; count += 1) await say(`s${count}`, {}, second)
      await expect.poll(() => fresh.updated.length, POLL).toBe(5)
      await expect.poll(async () => (await names()).length, POLL).toBe(2)
      third.kill('SIGCONT')
      await expect.poll(() => old.hasEnded, POLL).toBe(true)
      await expect.poll(async () => (await names()).length, POLL).toBe(3)
      expect((await names()).every((name) => before.includes(name))).toBe(false)
      const back = await client.stream(third, fresh.lastEventId)
      await say('back', {}, first)
      await expect.poll(() => back.updated, POLL).toEqual([TEA])
      expect([old.updated.length, fresh.updated.length]).toEqual([1, 5])
      back.drop()
      third.kill('SIGKILL')
      await third.ended
    })
  },
)
