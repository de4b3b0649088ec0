/**
 * The facilitator side of scheme `exact` on EVM (X12), as `@x402/core`'s x402Facilitator takes it: verifies by the rules
 * that the gate uses, submits each authorization once, and believes only the token's events and the nonce's state. A
 * refusal without a transaction means that nothing of ours is on its way; `settlement_pending` that something may be.
 */
import { hash } from 'node:crypto'
import type { Clock } from '@tallystick/service-kit'
import { LedgerUnavailable, type Verification, type VerifiedPayment } from '@tallystick/x402'
import {
  assetOf,
  authorizationKeyOf,
  type EvmAsset,
  type EvmLedger,
  type EvmReceipt,
  type Hex,
  readEvmPayload,
  verifyEvmPayment,
} from '@tallystick/x402/evm'
import type {
  Network,
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkFacilitator,
  SettleResponse,
  VerifyResponse,
} from '@x402/core/types'
import { acceptedRequirement } from '../accepted-requirement.ts'
import { pause } from '../pause.ts'
import { settleOnce } from '../settle-once.ts'
import {
  refusedResponse,
  type SettlementEnd,
  type SettlementListener,
  settleResponse,
} from '../settlement-end.ts'
import { type PaymentIdentity, settlementFlights } from '../settlement-flights.ts'
import type { EvmWallet } from './evm-wallet.ts'
import { judgeReceipt, NONCE_USED } from './judge-receipt.ts'
import { type ContractCall, transferCall } from './transfer-call.ts'

export type ExactEvmFacilitatorOptions = SettlementListener & {
  /** CAIP-2, e.g. `eip155:196`. */
  readonly network: string
  /** Tokens that are settled in, all of that network. */
  readonly assets: readonly EvmAsset[]
  readonly wallet: EvmWallet
  readonly ledger: EvmLedger
  readonly clock: Clock
  /** Longest wait for a receipt. */
  readonly outcomeMs?: number
}

type Flight = {
  readonly verification: Exclude<Verification, { kind: 'refused' }>
  readonly identity: PaymentIdentity
  readonly call: ContractCall
}

/** Blocks of X Layer come every second or oftener; a busy chain takes some of them. */
const OUTCOME_MS = 20_000

/** First and longest pause between two looks for a receipt. */
const POLL_FIRST_MS = 10
const POLL_MAX_MS = 1_000

/** Scheme `exact` on EVM, facilitator side. */
export class ExactEvmFacilitator implements SchemeNetworkFacilitator {
  readonly scheme = 'exact'
  readonly caipFamily = 'eip155:*'
  readonly #options: ExactEvmFacilitatorOptions
  readonly #flights = settlementFlights<SettleResponse>()

  constructor(options: ExactEvmFacilitatorOptions) {
    this.#options = options
  }

  /** Nothing: what clients sign is in the seller's requirement. */
  getExtra(_network: Network): undefined {
    return undefined
  }

  getSigners(_network: string): string[] {
    return [this.#options.wallet.address]
  }

  /** Settlements under way. */
  get flightCount(): number {
    return this.#flights.count
  }

  /** Verifies without submitting, the transfer simulated. Throws LedgerUnavailable. */
  async verify(payload: PaymentPayload, wanted: PaymentRequirements): Promise<VerifyResponse> {
    const verification = await this.#judge(payload, wanted)
    if (verification.kind === 'refused') {
      return { isValid: false, invalidReason: verification.reason }
    }
    const { payer } = verification.payment
    const preflight = await this.#preflight(verification, this.#callOf(payload, wanted))
    return 'gas' in preflight
      ? { isValid: true, payer }
      : { isValid: false, invalidReason: preflight.reason, payer }
  }

  /**
   * Submits once and waits for the receipt. The same payment sent at once, or while its outcome is in doubt, is not
   * submitted again. Throws LedgerUnavailable or ConsensusUnavailable, both before anything was submitted.
   */
  async settle(payload: PaymentPayload, wanted: PaymentRequirements): Promise<SettleResponse> {
    const verification = await this.#judge(payload, wanted)
    if (verification.kind === 'refused') return refusedResponse(verification.reason, wanted.network)
    const { payment } = verification
    const { amount, id, payTo, validFromSeconds, validUntilSeconds } = payment
    // The signature is left out: one authorization has several spellings of it, and pays once.
    const terms = [payTo, String(amount), validFromSeconds, validUntilSeconds]
    const identity = { id, fingerprint: hash('sha256', JSON.stringify(terms), 'hex') }
    const call = this.#callOf(payload, wanted)
    return await settleOnce(this.#flights, {
      identity,
      conflict: NONCE_USED,
      submit: () => this.#submit({ verification, identity, call }),
      conclude: () => this.#conclude(payment, identity),
      answer: (end) => this.#end(payment, end),
    })
  }

  async #judge(payload: PaymentPayload, wanted: PaymentRequirements): Promise<Verification> {
    const { assets, clock, ledger, network } = this.#options
    const requirement = acceptedRequirement(payload, wanted, network)
    if ('reason' in requirement) return requirement
    const nowSeconds = Math.floor(clock.unixMs() / 1_000)
    return await verifyEvmPayment(payload.payload, requirement, { assets, ledger, nowSeconds })
  }

  /** The transaction's call, of a payload that was verified. */
  #callOf(payload: PaymentPayload, wanted: PaymentRequirements): ContractCall {
    const asset = assetOf(this.#options.assets, wanted)
    const read = readEvmPayload(payload.payload)
    if (asset === undefined || read === undefined) throw new Error('the payload was not verified')
    return transferCall(asset, read)
  }

  /** Hands the transfer to the chain; undefined where it went, or may have gone. */
  async #submit({ call, identity, verification }: Flight): Promise<SettlementEnd | undefined> {
    const preflight = await this.#preflight(verification, call)
    if (!('gas' in preflight)) return preflight
    const sent = await this.#options.wallet.send({ ...call, gas: preflight.gas })
    this.#flights.doubt(identity, Buffer.from(sent.hash.slice(2), 'hex'))
    if (!sent.isCertain) {
      const doubt = { transaction: sent.hash, cause: sent.cause }
      this.#options.onDoubt?.(verification.payment, doubt)
    }
    return undefined
  }

  /** What would surely fail on the chain, where we would pay gas for nothing; the gas where nothing speaks against it. */
  async #preflight(
    verification: Flight['verification'],
    call: ContractCall,
  ): Promise<SettlementEnd | { readonly gas: bigint }> {
    const { payment } = verification
    if (verification.kind === 'expired') {
      const reason = 'invalid_exact_evm_payload_authorization_valid_before'
      return { outcome: 'refused', reason }
    }
    const { ledger, wallet } = this.#options
    const key = authorizationKeyOf(payment)
    const [isUsed, balance, simulation] = await Promise.all([
      ledger.isAuthorizationUsed(key),
      ledger.balanceOf(key.asset, key.payer),
      wallet.simulate(call),
    ])
    if (isUsed) return NONCE_USED
    if (balance < payment.amount) {
      return { outcome: 'refused', reason: 'invalid_exact_evm_insufficient_balance' }
    }
    if (simulation.kind === 'succeeds') return simulation
    // Somebody may have been faster between the two answers.
    if (await ledger.isAuthorizationUsed(key)) return NONCE_USED
    const reason = 'invalid_exact_evm_transaction_simulation_failed'
    return { outcome: 'refused', reason, message: simulation.reason }
  }

  /** Reads what became of a submitted payment. */
  async #conclude(payment: VerifiedPayment, identity: PaymentIdentity): Promise<SettlementEnd> {
    const doubted = this.#flights.doubted(identity)
    if (doubted === undefined) return NONCE_USED
    const transaction: Hex = `0x${Buffer.from(doubted).toString('hex')}`
    const { cause, found } = await this.#outcome(payment, transaction)
    if (found === undefined) {
      const reason = 'settlement_pending'
      return { outcome: 'pending', reason, transaction, cause }
    }
    this.#flights.resolve(identity)
    const end = judgeReceipt(found.receipt, { payment, isUsed: found.isUsed })
    if (end.outcome !== 'failed' || found.balance >= payment.amount) return end
    // The money went elsewhere in the meantime. Nothing of ours is on its way any more.
    return { outcome: 'refused', reason: 'invalid_exact_evm_insufficient_balance' }
  }

  /** Looks for the receipt until there is one or time is up; a node that fails is asked again. */
  async #outcome(
    payment: VerifiedPayment,
    transaction: Hex,
  ): Promise<{ found?: Outcome; cause?: unknown }> {
    const { clock, ledger, outcomeMs = OUTCOME_MS } = this.#options
    const deadlineMs = clock.unixMs() + outcomeMs
    const key = authorizationKeyOf(payment)
    let cause: unknown
    for (let pauseMs = POLL_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, POLL_MAX_MS)) {
      try {
        const receipt = await ledger.receipt(transaction)
        if (receipt !== undefined) {
          const isUsed = await ledger.isAuthorizationUsed(key, receipt.blockNumber)
          const balance = isUsed ? 0n : await ledger.balanceOf(key.asset, key.payer)
          return { found: { receipt, isUsed, balance } }
        }
      } catch (error) {
        if (!(error instanceof LedgerUnavailable)) throw error
        cause = error
      }
      if (clock.unixMs() + pauseMs > deadlineMs) return { cause }
      await pause(clock, pauseMs)
    }
  }

  #end(payment: VerifiedPayment, end: SettlementEnd): SettleResponse {
    this.#options.onEnd?.(payment, end)
    return settleResponse(payment, end)
  }
}

type Outcome = {
  readonly receipt: EvmReceipt
  /** The nonce's state in the receipt's block. */
  readonly isUsed: boolean
  readonly balance: bigint
}
