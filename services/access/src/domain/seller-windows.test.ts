import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { beforeEach, expect, test } from 'vitest'
import { createFakeContract, firstOffer, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import type { Hex } from './access-window.ts'
import type { SellerHistory, WindowMoney } from './seller-account.ts'
import { createSellerWindows } from './seller-windows.ts'

const RECORDER: Hex = `0x${'5'.repeat(40)}`
/** In a window of 20 s that begins at 1,000,000. */
const START_SECONDS = 1_000_005

let clock: ManualClock
let contract: ReturnType<typeof createFakeContract>
let money: WindowMoney[]
let gas: { readonly consensusTimestamp: string; readonly tinybar: bigint }[]
let requests: string[]
let failure: Error | undefined

beforeEach(() => {
  clock = manualClock(START_SECONDS * 1_000)
  contract = createFakeContract()
  money = []
  gas = []
  requests = []
  failure = undefined
})

const isAfter = (timestamp: string) => (entry: { readonly consensusTimestamp: string }) =>
  Number(entry.consensusTimestamp) > Number(timestamp)

const reader = (change: Partial<SellerHistory> = {}) =>
  createSellerWindows({
    clock,
    contract,
    recorders: () => [RECORDER],
    history: {
      createdAt: async () => '0.000000000',
      async *movementsAfter() {},
      async *windowMoneyAfter(timestamp) {
        requests.push(timestamp)
        if (failure !== undefined) throw failure
        yield* money.filter(isAfter(timestamp))
      },
      async *gasPaidAfter(account, timestamp) {
        if (account === 'payTo') yield* gas.filter(isAfter(timestamp))
      },
      ...change,
    },
  })

const at = (seconds: number): string => `${seconds}.000000001`
const none = { openedOffers: [], renewedTinybar: 0n, renewalGasTinybar: 0n }
const renewed = (renewedTinybar: bigint, consensusTimestamp: string): WindowMoney => ({
  ...none,
  renewedTinybar,
  consensusTimestamp,
})

test('A28: what began in a window is earned in it, and gas counts where it was paid', async () => {
  money = [
    { ...none, openedOffers: [0], consensusTimestamp: at(999_981) },
    { ...renewed(7n, at(1_000_001)), renewalGasTinybar: 2n },
  ]
  gas = [{ tinybar: 3n, consensusTimestamp: at(1_000_002) }]
  const read = await reader()()
  expect(read).toMatchObject({ periodSeconds: 20, isComplete: true, isOld: false })
  expect(read?.windows).toHaveLength(24)
  expect(read?.windows.slice(-2)).toEqual([
    {
      startsAtSeconds: 999_980,
      earnedTinybar: PRICE_TINYBAR,
      renewalsTinybar: 0n,
      gasTinybar: 0n,
    },
    { startsAtSeconds: 1_000_000, earnedTinybar: 7n, renewalsTinybar: 2n, gasTinybar: 3n },
  ])
})

test('a read goes on where the last one ended, counts nothing twice and forgets what is no longer shown', async () => {
  money = [renewed(7n, at(1_000_001))]
  const read = reader()
  await Promise.all([read(), read()])
  clock.advanceMs(20_000)
  money.push(renewed(5n, at(1_000_021)))
  const later = await read()
  expect(requests).toEqual(['999540.000000000', at(1_000_001)])
  expect(later?.windows.slice(-2).map(({ earnedTinybar }) => earnedTinybar)).toEqual([7n, 5n])
  clock.advanceMs(24 * 20_000)
  const much = await read()
  expect(much?.windows.map(({ earnedTinybar }) => earnedTinybar)).toEqual(
    Array.from({ length: 24 }, () => 0n),
  )
})

test('long windows are fewer: no more than four requests for events', async () => {
  contract.offerList.push({ ...firstOffer, offerId: 1, periodSeconds: 30 * 86_400 })
  const read = await reader()()
  expect([read?.periodSeconds, read?.windows.length]).toEqual([30 * 86_400, 1])
})

test('an offer of another length begins anew', async () => {
  const read = reader()
  await read()
  contract.offerList.push({ ...firstOffer, offerId: 1, periodSeconds: 60 })
  clock.advanceMs(15_000)
  expect((await read())?.windows).toHaveLength(24)
  expect(requests).toEqual(['999540.000000000', '998640.000000000'])
})

test('a long history is incomplete until the reads after it', async () => {
  money = Array.from({ length: 2_500 }, (_, index) =>
    renewed(1n, `1000001.${String(index).padStart(9, '0')}`),
  )
  const read = reader()
  expect((await read())?.isComplete).toBe(false)
  clock.advanceMs(15_000)
  const whole = await read()
  expect([whole?.isComplete, whole?.windows.at(-2)?.earnedTinybar]).toEqual([true, 2_500n])
})

test('a mirror node that fails leaves what was read before, marked as old; without that there is nothing', async () => {
  const read = reader()
  failure = new LedgerUnavailable('the mirror node answered 429')
  expect(await read()).toBeUndefined()
  failure = undefined
  expect(await read()).toMatchObject({ isOld: false })
  failure = new LedgerUnavailable('down')
  clock.advanceMs(15_000)
  expect(await read()).toMatchObject({ isOld: true, readAtSeconds: START_SECONDS })
  contract.isDown = true
  expect(await read()).toMatchObject({ isOld: true })
})

test('nobody waits longer than three seconds', async () => {
  const read = reader({
    async *windowMoneyAfter() {
      await new Promise(() => undefined)
      yield* money
    },
  })
  const waited = read()
  await clock.advanceMsSettled(3_000)
  expect(await waited).toBeUndefined()
})
