// C22: when events are delivered and in which order, with a real store, a clock that stands still, and receivers that answer as
// each test wants. Kills are simulated by leaving a deliverer as it is and opening another on what it left.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventCursors, openEventSubscriptions } from '../adapters/event-subscriptions.ts'
import { openSqliteSideRows, type SideRows } from '../adapters/side-rows.ts'
import { openMemoryStore, testKeyRing } from '../adapters/sqlite-store.fixture.ts'
import type { NewRecord } from './care-record.ts'
import { EventDeliverer } from './event-deliverer.ts'
import type { EventReport, EventSubscription, EventSubscriptions } from './event-subscription.ts'
import { sampleRecord } from './record-store.fixture.ts'
import type { RecordStore } from './record-store.ts'

type Outcome = Awaited<ReturnType<ConstructorParameters<typeof EventDeliverer>[0]['deliver']>>

const RING = testKeyRing('k1')
const START_MS = Date.UTC(2026, 10, 21, 12)
const HOUR_MS = 3_600_000
const TAKEN: Outcome = { kind: 'taken' }
const DOWN: Outcome = { kind: 'failed', reason: 'http_5xx' }

let clock: ManualClock
let store: RecordStore
let rows: SideRows
let subscriptions: EventSubscriptions
let got: string[]
let heard: string[]
let reports: EventReport[]
let revoked: Set<string>
let answer: (said: string) => Outcome | Promise<Outcome>
let open: EventDeliverer[]
beforeEach(() => {
  clock = manualClock(START_MS)
  store = openMemoryStore(clock)
  rows = openSqliteSideRows(':memory:')
  subscriptions = openEventSubscriptions(rows, RING)
  ;[got, heard, reports, open, revoked] = [[], [], [], [], new Set()]
  answer = () => TAKEN
})
afterEach(async () => {
  for (const one of open) await one.close()
  await rows.end()
  await store.close()
})

async function start(over: { isAlone?: boolean; holder?: string } = {}): Promise<EventDeliverer> {
  const { holder = 'one', isAlone = true } = over
  const deliverer = new EventDeliverer({
    store,
    subscriptions,
    clock,
    holder,
    isAlone,
    deliver: async ({ id }, { data }) => {
      const said = `${id} ${data.uri.replace(/^care(.*):\/\//, '$1')}${data.retracts ? ' retracts' : ''}`
      got.push(isAlone ? said : `${holder}: ${said}`)
      return await answer(said)
    },
    cursorText: eventCursors(RING).write,
    chance: () => 1,
    isRevoked: (jti) => revoked.has(jti),
    onHeard: ({ domain, version }) => heard.push(`${domain}/${version}`),
    observe: (report) => reports.push(report),
  })
  open.push(deliverer)
  await deliverer.start()
  return deliverer
}

let refreshes = 0
async function subscribe(over: Partial<EventSubscription> = {}): Promise<EventSubscription> {
  refreshes += 1
  const made: EventSubscription = {
    id: 's',
    refresh: `${refreshes}`,
    sub: 'host',
    scopes: ['care.read.user'],
    jti: 'jti-1',
    patient: 'ann',
    receiver: { url: 'https://receiver.example/', secrets: [{ secret: 'whsec_x' }] },
    cursor: 0,
    expiresAtMs: clock.unixMs() + 24 * HOUR_MS,
    isActive: true,
    ...over,
  }
  await subscriptions.save(made)
  return made
}
const write = async (deliverer: EventDeliverer | undefined, over: Partial<NewRecord> = {}) => {
  const record = sampleRecord({ value: `${got.length} ${Math.random()}`, ...over })
  const outcome = await store.append(record)
  deliverer?.wake(record.patient)
  return outcome
}
const settle = () => clock.advanceMsSettled(0)

const saidTo = (id: string) =>
  got.filter((said) => said.startsWith(`${id} `)).map((said) => said.slice(4))

describe('C22: deliveries', () => {
  test('come in order, of what the grant reads, and say whether they retract', async () => {
    const deliverer = await start()
    await subscribe({ id: 'all', scopes: ['care.read.user', 'care.read.assistant'] })
    await subscribe({ id: 'tea', domain: 'tea' })
    await subscribe({ id: 'bob', patient: 'bob' })
    for (const id of ['all', 'tea', 'bob']) await deliverer.changed(id)
    await write(deliverer, { value: 'same' })
    await write(deliverer, { value: 'same' })
    await write(deliverer)
    await write(deliverer, { domain: 'plan', audience: 'assistant' })
    await write(deliverer, { patient: 'bob' })
    await settle()
    expect(saidTo('all')).toEqual([
      'ann/tea/1',
      'ann/tea/2',
      'ann/tea/3 retracts',
      '-internalann/plan/1',
    ])
    expect(saidTo('tea')).toEqual(['ann/tea/1', 'ann/tea/2', 'ann/tea/3 retracts'])
    expect(saidTo('bob')).toEqual(['bob/tea/1'])
    // Only the newest version of a record counts as heard, and only what is speakable is counted in public.
    expect(heard).toContain('tea/3')
    expect(reports.filter(({ kind }) => kind === 'delivery')).toHaveLength(7)
  })

  test('are tried again ever later, hold up what is behind them, and go on where they stopped', async () => {
    await subscribe()
    const deliverer = await start()
    answer = () => DOWN
    await write(deliverer, { domain: 'a' })
    await write(deliverer, { domain: 'b' })
    await settle()
    for (const [at, seconds] of [1, 4, 16, 64, 256].entries()) {
      await clock.advanceMsSettled(seconds * 1_000 - 1)
      expect(got).toHaveLength(at + 1)
      await clock.advanceMsSettled(1)
      expect(got).toHaveLength(at + 2)
    }
    // A further write does not hurry them.
    await write(deliverer, { domain: 'c' })
    await settle()
    expect(got).toEqual(Array.from({ length: 6 }, () => 's ann/a/1'))
    expect(await subscriptions.find('s')).toMatchObject({
      cursor: 0,
      lastError: 'http_5xx',
      failedSinceMs: START_MS,
    })
    answer = () => TAKEN
    await clock.advanceMsSettled(600_000)
    expect(got.slice(6)).toEqual(['s ann/a/1', 's ann/b/1', 's ann/c/1'])
    const { failedSinceMs, lastError } = (await subscriptions.find('s')) ?? {}
    expect([failedSinceMs, lastError]).toEqual([undefined, undefined])
  })

  test('end after an hour without one that was taken, until a refresh; nothing is skipped', async () => {
    await subscribe()
    const deliverer = await start()
    answer = () => DOWN
    await write(deliverer)
    await clock.advanceMsSettled(2 * HOUR_MS)
    const tries = got.length
    expect(tries).toBeLessThan(15)
    expect(await subscriptions.find('s')).toMatchObject({ isActive: false, cursor: 0 })
    expect(reports).toContainEqual({ kind: 'ended', reason: 'suspended' })
    await write(deliverer)
    await clock.advanceMsSettled(HOUR_MS)
    expect(got).toHaveLength(tries)
    answer = () => TAKEN
    await subscribe()
    await deliverer.changed('s')
    await settle()
    expect(got.slice(tries)).toEqual(['s ann/tea/1', 's ann/tea/2 retracts'])
  })

  test('that a receiver refuses are passed over', async () => {
    await subscribe()
    const deliverer = await start()
    answer = (said) => (said.includes('/1') ? { kind: 'refused' } : TAKEN)
    await write(deliverer)
    await write(deliverer)
    await settle()
    expect(got).toEqual(['s ann/tea/1', 's ann/tea/2 retracts'])
    expect(heard).toEqual(['tea/2'])
  })

  test('go on after a kill, with the one again whose taking was not noted', async () => {
    await subscribe()
    const first = await start()
    await write(first)
    await settle()
    // Killed while a receiver has the second one.
    answer = () => new Promise(() => undefined)
    await write(first)
    await settle()
    answer = () => TAKEN
    await start({ holder: 'two' })
    await settle()
    expect(got).toEqual(['s ann/tea/1', 's ann/tea/2 retracts', 's ann/tea/2 retracts'])
    open.shift()
  })

  test('of one principal whose receivers hang do not hold up another’s', async () => {
    answer = (said) => (said.startsWith('h') ? new Promise(() => undefined) : TAKEN)
    for (let at = 0; at < 100; at += 1) await subscribe({ id: `h${at}`, sub: 'hanging' })
    await subscribe({ id: 's', sub: 'other' })
    const deliverer = await start()
    await write(deliverer)
    await settle()
    expect(got.filter((said) => said.startsWith('h'))).toHaveLength(4)
    expect(got.filter((said) => said.startsWith('s'))).toHaveLength(1)
    open.length = 0
  })
})

describe('C22: the grant is judged at each delivery', () => {
  test('a revoked token ends the subscription before the next one', async () => {
    await subscribe()
    const deliverer = await start()
    await write(deliverer)
    await settle()
    revoked.add('jti-1')
    await write(deliverer)
    await settle()
    expect(got).toHaveLength(1)
    expect(await subscriptions.find('s')).toBeUndefined()
    expect(reports).toContainEqual({ kind: 'ended', reason: 'revoked' })
  })

  test('a token that is revoked between two tries gets no third', async () => {
    await subscribe()
    const deliverer = await start()
    answer = () => DOWN
    await write(deliverer)
    await settle()
    revoked.add('jti-1')
    await clock.advanceMsSettled(HOUR_MS)
    expect(got).toHaveLength(1)
  })

  test('nothing goes out after its time', async () => {
    await subscribe({ expiresAtMs: START_MS + 60_000 })
    const deliverer = await start()
    clock.advanceMs(59_999)
    await write(deliverer)
    await settle()
    clock.advanceMs(1)
    await write(deliverer)
    await settle()
    expect(got).toHaveLength(1)
    await clock.advanceMsSettled(60_000)
    expect(await subscriptions.find('s')).toBeUndefined()
    expect(deliverer.count()).toBe(0)
  })

  test('a refresh with less right while a delivery is under way: what was to follow is not sent', async () => {
    await subscribe({ scopes: ['care.read.user', 'care.read.assistant'] })
    const deliverer = await start()
    const waits = Promise.withResolvers<Outcome>()
    answer = () => waits.promise
    await write(deliverer)
    await write(deliverer, { domain: 'plan', audience: 'assistant' })
    await settle()
    await subscribe({ cursor: 1 })
    await deliverer.changed('s')
    waits.resolve(TAKEN)
    await settle()
    expect(got).toEqual(['s ann/tea/1'])
  })
})

describe('C22: of two processes', () => {
  test('one delivers at a time, and the other goes on once its lease is over', async () => {
    await subscribe()
    const first = await start({ isAlone: false, holder: 'one' })
    const second = await start({ isAlone: false, holder: 'two' })
    // Whoever takes the write, the holder finds it.
    await write(second)
    await clock.advanceMsSettled(1_000)
    expect(got).toEqual(['one: s ann/tea/1'])
    await first.close()
    await write(second)
    await clock.advanceMsSettled(29_000)
    expect(got).toHaveLength(1)
    await clock.advanceMsSettled(2_000)
    expect(got.slice(1)).toEqual(['two: s ann/tea/2 retracts'])
  })

  test('one that was believed dead moves nothing and sends nothing more', async () => {
    await subscribe()
    const waits = Promise.withResolvers<Outcome>()
    answer = () => waits.promise
    const first = await start({ isAlone: false, holder: 'one' })
    await write(first)
    await write(first)
    await settle()
    // It stands still past its lease: another takes over.
    const fence = await subscriptions.lease({
      holder: 'two',
      nowMs: clock.unixMs() + 31_000,
      untilMs: clock.unixMs() + 61_000,
      isAlone: false,
    })
    expect(fence).toBe(2)
    waits.resolve(TAKEN)
    await settle()
    expect(got).toEqual(['one: s ann/tea/1'])
    expect(await subscriptions.find('s')).toMatchObject({ cursor: 0 })
  })
})
