// C22: whether an event is delivered is judged as it goes out, by the grant and by the record as they are then.
import { afterEach, describe, expect, test } from 'vitest'
import { eraseChain } from '../adapters/open-stores.ts'
import { makeStoreFolder, type StoreFolder } from '../adapters/records/sqlite-store.fixture.ts'
import {
  DOWN,
  HOUR_MS,
  type Outcome,
  RING,
  START_MS,
  TAKEN,
  useDeliveries,
} from '../testing/deliveries.fixture.ts'

let folder: StoreFolder
// Runs after those of the deliveries, which close the store.
afterEach(() => folder.remove())
const on = useDeliveries((clock) => {
  folder = makeStoreFolder(clock)
  return folder.open({ keyRing: RING })
})
const { settle, start, subscribe, write } = on

const erase = async (domain: string): Promise<void> => {
  const by = { at: '2026-11-21T12:00:00.000Z', actor: 'dr-osei', reason: 'asked to' }
  const slot = { patient: 'ann', domain, audience: 'user' } as const
  const place = { DATABASE_PATH: folder.databasePath }
  expect(await eraseChain(place, { slot, by }, RING)).toMatchObject({ kind: 'erased' })
}

describe('C22: the grant is judged at each delivery', () => {
  test('a revoked token ends the subscription before the next one', async () => {
    await subscribe()
    await start()
    await write()
    await settle()
    on.revoked.add('jti-1')
    await write()
    await settle()
    expect(on.got).toHaveLength(1)
    expect(await on.subscriptions.find('s')).toBeUndefined()
    expect(on.reports).toContainEqual({ kind: 'ended', reason: 'revoked' })
  })

  test('a token that is revoked between two tries gets no third', async () => {
    await subscribe()
    await start()
    on.answer = () => DOWN
    await write()
    await settle()
    on.revoked.add('jti-1')
    await on.clock.advanceMsSettled(HOUR_MS)
    expect(on.got).toHaveLength(1)
  })

  test('nothing goes out after its time', async () => {
    await subscribe({ expiresAtMs: START_MS + 60_000 })
    const deliverer = await start()
    on.clock.advanceMs(59_999)
    await write()
    await settle()
    on.clock.advanceMs(1)
    await write()
    await settle()
    expect(on.got).toHaveLength(1)
    await on.clock.advanceMsSettled(60_000)
    expect(await on.subscriptions.find('s')).toBeUndefined()
    expect(deliverer.count()).toBe(0)
  })

  test('a refresh with less right while a delivery is under way: what was to follow is not sent', async () => {
    await subscribe({ scopes: ['care.read.user', 'care.read.assistant'] })
    const deliverer = await start()
    const waits = Promise.withResolvers<Outcome>()
    on.answer = () => waits.promise
    await write()
    await write({ domain: 'plan', audience: 'assistant' })
    await settle()
    await subscribe({ cursor: 1 })
    await deliverer.changed('s')
    waits.resolve(TAKEN)
    await settle()
    expect(on.got).toEqual(['s ann/tea/1'])
  })
})

describe('C22, C31: a record that was erased while its delivery waited', () => {
  test('is told of to nobody, and holds up nothing behind it', async () => {
    const deliverer = await start()
    await write()
    await write()
    await write({ domain: 'walks' })
    await erase('tea')
    await subscribe()
    await deliverer.changed('s')
    await settle()
    expect(on.got).toEqual(['s ann/walks/1'])
    expect(on.heard).toEqual(['walks/1'])
    expect(on.reports).toEqual([{ kind: 'delivery', outcome: 'taken' }])
    expect(await on.subscriptions.find('s')).toMatchObject({ cursor: 3 })
  })

  test('is not told of again by a delivery that was to be tried again', async () => {
    await subscribe()
    await start()
    on.answer = () => DOWN
    await write()
    await settle()
    expect(on.got).toEqual(['s ann/tea/1'])
    await erase('tea')
    on.answer = () => TAKEN
    await on.clock.advanceMsSettled(HOUR_MS)
    expect(on.got).toHaveLength(1)
    expect(on.heard).toEqual([])
    // What failed waits no more, and counts for nothing when another delivery fails.
    const { cursor, failedSinceMs, lastError } = (await on.subscriptions.find('s')) ?? {}
    expect([cursor, failedSinceMs, lastError]).toEqual([1, undefined, undefined])
    on.answer = () => DOWN
    await write({ domain: 'walks' })
    await settle()
    expect(await on.subscriptions.find('s')).toMatchObject({ isActive: true })
    on.answer = () => TAKEN
    await on.clock.advanceMsSettled(1_000)
    expect(on.got.slice(1)).toEqual(['s ann/walks/1', 's ann/walks/1'])
  })
})
