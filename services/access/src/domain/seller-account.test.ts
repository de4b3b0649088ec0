import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createFakeContract } from '../testing/fake-contract.ts'
import { createSellerAccount, type SellerHistory } from './seller-account.ts'

/** So many gas payments of one tinybar each, a second apart. */
function historyOf(payments: number) {
  const asked: string[] = []
  const history: SellerHistory = {
    createdAt: async () => '0.000000000',
    async *movementsAfter() {
      yield* []
    },
    async *gasPaidAfter(account, after) {
      if (account === 'payTo') return
      asked.push(after)
      for (let second = Math.floor(Number(after)) + 1; second <= payments; second += 1)
        yield { consensusTimestamp: `${second}.000000000`, tinybar: 1n }
    },
  }
  return { asked, history }
}

test('a long history is read in bounded parts, each entry once', async () => {
  const { asked, history } = historyOf(4_500)
  const clock = manualClock(0)
  const account = createSellerAccount({ contract: createFakeContract(), history, clock })
  const read = async () => {
    const { recordsTinybar, isComplete } = await account.read()
    return [recordsTinybar, isComplete]
  }
  expect(await read()).toEqual([2_000n, false])
  expect(await read()).toEqual([4_000n, false])
  expect(await read()).toEqual([4_500n, true])
  expect(await read()).toEqual([4_500n, true])
  expect(asked).toEqual(['0.000000000', '2000.000000000', '4000.000000000', '4500.000000000'])
})

test('a page never waits: it gets what was read last, and at most one read a minute starts behind it', async () => {
  const { asked, history } = historyOf(1)
  const clock = manualClock(0)
  const account = createSellerAccount({ contract: createFakeContract(), history, clock })
  expect(account.latest()).toBeUndefined()
  expect(account.latest()).toBeUndefined()
  await expect.poll(() => account.latest()?.recordsTinybar).toBe(1n)
  expect(asked).toHaveLength(1)
  clock.advanceMs(60_000)
  account.latest()
  account.latest()
  await expect.poll(() => asked).toHaveLength(2)
})
