import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createFakeContract } from '../testing/fake-contract.ts'
import { createSellerAccount, type SellerHistory } from './seller-account.ts'

const RECORDER = `0x${'5'.repeat(40)}` as const

/** So many gas payments of one tinybar each, a second apart. */
function createHistory(payments: number) {
  const requests: string[] = []
  const history: SellerHistory = {
    createdAt: async () => '0.000000000',
    async *movementsAfter(after) {
      if (after === '0.000000000')
        yield { kind: 'recorder-set', consensusTimestamp: '1.000000000', recorder: RECORDER }
    },
    async *windowMoneyAfter() {},
    async *gasPaidAfter(account, after) {
      if (account === 'payTo') return
      requests.push(after)
      for (let second = Math.floor(Number(after)) + 1; second <= payments; second += 1)
        yield { consensusTimestamp: `${second}.000000000`, tinybar: 1n }
    },
  }
  return { requests, history }
}

test('a long history is read in bounded parts, each entry once', async () => {
  const { requests, history } = createHistory(4_500)
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
  expect(requests).toEqual(['0.000000000', '2000.000000000', '4000.000000000', '4500.000000000'])
})

test('a page never waits: it gets what was read last, and at most one read a minute starts behind it', async () => {
  const { requests, history } = createHistory(1)
  const clock = manualClock(0)
  const account = createSellerAccount({ contract: createFakeContract(), history, clock })
  expect(account.latest()).toBeUndefined()
  expect(account.latest()).toBeUndefined()
  await expect.poll(() => account.latest()?.recordsTinybar).toBe(1n)
  expect(requests).toHaveLength(1)
  clock.advanceMs(60_000)
  account.latest()
  account.latest()
  await expect.poll(() => requests).toHaveLength(2)
})

test('every account that ever counted calls is in the account, from when it was named', async () => {
  const others = [`0x${'6'.repeat(40)}`, `0x${'7'.repeat(40)}`] as const
  const { history } = createHistory(3)
  const named = { kind: 'recorder-set', consensusTimestamp: '1.000000000' } as const
  const account = createSellerAccount({
    contract: createFakeContract(),
    clock: manualClock(0),
    history: {
      ...history,
      async *movementsAfter() {
        for (const recorder of [RECORDER, ...others, RECORDER]) yield { ...named, recorder }
      },
    },
  })
  expect(await account.read()).toMatchObject({
    recordsTinybar: 9n,
    recorders: [RECORDER, ...others],
  })
})
