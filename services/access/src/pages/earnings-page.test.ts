import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createFakes,
  type Fakes,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'
import { earningsPage } from './earnings-page.ts'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>

beforeEach(async () => {
  fakes = createFakes()
  fakes.sellerHistory = {
    createdAt: async () => '0.000000000',
    async *movementsAfter() {},
    async *windowMoneyAfter() {
      yield {
        consensusTimestamp: `${START_SECONDS}.000000001`,
        openedOffers: [0],
        renewedTinybar: 0n,
        renewalGasTinybar: 50_000_000n,
      }
    },
    async *gasPaidAfter(account) {
      if (account === 'payTo')
        yield { consensusTimestamp: `${START_SECONDS}.000000001`, tinybar: 350_000_000n }
    },
  }
  service = await startFakeService(fakes)
})
afterEach(() => service.close())

const visit = async (): Promise<string> => (await service.app.inject('/earnings')).body

test('A28: a column and a row have the same figures, on one scale, and a loss is one', async () => {
  const body = await visit()
  expect(body).toContain('The last 24 windows of 20 s')
  expect(body).toContain('earned 3 HBAR, spent 4 HBAR. The table has every figure.')
  expect(body).toContain('<td class="number">3</td><td class="number">0.5</td>')
  expect(body).toContain('<td class="number">3.5</td><td class="number">−1</td>')
  // 3 and 4 of 7 parts of the height between the edges.
  expect(body).toMatch(/class="up" x="231" y="1" width="8" height="42"/)
  expect(body).toMatch(/class="down" x="231" y="43" width="8" height="56"/)
})

test('before anything was read, and of an old or unfinished read, a sentence says so', async () => {
  fakes.contract.isDown = true
  expect(await visit()).toContain('Nothing was read yet')
  const read = { periodSeconds: 20, windows: [], readAtSeconds: START_SECONDS }
  const page = await earningsPage({
    readSellerWindows: async () => ({ ...read, isOld: true, isComplete: false }),
  })
  expect(String(page.body)).toContain('this is what was read at 2027-01-15 08:00:00 UTC')
  expect(String(page.body)).toContain('Not everything is read yet')
})
