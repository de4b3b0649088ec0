import {
  type Facilitator,
  FacilitatorUnavailable,
  LedgerUnavailable,
  type PaymentScheme,
  type Settlement,
} from '@tallystick/x402'
import type { Hex } from '../domain/access-window.ts'
import type { PaymentLog, PayToCredit, PayToDebit, PayToForward } from '../domain/payment-log.ts'

const FEE_PAYER = '0.0.9001'
export const PAYER = '0.0.5001'
export const PAY_TO = '0.0.7001'
export const PAY_TO_ADDRESS: Hex = '0x0000000000000000000000000000000000007001'
export const PAYER_ADDRESS: Hex = '0xaa00000000000000000000000000000000000000'

export type FakePayment = {
  /** Nanoseconds of the transaction id, which distinguish payments. */
  readonly nanos: number
  readonly validFromSeconds: number
  readonly memo?: string
  /** Whether its validity is over, so that it can only be found. */
  readonly isExpired?: boolean
}

export const readTransactionId = (payment: FakePayment): string =>
  `${FEE_PAYER}@${payment.validFromSeconds}.${String(payment.nanos).padStart(9, '0')}`

/** A scheme that believes what a payload says; the real one's rules are tested in packages/x402. */
export function createFakeScheme(): PaymentScheme & { landed: Set<string>; isDown: boolean } {
  const scheme: ReturnType<typeof createFakeScheme> = {
    scheme: 'exact',
    networks: ['hedera:testnet'],
    landed: new Set(),
    isDown: false,
    async verify(payload, requirement) {
      const payment = payload as FakePayment
      const nonce = readTransactionId(payment)
      return {
        kind: payment.isExpired === true ? 'expired' : 'valid',
        payment: {
          id: `${requirement.network}/${nonce}`,
          network: requirement.network,
          asset: requirement.asset,
          amount: BigInt(requirement.amount),
          payTo: requirement.payTo,
          payer: PAYER,
          payerEvmAddress: PAYER_ADDRESS,
          nonce,
          memo: payment.memo ?? '',
          validFromSeconds: payment.validFromSeconds,
          validUntilSeconds: payment.validFromSeconds + 180,
        },
      }
    },
    async find(payment) {
      return scheme.landed.has(payment.nonce)
        ? { kind: 'landed', transaction: payment.nonce, consensusSeconds: payment.validFromSeconds }
        : { kind: 'unknown' }
    },
  }
  return scheme
}

export type FakeFacilitator = Facilitator & {
  readonly settled: string[]
  /** How the next settlements end. */
  mode: 'settle' | 'refuse' | 'unreachable' | 'silent'
  /** Runs before a settlement is answered. */
  beforeAnswer: () => Promise<void>
}

export function createFakeFacilitator(): FakeFacilitator {
  const fake: FakeFacilitator = {
    settled: [],
    mode: 'settle',
    beforeAnswer: async () => undefined,
    async settle(payload, requirement): Promise<Settlement> {
      const transaction = readTransactionId(payload.payload as FakePayment)
      const { network } = requirement
      if (fake.mode === 'unreachable')
        throw new FacilitatorUnavailable('refused', { nothingSent: true })
      if (fake.mode === 'silent') throw new FacilitatorUnavailable('timed out')
      if (fake.mode === 'refuse')
        return { success: false, transaction: '', network, errorReason: 'invalid_signature' }
      fake.settled.push(transaction)
      await fake.beforeAnswer()
      return { success: true, transaction, network, payer: PAYER }
    },
    feePayers: async () => new Map([['hedera:testnet', [FEE_PAYER]]]),
  }
  return fake
}

export type FakePaymentLog = PaymentLog & {
  readonly credits: PayToCredit[]
  readonly debits: PayToDebit[]
  readonly forwards: PayToForward[]
  /** Contracts by account. */
  readonly contracts: Map<string, Hex>
  reachedSeconds: number
  /** The mirror node's own time; it reports none unless set. */
  nodeSeconds: number | undefined
  isDown: boolean
}

export function createFakePaymentLog(reachedSeconds: number): FakePaymentLog {
  async function* after<Item extends { readonly consensusTimestamp: string }>(
    items: readonly Item[],
    timestamp: string,
  ): AsyncGenerator<Item> {
    if (fake.isDown) throw new LedgerUnavailable('down')
    for (const item of items) if (Number(item.consensusTimestamp) > Number(timestamp)) yield item
  }
  const fake: FakePaymentLog = {
    credits: [],
    debits: [],
    forwards: [],
    contracts: new Map(),
    reachedSeconds,
    nodeSeconds: undefined,
    isDown: false,
    creditsAfter: (timestamp) => after(fake.credits, timestamp),
    debitsAfter: (timestamp) => after(fake.debits, timestamp),
    forwardsAfter: (timestamp) => after(fake.forwards, timestamp),
    findContractAddress: async (accountId) => fake.contracts.get(accountId),
    async ledgerTime() {
      if (fake.isDown) throw new LedgerUnavailable('down')
      return { consensusSeconds: fake.reachedSeconds, nodeSeconds: fake.nodeSeconds }
    },
    readEvmAddress: async (accountId) => (accountId === PAY_TO ? PAY_TO_ADDRESS : PAYER_ADDRESS),
  }
  return fake
}
