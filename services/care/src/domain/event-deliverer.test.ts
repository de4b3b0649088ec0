// C22: when events are delivered and in which order.
import { describe, expect, test } from 'vitest'
import {
  DOWN,
  HOUR_MS,
  type Outcome,
  START_MS,
  TAKEN,
  useDeliveries,
} from '../testing/deliveries.fixture.ts'

const on = useDeliveries()
const { settle, start, subscribe, write } = on

const saidTo = (id: string) =>
  on.got.filter((said) => said.startsWith(`${id} `)).map((said) => said.slice(4))

describe('C22: deliveries', () => {
  test('come in order, of what the grant reads, and say whether they retract', async () => {
    const deliverer = await start()
    await subscribe({ id: 'all', scopes: ['care.read.user', 'care.read.assistant'] })
    await subscribe({ id: 'tea', domain: 'tea' })
    await subscribe({ id: 'bob', patient: 'bob' })
    for (const id of ['all', 'tea', 'bob']) await deliverer.changed(id)
    await write({ value: 'same' })
    await write({ value: 'same' })
    await write()
    await write({ domain: 'plan', audience: 'assistant' })
    await write({ patient: 'bob' })
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
    expect(on.heard).toContain('tea/3')
    expect(on.reports.filter(({ kind }) => kind === 'delivery')).toHaveLength(7)
  })

  test('are tried again ever later, hold up what is behind them, and go on where they stopped', async () => {
    await subscribe()
    await start()
    on.answer = () => DOWN
    await write({ domain: 'a' })
    await write({ domain: 'b' })
    await settle()
    for (const [at, seconds] of [1, 4, 16, 64, 256].entries()) {
      await on.clock.advanceMsSettled(seconds * 1_000 - 1)
      expect(on.got).toHaveLength(at + 1)
      await on.clock.advanceMsSettled(1)
      expect(on.got).toHaveLength(at + 2)
    }
    // A further write does not hurry them.
    await write({ domain: 'c' })
    await settle()
    expect(on.got).toEqual(Array.from({ length: 6 }, () => 's ann/a/1'))
    expect(await on.subscriptions.find('s')).toMatchObject({
      cursor: 0,
      lastError: 'http_5xx',
      failedSinceMs: START_MS,
    })
    on.answer = () => TAKEN
    await on.clock.advanceMsSettled(600_000)
    expect(on.got.slice(6)).toEqual(['s ann/a/1', 's ann/b/1', 's ann/c/1'])
    const { failedSinceMs, lastError } = (await on.subscriptions.find('s')) ?? {}
    expect([failedSinceMs, lastError]).toEqual([undefined, undefined])
  })

  test('end after an hour without one that was taken, until a refresh; nothing is skipped', async () => {
    await subscribe()
    const deliverer = await start()
    on.answer = () => DOWN
    await write()
    await on.clock.advanceMsSettled(2 * HOUR_MS)
    const tries = on.got.length
    expect(tries).toBeLessThan(15)
    expect(await on.subscriptions.find('s')).toMatchObject({ isActive: false, cursor: 0 })
    expect(on.reports).toContainEqual({ kind: 'ended', reason: 'suspended' })
    await write()
    await on.clock.advanceMsSettled(HOUR_MS)
    expect(on.got).toHaveLength(tries)
    on.answer = () => TAKEN
    await subscribe()
    await deliverer.changed('s')
    await settle()
    expect(on.got.slice(tries)).toEqual(['s ann/tea/1', 's ann/tea/2 retracts'])
  })

  test('that a receiver refuses are passed over', async () => {
    await subscribe()
    await start()
    on.answer = (said) => (said.includes('/1') ? { kind: 'refused' } : TAKEN)
    await write()
    await write()
    await settle()
    expect(on.got).toEqual(['s ann/tea/1', 's ann/tea/2 retracts'])
    expect(on.heard).toEqual(['tea/2'])
  })

  test('go on after a kill, with the one again whose taking was not noted', async () => {
    await subscribe()
    await start()
    await write()
    await settle()
    // Killed while a receiver has the second one.
    on.answer = () => new Promise(() => undefined)
    await write()
    await settle()
    on.answer = () => TAKEN
    await start()
    await settle()
    expect(on.got).toEqual(['s ann/tea/1', 's ann/tea/2 retracts', 's ann/tea/2 retracts'])
    on.open.shift()
  })

  test('of one principal whose receivers hang do not hold up another’s', async () => {
    on.answer = (said) => (said.startsWith('h') ? new Promise(() => undefined) : TAKEN)
    for (let at = 0; at < 100; at += 1) await subscribe({ id: `h${at}`, sub: 'hanging' })
    await subscribe({ id: 's', sub: 'other' })
    await start()
    await write()
    await settle()
    expect(on.got.filter((said) => said.startsWith('h'))).toHaveLength(4)
    expect(on.got.filter((said) => said.startsWith('s'))).toHaveLength(1)
    on.open.length = 0
  })

  test('begin within a second once the store answers again', async () => {
    await subscribe({ id: 'all' })
    const { subscriptions } = on
    let refused = 0
    on.subscriptions = {
      ...subscriptions,
      removeExpired: async (nowMs) => {
        refused += 1
        if (refused <= 3) throw new Error('the server is away')
        await subscriptions.removeExpired(nowMs)
      },
    }
    await start()
    await write()
    await on.clock.advanceMsSettled(3_000)
    expect(saidTo('all')).toEqual(['ann/tea/1'])
    expect(on.reports.filter(({ kind }) => kind === 'problem')).toHaveLength(3)
  })
})

/** A lease as a process sees it: `give` begins a holding. */
function openLease() {
  let epoch: number | undefined
  const listeners: ((epoch: number) => void)[] = []
  return {
    epoch: () => epoch,
    onHeld: (listener: (epoch: number) => void) => void listeners.push(listener),
    give: (next: number) => {
      epoch = next
      for (const listener of listeners) listener(next)
    },
    take: () => {
      epoch = undefined
    },
  }
}

describe('C22: of two processes', () => {
  test('the one that holds the lease delivers, what is left and what comes', async () => {
    await subscribe()
    const [first, second] = [openLease(), openLease()]
    on.lease = first
    await start()
    on.lease = second
    await start()
    first.give(1)
    await write()
    await settle()
    expect(on.got).toEqual(['s ann/tea/1'])
    first.take()
    await write()
    await settle()
    second.give(2)
    await write()
    await expect
      .poll(() => on.got)
      .toEqual(['s ann/tea/1', 's ann/tea/2 retracts', 's ann/tea/3 retracts'])
  })

  test('one whose lease ended while a receiver had an event moves nothing and sends nothing more', async () => {
    await subscribe()
    const lease = openLease()
    on.lease = lease
    const waits = Promise.withResolvers<Outcome>()
    on.answer = () => waits.promise
    const deliverer = await start()
    lease.give(1)
    await write()
    await write()
    await settle()
    // It slept so long that it holds it again.
    lease.give(3)
    on.answer = () => TAKEN
    lease.take()
    waits.resolve(TAKEN)
    await settle()
    expect(on.got).toEqual(['s ann/tea/1'])
    expect(await on.subscriptions.find('s')).toMatchObject({ cursor: 0 })
    expect(deliverer.count()).toBe(0)
  })
})
