import { describe, expect, test } from 'vitest'
import { creditOutcome } from '../command/credits.ts'
import { createFakeContract } from '../testing/fake-contract.ts'
import { createFakePaymentLog, PAY_TO, PAYER_ADDRESS } from '../testing/fake-payments.ts'
import { START_SECONDS } from '../testing/fake-service.ts'
import { afterPreviousContracts, ChainUnavailable, ContractAbsent } from './access-contract.ts'
import { credit as someCredit } from './pay-to-credit.fixture.ts'
import { createUnresolvedCredits } from './unresolved-credits.ts'

const OLDER = '0x00000000000000000000000000000000000c0de1'
const credit = someCredit({ ageSeconds: 1 })

function newFacts() {
  const older = createFakeContract()
  const log = createFakePaymentLog(START_SECONDS)
  log.credits.push(credit)
  const own = createFakeContract()
  const contract = afterPreviousContracts(own, [createFakeContract(), older])
  const offers = own.offerList
  return {
    older,
    log,
    contract,
    offers,
    payTo: PAY_TO,
    periodsPerPurchase: 4,
    refunded: new Set<string>(),
  }
}

describe('A23: payments that a previous contract took', () => {
  test('the sweep does not open again', async () => {
    const facts = newFacts()
    const credits = createUnresolvedCredits(facts, START_SECONDS - 10)
    await credits.readOn()
    expect(credits.count()).toBe(1)
    facts.older.payments.set(credit.paymentReference, PAYER_ADDRESS)
    const again = createUnresolvedCredits(facts, START_SECONDS - 10)
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
    facts.log.readEvmAddress = async () => OLDER
    expect(await creditOutcome(facts, credit)).toEqual({
      kind: 'refused',
      reason: 'paid-by-contract',
    })
  })
})
