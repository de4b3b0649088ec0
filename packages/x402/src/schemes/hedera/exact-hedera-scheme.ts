import type { Clock } from '../../clock.ts'
import type { PaymentScheme } from '../payment-scheme.ts'
import type { AccountDirectory } from './account-directory.ts'
import { findHederaPayment } from './find-hedera-payment.ts'
import type { MirrorNode } from './mirror-node.ts'
import { canonicalTransactionId, parseTransactionId } from './transaction-id.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

export type ExactHederaSchemeOptions = {
  /** CAIP-2 networks served, e.g. `hedera:testnet`. */
  readonly networks: readonly string[]
  readonly accounts: AccountDirectory
  readonly mirror: Pick<MirrorNode, 'transaction' | 'latestConsensusSeconds'>
  readonly clock: Clock
}

/** Scheme `exact` on Hedera as the gate sees it: HBAR, verified locally, found through a mirror node. */
export function createExactHederaScheme(options: ExactHederaSchemeOptions): PaymentScheme {
  const { accounts, clock, mirror, networks } = options
  const nowSeconds = (): number => Math.floor(clock.unixMs() / 1_000)
  return {
    scheme: 'exact',
    networks,
    verify: (payload, requirement) =>
      verifyHederaPayment(payload, requirement, { accounts, nowSeconds: nowSeconds() }),
    find: (payment) => findHederaPayment(payment, { mirror, nowSeconds: nowSeconds() }),
    isOwnTransaction(payment, transaction) {
      const id = parseTransactionId(transaction)
      return id !== undefined && canonicalTransactionId(id) === payment.nonce
    },
  }
}
