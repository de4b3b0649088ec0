import { paymentReference } from '@tallystick/x402/hedera'
import { beforeEach, describe, expect, test } from 'vitest'
import { createFakeContract, type FakeContract, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import {
  createFakePaymentLog,
  type FakePaymentLog,
  PAY_TO,
  PAYER,
  readTransactionId,
} from '../testing/fake-payments.ts'
import type { PayToCredit } from './payment-log.ts'
import { createUnresolvedCredits } from './unresolved-credits.ts'

const FROM_SECONDS = 1_800_000_000

let contract: FakeContract
let log: FakePaymentLog
let credits: ReturnType<typeof createUnresolvedCredits>

beforeEach(() => {
  contract = createFakeContract()
  log = createFakePaymentLog(FROM_SECONDS)
  credits = createUnresolvedCredits(
    { contract, log, payTo: PAY_TO, periodsPerPurchase: 1 },
    FROM_SECONDS,
  )
})

/** The credit of one period, `at` seconds after the first. */
function credit(at: number): PayToCredit {
  const seconds = FROM_SECONDS + 1 + at
  const transactionId = readTransactionId({ nanos: 1, validFromSeconds: seconds })
  return {
    transactionId,
    paymentReference: paymentReference(transactionId).hash,
    paidAtSeconds: seconds,
    consensusTimestamp: `${seconds}.000000001`,
    consensusSeconds: seconds,
    memo: '',
    amountTinybar: PRICE_TINYBAR,
    payer: PAYER,
  }
}

const logged = (count: number): readonly PayToCredit[] => {
  const list = Array.from({ length: count }, (_, at) => credit(at))
  log.credits.push(...list)
  return list
}
const refund = ({ transactionId, consensusSeconds }: PayToCredit): void =>
  void log.debits.push({
    consensusTimestamp: `${consensusSeconds + 1}.000000000`,
    refundedPayment: transactionId,
  })

describe('A4: with 5,000 credits unresolved', () => {
  test('nothing more is read until some are resolved, however often it is asked for', async () => {
    logged(5_100)
    expect(await credits.readOn()).toBe(false)
    const waiting = credits.count()
    expect(waiting).toBeGreaterThanOrEqual(5_000)
    expect(await credits.readOn()).toBe(false)
    expect(await credits.readOn()).toBe(false)
    expect(credits.count()).toBe(waiting)
    for (const { transactionId } of credits.list().slice(0, 200)) credits.resolve(transactionId)
    expect(await credits.readOn()).toBe(true)
    expect(credits.count()).toBe(4_900)
  })

  test('A15: a refund is not forgotten although its credit is read long after it', async () => {
    const last = logged(5_100).at(-1)
    if (last === undefined) throw new Error('no credit')
    refund(last)
    expect(await credits.readOn()).toBe(false)
    for (const { transactionId } of credits.list()) credits.resolve(transactionId)
    expect(await credits.readOn()).toBe(true)
    expect(credits.list().map(({ transactionId }) => transactionId)).not.toContain(
      last.transactionId,
    )
    expect(credits.count()).toBeGreaterThan(0)
  })
})

describe('A4: offers', () => {
  test('are read once for all credits of a read, and not at all where there is none', async () => {
    await credits.readOn()
    expect(contract.reads).toEqual([])
    logged(50)
    await credits.readOn()
    expect(contract.reads.filter((name) => name === 'offers')).toHaveLength(1)
    expect(credits.count()).toBe(50)
  })

  test('that were set while the log was read count for what was paid since', async () => {
    const [first] = logged(40)
    const last = { ...credit(60), amountTinybar: 2n * PRICE_TINYBAR }
    log.credits.push(last)
    const findPayment = contract.findPayment.bind(contract)
    contract.findPayment = async (reference) => {
      const [offer] = contract.offerList
      if (offer !== undefined && contract.offerList.length === 1)
        contract.offerList.push({
          ...offer,
          offerId: 1,
          priceTinybar: last.amountTinybar,
          startsAtSeconds: FROM_SECONDS + 50,
          retiredAtSeconds: 0,
        })
      return await findPayment(reference)
    }
    await credits.readOn()
    const ids = credits.list().map(({ transactionId }) => transactionId)
    expect(ids).toHaveLength(41)
    expect(ids).toContain(first?.transactionId)
    expect(ids).toContain(last.transactionId)
  })
})

test('A15: a refund that comes later takes its credit out', async () => {
  const [first, second] = logged(2)
  if (first === undefined || second === undefined) throw new Error('no credit')
  expect(await credits.readOn()).toBe(true)
  refund(second)
  expect(await credits.readOn()).toBe(true)
  expect(credits.list().map(({ transactionId }) => transactionId)).toEqual([first.transactionId])
})
