/**
 * The facilitator side of scheme `exact` on Hedera (X12), as `@x402/core`'s x402Facilitator takes it: verifies by the
 * strict rules that the gate uses, submits once as fee payer, and believes only the ledger's own record. A refusal
 * without a transaction means that nothing was submitted; `settlement_pending` that something may have been.
 */
import { hash } from 'node:crypto'
import type { Verification, VerifiedPayment } from '@tallystick/x402'
import { type AccountDirectory, verifyHederaPayment } from '@tallystick/x402/hedera'
import type {
  Network,
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkFacilitator,
  SettleResponse,
  VerifyResponse,
} from '@x402/core/types'
import { acceptedRequirement } from '../accepted-requirement.ts'
import { settleOnce } from '../settle-once.ts'
import {
  refusedResponse,
  type SettlementEnd,
  type SettlementListener,
  settleResponse,
} from '../settlement-end.ts'
import { type PaymentIdentity, settlementFlights } from '../settlement-flights.ts'
import type { ConsensusClient } from './consensus-client.ts'
import { duplicateOf, judgeRecord } from './judge-record.ts'
import type { BalanceReader } from './mirror-balance.ts'

export type ExactHederaFacilitatorOptions = SettlementListener & {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  /** `0.0.x`: pays the fees, never the amount. */
  readonly feePayer: string
  readonly consensus: ConsensusClient
  readonly accounts: AccountDirectory
  readonly balances: BalanceReader
  readonly clock: { unixMs(): number }
}

type Flight = {
  readonly verification: Exclude<Verification, { kind: 'refused' }>
  readonly identity: PaymentIdentity
  readonly transactionList: Uint8Array
}

/** The serialised transaction of a payload; empty where there is none, which no verification lets through. */
function bytesOf(payload: PaymentPayload): Uint8Array {
  const { transaction } = payload.payload
  return Buffer.from(typeof transaction === 'string' ? transaction : '', 'base64')
}

/** Scheme `exact` on Hedera, facilitator side. */
export class ExactHederaFacilitator implements SchemeNetworkFacilitator {
  readonly scheme = 'exact'
  readonly caipFamily = 'hedera:*'
  readonly #options: ExactHederaFacilitatorOptions
  readonly #flights = settlementFlights<SettleResponse>()

  constructor(options: ExactHederaFacilitatorOptions) {
    this.#options = options
  }

  /** What clients must put into their transaction id. */
  getExtra(_network: Network): Record<string, unknown> {
    return { feePayer: this.#options.feePayer }
  }

  getSigners(_network: string): string[] {
    return [this.#options.feePayer]
  }

  /** Settlements under way. */
  get flightCount(): number {
    return this.#flights.count
  }

  /** Verifies without submitting. Throws LedgerUnavailable where an account cannot be read. */
  async verify(payload: PaymentPayload, wanted: PaymentRequirements): Promise<VerifyResponse> {
    const verification = await this.#judge(payload, wanted)
    if (verification.kind === 'refused')
      return { isValid: false, invalidReason: verification.reason }
    const { payment } = verification
    const refusal = await this.#refusalBeforeSubmission(verification)
    return refusal === undefined
      ? { isValid: true, payer: payment.payer }
      : { isValid: false, invalidReason: refusal.reason, payer: payment.payer }
  }

  /**
   * Submits once and waits for the record. The same payment sent at once, or while its outcome is in doubt, is not
   * submitted again. Throws LedgerUnavailable or ConsensusUnavailable, both before anything was submitted.
   */
  async settle(payload: PaymentPayload, wanted: PaymentRequirements): Promise<SettleResponse> {
    const verification = await this.#judge(payload, wanted)
    if (verification.kind === 'refused') return refusedResponse(verification.reason, wanted.network)
    const { payment } = verification
    const transactionList = bytesOf(payload)
    const identity = { id: payment.id, fingerprint: hash('sha256', transactionList, 'hex') }
    return await settleOnce(this.#flights, {
      identity,
      conflict: duplicateOf(payment),
      submit: () => this.#submit({ verification, identity, transactionList }),
      conclude: () => this.#conclude(payment, identity),
      answer: (end) => this.#end(payment, end),
    })
  }

  async #judge(payload: PaymentPayload, wanted: PaymentRequirements): Promise<Verification> {
    const { accounts, clock, feePayer, network } = this.#options
    const requirement = acceptedRequirement(payload, wanted, network)
    if ('reason' in requirement) return requirement
    if (requirement.extra['feePayer'] !== feePayer)
      return { kind: 'refused', reason: 'fee_payer_not_managed_by_facilitator' }
    const nowSeconds = Math.floor(clock.unixMs() / 1_000)
    return await verifyHederaPayment(payload.payload, requirement, { accounts, nowSeconds })
  }

  /** Hands the payment to the network; undefined where it went, or may have gone. */
  async #submit(flight: Flight): Promise<SettlementEnd | undefined> {
    const refusal = await this.#refusalBeforeSubmission(flight.verification)
    if (refusal !== undefined) return refusal
    const submission = await this.#options.consensus.submit(flight.transactionList)
    if (submission.kind === 'refused')
      return { outcome: 'refused', reason: submission.reason, message: submission.status }
    if (submission.kind === 'duplicate') return duplicateOf(flight.verification.payment)
    this.#flights.doubt(flight.identity, submission.hash)
    if (submission.cause !== undefined) {
      const { payment } = flight.verification
      this.#options.onDoubt?.(payment, { transaction: payment.nonce, cause: submission.cause })
    }
    return undefined
  }

  /** What would surely fail at consensus, where the fee payer would be charged for nothing. */
  async #refusalBeforeSubmission(
    verification: Flight['verification'],
  ): Promise<SettlementEnd | undefined> {
    if (verification.kind === 'expired')
      return { outcome: 'refused', reason: 'transaction_expired' }
    const { payment } = verification
    const [balance, receiver] = await Promise.all([
      this.#options.balances(payment.payer),
      this.#options.accounts.account(payment.payTo),
    ])
    if (receiver === undefined || receiver.isDeleted) {
      const reason = 'invalid_exact_hedera_payload_preflight_failed'
      return { outcome: 'refused', reason, message: 'INVALID_ACCOUNT_ID' }
    }
    // A balance that cannot be read is left to consensus to judge.
    return balance !== undefined && balance < payment.amount
      ? { outcome: 'refused', reason: 'insufficient_funds' }
      : undefined
  }

  /** Reads what became of a submitted payment. */
  async #conclude(payment: VerifiedPayment, identity: PaymentIdentity): Promise<SettlementEnd> {
    const transactionHash = this.#flights.doubted(identity)
    const { nonce: transaction } = payment
    const settled = await this.#options.consensus.outcome(transaction)
    if (settled.kind === 'unknown') {
      const { cause } = settled
      return { outcome: 'pending', reason: 'settlement_pending', transaction, cause }
    }
    if (transactionHash === undefined) return duplicateOf(payment)
    this.#flights.resolve(identity)
    return judgeRecord(settled, { payment, transactionHash })
  }

  #end(payment: VerifiedPayment, end: SettlementEnd): SettleResponse {
    this.#options.onEnd?.(payment, end)
    return settleResponse(payment, end)
  }
}
