/**
 * Scheme `exact` on Hedera, facilitator side (X12): verifies by the gate's strict rules, submits as fee payer, and trusts
 * only the ledger's own record.
 */
import type { VerifiedPayment } from '@tallystick/x402'
import {
  type AccountDirectory,
  createTokenJudge,
  type FeeFloor,
  HBAR_ASSET,
  type TokenJudge,
  type TokenReader,
  verifyHederaPayment,
} from '@tallystick/x402/hedera'
import {
  createExactFacilitator,
  type ExactFacilitator,
  type FacilitatorLimits,
  type Order,
  type SettlementEnd,
} from '../settlement.ts'
import type { ConsensusClient, Recorded } from './consensus-client.ts'

/** Reads an account's balance in tinybar; undefined if unknown. */
export type BalanceReader = (accountId: string) => Promise<bigint | undefined>

type ExactHederaOptions = FacilitatorLimits & {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  /** `0.0.x`: pays the fees, never the amount. */
  readonly feePayer: string
  readonly consensus: ConsensusClient
  readonly accounts: AccountDirectory
  readonly balances: BalanceReader
  readonly mirror: TokenReader
  readonly clock: { unixMs(): number }
  /** The least fee that a payment must allow, tinybar; by default 0. */
  readonly feeFloor?: FeeFloor
}

/** Builds the facilitator side of `exact` on one Hedera network. */
export function createExactHedera(options: ExactHederaOptions): ExactFacilitator {
  const { accounts, clock, feeFloor, feePayer, mirror, network } = options
  const tokens = createTokenJudge({ mirror, clock })
  const parts = { ...options, tokens, underWay: new Map<string, VerifiedPayment>() }
  return createExactFacilitator(
    {
      network,
      caipFamily: 'hedera:*',
      signer: feePayer,
      extra: { feePayer },
      expired: 'transaction_expired',
      async verify(payload, requirement) {
        if (requirement.extra['feePayer'] !== feePayer) {
          return { kind: 'refused', reason: 'fee_payer_not_managed_by_facilitator' }
        }
        const nowSeconds = Math.floor(clock.unixMs() / 1_000)
        const feeMinTinybar = (await feeFloor?.(requirement.asset)) ?? 0n
        const context = { accounts, nowSeconds, feeMinTinybar }
        return await verifyHederaPayment(payload, requirement, context)
      },
      order: (payment, payload) => makeOrder(parts, payment, payload),
    },
    options,
  )
}

type Parts = ExactHederaOptions & {
  readonly tokens: TokenJudge
  /** Payments that were handed to the network and are not concluded, by their ids. */
  readonly underWay: Map<string, VerifiedPayment>
}

/** What a payer's other payments under way may still take from its balance. */
function amountAhead({ underWay }: Parts, { asset, id, payer }: VerifiedPayment): bigint {
  let sum = 0n
  for (const other of underWay.values())
    if (other.id !== id && other.payer === payer && other.asset === asset) sum += other.amount
  return sum
}

function makeOrder(options: Parts, payment: VerifiedPayment, payload: unknown): Order {
  const { transaction } = payload as { transaction: string }
  const transactionList = Buffer.from(transaction, 'base64')
  const { nonce } = payment
  return {
    terms: transactionList,
    duplicate: duplicateEnd(payment),
    preflight: () => preflight(options, payment),
    async submit() {
      const aheadAmount = amountAhead(options, payment)
      options.underWay.set(payment.id, payment)
      let isSubmitted = false
      try {
        const refusal = await preflight(options, payment, aheadAmount)
        if (refusal !== undefined) return refusal
        const submission = await options.consensus.submit(transactionList)
        if (submission === 'duplicate') return duplicateEnd(payment)
        isSubmitted = 'hash' in submission
        return 'hash' in submission ? { ...submission, transaction: nonce } : submission
      } finally {
        if (!isSubmitted) options.underWay.delete(payment.id)
      }
    },
    isRepeatable: true,
    async conclude(hashes) {
      const outcome = await options.consensus.outcome(nonce)
      options.underWay.delete(payment.id)
      if ('status' in outcome) return judgeRecord(outcome, { payment, hashes })
      const { cause } = outcome
      return { outcome: 'pending', reason: 'settlement_pending', transaction: nonce, cause }
    },
  }
}

/** A failure, or a payment that falls short, that is certain at consensus and would cost the fee payer for nothing. */
async function preflight(
  { accounts, balances, tokens }: Parts,
  payment: VerifiedPayment,
  aheadAmount = 0n,
): Promise<SettlementEnd | undefined> {
  const { amount, asset, payer, payTo } = payment
  const isHbar = asset === HBAR_ASSET
  const [balance, receiver, problem] = await Promise.all([
    isHbar ? balances(payer) : undefined,
    accounts.account(payTo),
    isHbar ? undefined : tokens.foreseeRefusal(payment, aheadAmount),
  ])
  const isAbsent = receiver === undefined || receiver.isDeleted
  if (isAbsent || receiver.mustSign === true) {
    const reason = 'invalid_exact_hedera_payload_preflight_failed'
    const message = isAbsent ? 'INVALID_ACCOUNT_ID' : 'INVALID_SIGNATURE'
    return { outcome: 'refused', reason, message }
  }
  if (problem !== undefined) return { outcome: 'refused', reason: problem }
  // An unreadable balance is left to consensus to judge.
  return balance !== undefined && balance < amount + aheadAmount
    ? { outcome: 'refused', reason: 'insufficient_funds' }
    : undefined
}

/** Another transaction used this id, which the ledger accepts once: only its record says what for. */
const duplicateEnd = ({ nonce }: VerifiedPayment): SettlementEnd => ({
  outcome: 'duplicate',
  reason: 'DUPLICATE_TRANSACTION',
  transaction: nonce,
})

/**
 * Judges what the ledger recorded under a payment's id. The hash shows whether it is one that we submitted,
 * since the receipt alone would also report a different one under the same id. The net credit is checked as the
 * specification requires.
 */
export function judgeRecord(
  record: Recorded,
  expected: { readonly payment: VerifiedPayment; readonly hashes: ReadonlySet<string> },
): SettlementEnd {
  const { payment, hashes } = expected
  if (!hashes.has(record.hash)) return duplicateEnd(payment)
  const { amount, asset, nonce: transaction, payTo } = payment
  if (record.status !== 'SUCCESS') {
    const message = record.status
    return { outcome: 'failed', reason: 'transaction_failed', message, transaction }
  }
  return record.net.get(asset)?.get(payTo) === amount
    ? { outcome: 'settled', reason: '', transaction }
    : { outcome: 'failed', reason: 'settlement_transfer_amount_mismatch', transaction }
}
