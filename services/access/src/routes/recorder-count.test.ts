/** A14: who counts calls on the contract, and how many processes this one believes that there are. */
import { LedgerUnavailable } from '@tallystick/x402'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AlertWebhook } from '../domain/access-events.ts'
import type { Hex } from '../domain/access-window.ts'
import type { SellerHistory } from '../domain/seller-account.ts'
import {
  createFakes,
  type Fakes,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'

const FIRST: Hex = '0x0000000000000000000000000000000000000cec'
const SECOND: Hex = '0x0000000000000000000000000000000000000ced'
/** What a mirror node searches in one request. */
const WEEK_SECONDS = 604_800
const SESSION_SECRET = 'what both processes of this test share'

const LOW_ALERT = 'recorder_low raised'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>
afterEach(() => service.close())

/** A contract whose owner made these recorders, one a second. */
const createHistory = (recorders: readonly Hex[], fromSeconds = 0): SellerHistory => ({
  createdAt: async () => '0.000000000',
  async *movementsAfter(timestamp) {
    for (const [at, recorder] of recorders.entries()) {
      const consensusTimestamp = `${fromSeconds + at + 1}.000000000`
      if (Number(consensusTimestamp) > Number(timestamp))
        yield { kind: 'recorder-set', consensusTimestamp, recorder }
    }
  },
  async *windowMoneyAfter() {},
  async *gasPaidAfter() {},
})

beforeEach(() => {
  fakes = createFakes()
  fakes.sellerHistory = createHistory([FIRST, SECOND])
})

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<void> => {
  service = await startFakeService(fakes, { environment })
  await service.sweep.sweep()
}
const recorders = async (): Promise<unknown> =>
  (await service.app.inject('/ready')).json().checks.recorders

test('A14: two recorders where RECORDER_COUNT says 1: started and warned, and /ready is red with both numbers and the way out', async () => {
  await start()
  service.start()
  await expect.poll(() => fakes.lines.map(({ msg }) => msg)).toContain('recorders_uncounted')
  expect((await service.app.inject('/ready')).statusCode).toBe(503)
  const sentence = expect.stringMatching(
    /has 2 recorders .*RECORDER_COUNT says 1.*RECORDER_COUNT=2.*SESSION_SECRET.*recorders remove/,
  )
  expect(await recorders()).toMatchObject({
    reason: 'recorders_uncounted',
    details: { sentence },
  })
})

test('A14: a recorder whose role was taken away counts no more, within 30 s', async () => {
  await start()
  expect(await recorders()).toMatchObject({ kind: 'not-ready' })
  fakes.contract.formerRecorders.add(FIRST)
  fakes.clock.advanceMs(30_000)
  expect(await recorders()).toMatchObject({ kind: 'ready' })
})

test('A14: one that is added later is noticed within 30 s', async () => {
  fakes.sellerHistory = createHistory([FIRST])
  await start()
  expect(await recorders()).toMatchObject({ kind: 'ready' })
  Object.assign(fakes.sellerHistory, createHistory([FIRST, SECOND], START_SECONDS))
  fakes.clock.advanceMs(30_000)
  expect(await recorders()).toMatchObject({ kind: 'not-ready' })
})

test('A14: with RECORDER_COUNT of all of them, or of one that is still to come, /ready is green', async () => {
  for (const RECORDER_COUNT of ['2', '3']) {
    await start({ RECORDER_COUNT, SESSION_SECRET })
    expect(await recorders()).toMatchObject({ kind: 'ready' })
    await service.close()
  }
})

test('A14: a mirror node that does not answer stops neither the start nor this check', async () => {
  fakes.sellerHistory = {
    ...createHistory([]),
    createdAt: () => Promise.reject(new LedgerUnavailable('down')),
  }
  await start()
  service.start()
  expect(await recorders()).toMatchObject({ kind: 'ready' })
})

test('A14: the history of an old contract is read whole once, and /ready waits for it no longer than a probe does', async () => {
  const history = createHistory([FIRST, SECOND])
  const whole = Promise.withResolvers<void>()
  const readFrom: number[] = []
  fakes.sellerHistory = {
    ...history,
    async *movementsAfter(timestamp) {
      readFrom.push(Number(timestamp))
      await whole.promise
      yield* history.movementsAfter(timestamp)
    },
  }
  await start()
  const early = recorders()
  await fakes.clock.advanceMsSettled(2_000)
  expect(await early).toMatchObject({ kind: 'ready' })
  whole.resolve()
  await expect.poll(recorders).toMatchObject({ kind: 'not-ready' })
  fakes.clock.advanceMs(30_000)
  expect(await recorders()).toMatchObject({ kind: 'not-ready' })
  const [first, second] = readFrom
  expect(first).toBe(0)
  expect(START_SECONDS - Number(second)).toBeLessThan(WEEK_SECONDS)
})

test.each([
  ['0x00000000000000000000000000000000000000aa', [LOW_ALERT]],
  [SECOND, [LOW_ALERT, 'reserve_low raised']],
] as const)('A14: beside the recorder %s this process posts %j', async (other, posted) => {
  const sent: string[] = []
  const alertWebhook: AlertWebhook = {
    send: ({ alert, change }) => void sent.push(`${alert} ${change}`),
    close: () => undefined,
  }
  Object.assign(fakes, { alertWebhook, recorderGas: { balanceTinybar: 0n, neededTinybar: 1n } })
  fakes.contract.renewalsReserveCanArm = async () => 0
  fakes.sellerHistory = createHistory([FIRST, other])
  await start({ RECORDER_COUNT: '2', SESSION_SECRET })
  service.start()
  await expect.poll(() => fakes.lines.filter(({ msg }) => msg === 'alert')).toHaveLength(2)
  await expect.poll(() => sent.toSorted()).toEqual(posted)
})
