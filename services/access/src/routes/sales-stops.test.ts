/** X9 and A3 before any sale: what the seller has to put right, each red on /ready with a sentence, and nothing sold. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { credit } from '../domain/pay-to-credit.fixture.ts'
import { openWindow } from '../testing/fake-contract.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  paymentHeader,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'

const OTHER_CONTRACT = '0x00000000000000000000000000000000000c0de2'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>

beforeEach(async () => {
  fakes = createFakes()
  service = await startFakeService(fakes)
  await service.sweep.sweep()
})
afterEach(() => service.close())

const call = (headers = {}) =>
  service.app.inject({ url: `/api/svc/access?agent=${AGENT}`, headers })

type Check = { readonly reason?: string; readonly details?: { readonly sentence?: string } }
const checks = async (): Promise<Readonly<Record<string, Check>>> =>
  (await service.app.inject('/ready')).json().checks

/** What is wrong, by which check of /ready it is named, and how it comes about. */
type Wrong = readonly [what: string, check: string, reason: string, happen: () => void]
const wrongs: readonly Wrong[] = [
  ['sales are paused', 'sales', 'sales_paused', () => void (fakes.contract.isPaused = true)],
  [
    'the current offer is retired',
    'offer',
    'offer_retired',
    () => {
      const [offer] = fakes.contract.offerList
      if (offer !== undefined) fakes.contract.offerList[0] = { ...offer, retiredAtSeconds: 7 }
    },
  ],
  [
    'the forwarder role is missing',
    'forwarder',
    'forwarder_role_missing',
    () => void fakes.contract.lacks.add('forwarder'),
  ],
  [
    'the recorder role is missing',
    'recorder',
    'recorder_role_missing',
    () => void fakes.contract.lacks.add('recorder'),
  ],
  [
    'the recorder cannot pay for a batch',
    'recorder',
    'recorder_gas_low',
    () => void (fakes.recorderGas = { balanceTinybar: 1n, neededTinybar: 2n }),
  ],
  [
    'payTo’s key is another account’s',
    'payTo',
    'payto_key_mismatch',
    () => void (fakes.log.readEvmAddress = async () => OTHER_CONTRACT),
  ],
  [
    'another contract’s sales share this payTo unannounced',
    'contracts',
    'payto_shared',
    () => {
      fakes.log.contracts.set('0.0.4242', OTHER_CONTRACT)
      const consensusTimestamp = `${START_SECONDS - 5}.000000000`
      fakes.log.forwards.push({ consensusTimestamp, receivers: ['0.0.4241', '0.0.4242'] })
    },
  ],
  [
    'the clock is 30 s fast',
    'clock',
    'clock_off',
    () => {
      fakes.log.nodeSeconds = START_SECONDS
      fakes.log.reachedSeconds = START_SECONDS + 1
    },
  ],
  [
    'the clock is 30 s slow',
    'clock',
    'clock_off',
    () => void (fakes.log.reachedSeconds = START_SECONDS + 60),
  ],
]

describe.each(wrongs)('A3: nothing is sold while %s', (...[, check, reason, happen]: Wrong) => {
  beforeEach(async () => {
    happen()
    await fakes.clock.advanceMsSettled(30_001)
    await service.sweep.sweep()
  })

  test('/ready is red, with a sentence', async () => {
    expect((await service.app.inject('/ready')).statusCode).toBe(503)
    const found = (await checks())[check]
    expect(found).toMatchObject({ reason })
    expect(found?.details?.sentence).toMatch(/^[A-Z0].{30,}\.$/)
  })

  test('503, no challenge', async () => {
    const answer = await call()
    expect(answer.statusCode).toBe(503)
    const isOfItsOwn = reason === 'sales_paused' || reason === 'offer_retired'
    const error = isOfItsOwn ? reason : 'sales_stopped'
    expect(answer.json()).toEqual({ error })
    expect(answer.headers['payment-required']).toBeUndefined()
  })

  test('an open window is served all the same', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 200))
    expect((await call()).statusCode).toBe(200)
  })
})

test('A3: a payment that was signed before is left unsettled', async () => {
  const challenge = (await call()).json()
  fakes.contract.lacks.add('recorder')
  await fakes.clock.advanceMsSettled(30_001)
  const payment = { nanos: 7, validFromSeconds: START_SECONDS + 30 }
  const answer = await call(paymentHeader(challenge, payment))
  expect(answer.json()).toEqual({ error: 'sales_stopped' })
  expect(fakes.facilitator.settled).toEqual([])
})

test('what was settled before is opened all the same', async () => {
  fakes.contract.lacks.add('recorder')
  fakes.log.credits.push(credit({ ageSeconds: 1, memo: `x402:${AGENT}` }))
  await service.sweep.sweep()
  expect(fakes.sender.opened).toHaveLength(1)
})

test('A23: while another contract shares payTo unannounced, no credit is opened a second time', async () => {
  wrongs.find(([, check]) => check === 'contracts')?.[3]()
  fakes.log.credits.push(credit({ ageSeconds: 1, memo: `x402:${AGENT}` }))
  await service.sweep.sweep()
  expect(fakes.sender.opened).toEqual([])
})

test('a role that is given is seen within 30 s, and at once by /ready', async () => {
  fakes.contract.lacks.add('forwarder')
  await fakes.clock.advanceMsSettled(30_001)
  expect((await call()).statusCode).toBe(503)
  fakes.contract.lacks.clear()
  expect((await call()).statusCode).toBe(503)
  expect((await checks())['forwarder']).toMatchObject({ kind: 'ready' })
  expect((await call()).statusCode).toBe(402)
})

test('the recorder’s money lasts under 10 minutes at its present rate: nothing is sold', async () => {
  const neededTinybar = 10n
  fakes.recorderGas = { balanceTinybar: 60_000n, neededTinybar }
  service.start()
  for (const costTinybarTotal of [10_000, 25_000, 40_000]) {
    fakes.figures = { ...fakes.figures, costTinybarTotal }
    await fakes.clock.advanceMsSettled(60_000)
  }
  // About 13,000 a minute: the rest lasts under five.
  expect((await checks())['recorder']).toMatchObject({ reason: 'recorder_gas_low' })
  fakes.recorderGas = { balanceTinybar: 10n ** 9n, neededTinybar }
  expect((await checks())['recorder']).toMatchObject({ kind: 'ready' })
})

test('money that the operator takes out of the recorder is no spending: sales go on', async () => {
  fakes.recorderGas = { balanceTinybar: 100_000n, neededTinybar: 10n }
  service.start()
  for (const balanceTinybar of [100_000n, 1_000n, 1_000n]) {
    fakes.recorderGas = { balanceTinybar, neededTinybar: 10n }
    await fakes.clock.advanceMsSettled(60_000)
  }
  expect((await checks())['recorder']).toMatchObject({ kind: 'ready' })
})
