import { describe, expect, test } from 'vitest'
import { ZERO_ADDRESS } from '../domain/access-window.ts'
import type { PayToCredit } from '../domain/payment-log.ts'
import { CONTRACT, createFakeContract, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import {
  createFakePaymentLog,
  PAY_TO,
  PAY_TO_ADDRESS,
  PAYER,
  PAYER_ADDRESS,
} from '../testing/fake-payments.ts'
import { creditOutcome } from './credits.ts'

const SECONDS = 1_800_000_000

const credit: PayToCredit = {
  transactionId: `0.0.9001@${SECONDS}.000000001`,
  paymentReference: '0x01',
  paidAtSeconds: SECONDS,
  consensusTimestamp: `${SECONDS}.000000001`,
  consensusSeconds: SECONDS,
  memo: '',
  amountTinybar: PRICE_TINYBAR,
  payer: PAYER,
}

function newFacts() {
  const contract = createFakeContract()
  const log = createFakePaymentLog(SECONDS)
  const offers = contract.offerList
  return {
    contract,
    log,
    offers,
    payTo: PAY_TO,
    periodsPerPurchase: 1,
    refunded: new Set<string>(),
  }
}

describe('A15: what became of a credit', () => {
  test.each<[string, Partial<PayToCredit>]>([
    ['several-payers', { payer: undefined }],
    ['reserved-memo', { memo: 'x402:somebody' }],
    ['no-whole-purchase', { amountTinybar: 1n }],
  ])('refused: %s', async (reason, change) => {
    const outcome = await creditOutcome(newFacts(), { ...credit, ...change })
    expect(outcome).toEqual({ kind: 'refused', reason })
  })

  test.each([
    ['the zero address', ZERO_ADDRESS],
    ['an address of the ledger’s own', '0x000000000000000000000000000000000000016b'],
    ['the contract', CONTRACT],
    ['payTo', PAY_TO_ADDRESS],
    ['the number of an account that has an alias', `0x${(4242).toString(16).padStart(40, '0')}`],
  ])(
    'A24: refused, so that it is refunded and never opened: its memo names %s',
    async (_, agent) => {
      const outcome = await creditOutcome(newFacts(), { ...credit, memo: `x402:${agent}` })
      expect(outcome).toEqual({ kind: 'refused', reason: 'agent-unheld' })
    },
  )

  test('refused: the contract paid it out', async () => {
    const facts = newFacts()
    facts.log.readEvmAddress = async () => CONTRACT
    const paidOut = { kind: 'refused', reason: 'paid-by-contract' }
    expect(await creditOutcome(facts, credit)).toEqual(paidOut)
  })

  test('pending for its payer, then opened; with a refund both are told', async () => {
    const facts = newFacts()
    expect(await creditOutcome(facts, credit)).toMatchObject({
      kind: 'pending',
      purchase: { isNamed: false, order: { agent: PAYER_ADDRESS } },
    })
    facts.contract.payments.set(credit.paymentReference, PAYER_ADDRESS)
    const opened = { kind: 'opened', agent: PAYER_ADDRESS }
    expect(await creditOutcome(facts, credit)).toEqual({ ...opened, isRefundedToo: false })
    facts.refunded.add(credit.transactionId)
    expect(await creditOutcome(facts, credit)).toEqual({ ...opened, isRefundedToo: true })
  })

  test('opened while it is judged: it is opened, not refused', async () => {
    const facts = newFacts()
    const findPayment = facts.contract.findPayment.bind(facts.contract)
    facts.contract.findPayment = async (reference) => {
      const before = await findPayment(reference)
      facts.contract.payments.set(credit.paymentReference, PAYER_ADDRESS)
      return before
    }
    const opened = { kind: 'opened', agent: PAYER_ADDRESS, isRefundedToo: false }
    expect(await creditOutcome(facts, credit)).toEqual(opened)
  })
})
