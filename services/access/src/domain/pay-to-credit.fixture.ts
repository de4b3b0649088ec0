import { paymentReference } from '@tallystick/x402/hedera'
import { PRICE_TINYBAR } from '../testing/fake-contract.ts'
import { PAYER, readTransactionId } from '../testing/fake-payments.ts'
import { AGENT, START_SECONDS } from '../testing/fake-service.ts'
import type { PayToCredit } from './payment-log.ts'

/** A whole purchase, tinybar. */
export const WHOLE = 4n * PRICE_TINYBAR
let nanos = 0

/** A credit to payTo, `ageSeconds` old at the start. */
export function credit(
  change: Partial<PayToCredit> & { readonly ageSeconds: number },
): PayToCredit {
  nanos += 1
  const { ageSeconds, ...rest } = change
  const seconds = START_SECONDS - ageSeconds
  const transactionId = readTransactionId({ nanos, validFromSeconds: seconds })
  return {
    transactionId,
    paymentReference: paymentReference(transactionId).hash,
    paidAtSeconds: seconds,
    consensusTimestamp: `${seconds}.${String(nanos).padStart(9, '0')}`,
    consensusSeconds: seconds,
    memo: '',
    amountTinybar: WHOLE,
    payer: PAYER,
    ...rest,
  }
}

/** One whose memo names an agent. */
export const creditFor = (agent: string, ageSeconds: number): PayToCredit =>
  credit({ ageSeconds, memo: `x402:${agent}` })

/** Three of one agent, a second apart. */
export const threeForAgent = () => [1, 2, 3].map((ageSeconds) => creditFor(AGENT, ageSeconds))
