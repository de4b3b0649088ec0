/** X16: payers in line, over the EVM stand-in, whose balances the gate reads. */
import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import type { Facilitator } from '../facilitators/facilitator.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { createExactEvmScheme } from '../schemes/evm/exact-evm-scheme.ts'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EvmStandIn,
  payCent,
} from '../testing/evm-stand-in.fixture.ts'
import { encodeHeader } from '../testing/payment-header.fixture.ts'
import { shareReservations } from '../testing/shared-reservations.fixture.ts'
import type { PaymentTerms } from './challenge.ts'
import type { GateLimits } from './gate-limits.ts'
import { createPaymentGate } from './payment-gate.ts'

const CENT = 10_000n
const terms: PaymentTerms = {
  requirements: [centRequirement()],
  resource: { url: 'https://shop.example/api/grade', description: '', mimeType: 'text/plain' },
}

/** Until everything that can run has run. */
async function untilIdle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
}

/** A gate whose facilitator settles when the test lets it, and takes the money from the one payer. */
function line(options: {
  readonly balance: bigint
  readonly limits?: Partial<GateLimits>
  /** What preparing waits for. */
}) {
  const clock = manualClock(EVM_NOW_SECONDS * 1_000)
  const chain = new EvmStandIn()
  chain.balance = options.balance
  const waiting: (() => void)[] = []
  const runs = { prepared: 0, preparedAtOnce: 0, settled: 0 }
  const facilitator: Facilitator = {
    feePayers: async () => new Map(),
    async settle(_payload, { network }) {
      await new Promise<void>((resolve) => void waiting.push(resolve))
      runs.settled += 1
      chain.balance = (chain.balance ?? 0n) - CENT
      return { success: true, transaction: `0x${'ab'.repeat(32)}`, network }
    },
  }
  const shared = shareReservations(clock)
  const [here, elsewhere] = ['here', 'elsewhere'].map((owner) =>
    createPaymentGate({
      schemes: [createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: chain.ledger, clock })],
      facilitator,
      reservations: shared.openStore(owner),
      clock,
      limits: options.limits ?? {},
    }),
  )
  if (here === undefined || elsewhere === undefined) throw new Error('two gates')
  let under = 0
  const buy = async (index: number, gate = here) => {
    const payload = await payCent()
    const paymentSignature = encodeHeader({
      x402Version: 2,
      payload,
      accepted: terms.requirements[0],
    })
    const outcome = await gate.pay({ paymentSignature }, terms, {
      fingerprint: `call ${index}`,
      subject: `call ${index}`,
      async prepare() {
        runs.prepared += 1
        under += 1
        runs.preparedAtOnce = Math.max(runs.preparedAtOnce, under)
        return { kind: 'ready', prepared: undefined }
      },
      mayHonour: async () => true,
      async fulfil() {
        under -= 1
        return 'served'
      },
    })
    return outcome.kind === 'challenged' ? outcome.error : outcome.kind
  }
  /** Lets settlements through, one after the other, until nothing waits. */
  const settleAll = async () => {
    for (let idle = 0; idle < 20; idle += 1) {
      await new Promise(setImmediate)
      if (waiting.length > 0) idle = 0
      waiting.shift()?.()
    }
  }
  return { buy, chain, clock, elsewhere, runs, settleAll }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test('X16: at most 4 payments of one payer are in preparation at once, and all are served', async () => {
  const { buy, runs, settleAll } = line({ balance: 100n * CENT })
  const buying = Promise.all(numbers(20).map((index) => buy(index)))
  await untilIdle()
  expect(runs).toMatchObject({ prepared: 4, settled: 0 })
  await settleAll()
  expect(new Set(await buying)).toEqual(new Set(['paid']))
  expect(runs).toEqual({ prepared: 20, preparedAtOnce: 4, settled: 20 })
})

test('X16: work is prepared only for what the balance covers beside the payments before it', async () => {
  const { buy, runs, settleAll } = line({ balance: 2n * CENT })
  const buying = Promise.all(numbers(50).map((index) => buy(index)))
  await untilIdle()
  expect(runs.prepared).toBe(2)
  await settleAll()
  const outcomes = await buying
  expect(outcomes.filter((kind) => kind === 'paid')).toHaveLength(2)
  expect(outcomes.filter((kind) => kind === 'insufficient_funds')).toHaveLength(48)
  expect(runs).toMatchObject({ prepared: 2, settled: 2 })
})

test('X16: a payment that waits for a balance which comes is served', async () => {
  const { buy, chain, runs, settleAll } = line({ balance: CENT })
  const buying = Promise.all([buy(0), buy(1)])
  await untilIdle()
  expect(runs.prepared).toBe(1)
  chain.balance = 2n * CENT
  await settleAll()
  expect(await buying).toEqual(['paid', 'paid'])
})

test('X16: who waits too long is refused unsettled', async () => {
  const { buy, clock, runs, settleAll } = line({ balance: 100n * CENT })
  const buying = numbers(5).map((index) => buy(index))
  await untilIdle()
  await clock.advanceMsSettled(20_000)
  expect(await buying[4]).toBe('unavailable')
  await settleAll()
  expect(await Promise.all(buying)).toEqual(['paid', 'paid', 'paid', 'paid', 'unavailable'])
  expect(runs.settled).toBe(4)
})

test('X16: a line that is full turns payments away unsettled', async () => {
  const limits = { payerWaitingMax: 6 }
  const { buy, settleAll } = line({ balance: 100n * CENT, limits })
  const buying = Promise.all(numbers(10).map((index) => buy(index)))
  await untilIdle()
  await settleAll()
  const outcomes = await buying
  expect(outcomes.filter((kind) => kind === 'unavailable')).toHaveLength(4)
  expect(outcomes.filter((kind) => kind === 'paid')).toHaveLength(6)
})

test('X16, G12: at two processes a payer’s payments count together: 4 in preparation, and no more than the balance covers', async () => {
  for (const { balance, most } of [
    { balance: 100n * CENT, most: 4 },
    { balance: CENT, most: 1 },
  ]) {
    const { buy, clock, elsewhere, runs, settleAll } = line({ balance })
    const buying = Promise.all([
      ...numbers(4).map((index) => buy(index)),
      ...numbers(4).map((index) => buy(4 + index, elsewhere)),
    ])
    for (let round = 0; round < 12; round += 1) {
      await untilIdle()
      expect(runs.preparedAtOnce).toBeLessThanOrEqual(most)
      await settleAll()
      await clock.advanceMsSettled(250)
    }
    const paid = (await buying).filter((kind) => kind === 'paid')
    expect([paid.length, runs.prepared]).toEqual(most === 1 ? [1, 1] : [8, 8])
    expect(runs.preparedAtOnce).toBe(most)
  }
})
