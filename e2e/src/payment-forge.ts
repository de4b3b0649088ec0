// Payments for access made with the network's own SDK: honest ones, and ones that no honest client would make.
import {
  AccountId,
  Hbar,
  PrivateKey,
  Timestamp,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import type { DevnetAccount } from '@tallystick/devnet'

/** What a challenge demands. */
export type Offer = {
  readonly network: string
  readonly amount: string
  readonly payTo: string
  readonly extra: { readonly feePayer: string }
}

/** How a payment differs from an honest one. */
export type Draft = {
  /** Puts transfers into the transaction instead of the honest one. */
  readonly fill?: (transaction: TransferTransaction, agent: DevnetAccount) => unknown
  readonly key?: PrivateKey | 'none'
  readonly transactionId?: TransactionId
  readonly amountTinybar?: number
  readonly payTo?: string
  readonly validFromSeconds?: number
  readonly nodes?: number
}

/** Four periods of 3 HBAR, as the SDK takes amounts. */
export const PRICE_TINYBAR = 1_200_000_000
const VALID_SECONDS = 170
/** A payment is valid from slightly before now, so that no clock finds it too early. */
const BACKDATED_SECONDS = 8

export const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

export const tinybar = (amount: number): Hbar => Hbar.fromTinybars(amount)

/** Makes payments for one offer. */
export class PaymentForge {
  readonly offer: Offer
  /** Valid start of the next transaction of any forge: two with the same one would be the same payment. */
  static #nanoseconds = 0

  constructor(offer: Offer) {
    this.offer = offer
  }

  newTransactionId(validFromSeconds = nowSeconds() - BACKDATED_SECONDS): TransactionId {
    PaymentForge.#nanoseconds += 1
    const validFrom = new Timestamp(validFromSeconds, PaymentForge.#nanoseconds)
    return TransactionId.withValidStart(AccountId.fromString(this.offer.extra.feePayer), validFrom)
  }

  /** Adds the honest transfer, or one with another amount or recipient. */
  pay(
    transaction: TransferTransaction,
    agent: DevnetAccount,
    { amountTinybar = PRICE_TINYBAR, payTo = this.offer.payTo }: Draft = {},
  ): TransferTransaction {
    return transaction
      .addHbarTransfer(agent.accountId, tinybar(-amountTinybar))
      .addHbarTransfer(payTo, tinybar(amountTinybar))
  }

  /** A payment's bytes, signed by the agent unless the draft says otherwise. */
  async transaction(agent: DevnetAccount, draft: Draft = {}): Promise<Uint8Array> {
    const transaction = new TransferTransaction()
      .setTransactionId(draft.transactionId ?? this.newTransactionId(draft.validFromSeconds))
      .setNodeAccountIds(Array.from({ length: draft.nodes ?? 1 }, (_, at) => new AccountId(3 + at)))
      .setTransactionValidDuration(VALID_SECONDS)
    if (draft.fill === undefined) this.pay(transaction, agent, draft)
    else draft.fill(transaction, agent)
    transaction.freeze()
    if (draft.key !== 'none')
      await transaction.sign(draft.key ?? PrivateKey.fromStringECDSA(agent.privateKey))
    return transaction.toBytes()
  }

  /** The payment header for these bytes; `change` alters `accepted`. */
  header(bytes: Uint8Array, change: object = {}): string {
    const envelope = {
      x402Version: 2,
      accepted: { ...this.offer, ...change },
      payload: { transaction: Buffer.from(bytes).toString('base64') },
    }
    return Buffer.from(JSON.stringify(envelope)).toString('base64')
  }

  /** A payment as request headers. */
  async headers(agent: DevnetAccount, draft: Draft = {}): Promise<Record<string, string>> {
    return { 'payment-signature': this.header(await this.transaction(agent, draft)) }
  }
}
