import { describe, expect, test } from 'vitest'
import { creditOutcome } from '../command/credits.ts'
import { createFakeContract, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import { createFakePaymentLog, PAYER, PAYER_ADDRESS } from '../testing/fake-payments.ts'
import { ChainUnavailable, ContractAbsent, type PayToCredit } from './ports.ts'
import { afterPreviousContracts } from './previous-contracts.ts'
import { createUnresolvedCredits } from './unresolved-credits.ts'

const SECONDS = 1_800_000_000
const OLDER = '0x00000000000000000000000000000000000c0de1'

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
  const older = createFakeContract()
  const log = createFakePaymentLog(SECONDS)
  log.credits.push(credit)
  const contract = afterPreviousContracts(createFakeContract(), [createFakeContract(), older])
  return { older, log, contract, periodsPerPurchase: 1, refunded: new Set<string>() }
}

describe('A23: payments that a previous contract took', () => {
  test('the sweep does not open again', async () => {
    const facts = newFacts()
    const credits = createUnresolvedCredits(facts, SECONDS - 10)
    await credits.readOn()
    expect(credits.count()).toBe(1)
    facts.older.payments.set(credit.paymentReference, PAYER_ADDRESS)
    const again = createUnresolvedCredits(facts, SECONDS - 10)
    await again.readOn()
    expect(again.count()).toBe(0)
  })

  test.each([
    ['is down', 'isDown', ChainUnavailable],
    ['is not there', 'isAbsent', ContractAbsent],
  ] as const)(
    'while one of them %s, no payment is judged: none is refunded',
    async (_, flag, error) => {
      const facts = newFacts()
      facts.older[flag] = true
      await expect(creditOutcome(facts, credit)).rejects.toThrow(error)
    },
  )

  test('what a previous contract paid out to payTo buys nothing', async () => {
    const facts = newFacts()
    facts.older.isOwn = (address) => address === OLDER
    facts.log.evmAddressOf = async () => OLDER
    expect(await creditOutcome(facts, credit)).toEqual({
      kind: 'refused',
      reason: 'the contract paid it out, so that it is yours',
    })
  })
})
