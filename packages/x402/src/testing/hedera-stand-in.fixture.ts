/**
 * An in-memory ledger for tests of the gate and the scheme: accounts with real keys, a facilitator that verifies its
 * input and keeps records, and the mirror node's view of them. The test switches faults on.
 */

import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import type { PaymentTerms } from '../gate/challenge.ts'
import type { PaymentPayload, PaymentRequirement, Settlement, VerifiedPayment } from '../payment.ts'
import type { AccountDirectory } from '../schemes/hedera/account-directory.ts'
import { longZeroAddress } from '../schemes/hedera/account-id.ts'
import { ExactHederaClient, type HederaSigner } from '../schemes/hedera/exact-hedera-client.ts'
import {
  createExactHederaScheme,
  hederaRequirement,
} from '../schemes/hedera/exact-hedera-scheme.ts'
import { HBAR_ASSET } from '../schemes/hedera/hbar.ts'
import { hederaSigner } from '../schemes/hedera/hedera-signer.ts'
import type { LedgerRecord } from '../schemes/hedera/ledger-record.ts'
import { tokenSchema } from '../schemes/hedera/ledger-token.ts'
import type { LedgerAccount } from '../schemes/hedera/mirror-node.ts'
import { verifyHederaPayment } from '../schemes/hedera/verify-hedera-payment.ts'
import { LedgerUnavailable, type PaymentScheme } from '../schemes/payment-scheme.ts'

export const NETWORK = 'hedera:testnet'
export const FEE_PAYER = '0.0.5001'
export const PAY_TO = '0.0.7001'
export const PAYER = '0.0.9001'
export const OTHER_PAYER = '0.0.9002'
export const START_MS = 1_795_226_000_000

export const PAYER_KEY = '11'.repeat(32)
const OTHER_PAYER_KEY = '22'.repeat(32)

/** What the facilitator does with the next settlements. */
type FacilitatorFault =
  /** Submits, and loses the answer. */
  | 'answer_lost'
  /** Never submits, and says nothing useful. */
  | 'silent'
  | 'not_reached'
  /** Submits, or does not, and answers success with a transaction that is not the payment's. */
  | 'success_of_another'
  | 'invented_success'
  | { readonly refusal: string; readonly transaction?: string }

const FEE_TINYBAR = 84_000n

/** Eight US cents for one HBAR. */
const TINYBAR_PER_CENT = 12_500_000n

/** A transaction of no payment in these tests. */
const ANOTHER = '0.0.1@1.000000001'

/** What the ledger keeps about a payment; a test may put one there itself. */
type Landed = Pick<VerifiedPayment, 'nonce' | 'payer' | 'payTo' | 'asset' | 'amount' | 'memo'>

export class HederaStandIn {
  readonly clock: ManualClock
  readonly accounts = new Map<string, LedgerAccount>()
  readonly signers = new Map<string, HederaSigner>()
  readonly records: LedgerRecord[] = []
  fault: FacilitatorFault | undefined
  /** What the facilitator was asked to settle, each time. */
  readonly seen: {
    readonly payload: PaymentPayload
    readonly requirement: PaymentRequirement
  }[] = []
  isMirrorDown = false
  areAccountsDown = false
  mirrorLagSeconds = 0
  /** Whether tokens take a fee from what is credited. Of each, everybody holds 10,000. */
  hasTokenFee = false
  /** Transactions, and tokens, that the mirror node was asked for. */
  lookUps = 0
  tokenReads = 0
  /** What the mirror node waits for before it answers. */
  mirrorPause: Promise<unknown> | undefined

  constructor(clock: ManualClock = manualClock(START_MS)) {
    this.clock = clock
    this.addPayer(PAYER, PAYER_KEY)
    this.addPayer(OTHER_PAYER, OTHER_PAYER_KEY)
  }

  addPayer(accountId: string, privateKey: string): void {
    const signer = hederaSigner({ accountId, privateKey })
    this.signers.set(accountId, signer)
    this.accounts.set(accountId, {
      accountId,
      evmAddress: signer.evmAddress ?? longZeroAddress(accountId),
      key: { kind: 'ecdsa', publicKey: signer.publicKey },
      isDeleted: false,
    })
  }

  /** Different payments that the facilitator was asked to settle, however often. */
  get settlements(): number {
    return new Set(this.seen.map(({ payload }) => payload.payload['transaction'])).size
  }

  nowSeconds(): number {
    return Math.floor(this.clock.unixMs() / 1_000)
  }

  get directory(): AccountDirectory {
    const find = async (name: string): Promise<LedgerAccount | undefined> => {
      if (this.areAccountsDown) throw new LedgerUnavailable('accounts are down')
      const all = [...this.accounts.values()]
      return this.accounts.get(name) ?? all.find((account) => account.evmAddress === name)
    }
    return { account: find, refresh: find }
  }

  get mirror(): Parameters<typeof createExactHederaScheme>[0]['mirror'] {
    const readUpTo = async (): Promise<number> => {
      await this.mirrorPause
      if (this.isMirrorDown) throw new LedgerUnavailable('the mirror is down')
      return this.nowSeconds() - this.mirrorLagSeconds
    }
    const hold = async function* (tokenId: string) {
      await readUpTo()
      yield { tokenId, balance: 10_000n, isAutomatic: false, isFrozen: false }
    }
    return {
      latestConsensusSeconds: readUpTo,
      tinybarPerCent: async () => TINYBAR_PER_CENT,
      account: (accountId) => this.directory.account(accountId),
      token: async (token_id) => {
        this.tokenReads += 1
        await readUpTo()
        const fractional_fees = this.hasTokenFee ? [{ net_of_transfers: false }] : []
        const json = { token_id, type: 'FUNGIBLE_COMMON', decimals: 6 }
        return tokenSchema.parse({ ...json, custom_fees: { fractional_fees } })
      },
      holdings: (_accountId, tokenId = '0.0.6001') => hold(tokenId),
      transaction: async (transactionId) => {
        this.lookUps += 1
        const seconds = await readUpTo()
        return this.records.filter(
          (record) => record.transactionId === transactionId && record.consensusSeconds <= seconds,
        )
      },
    }
  }

  get scheme(): PaymentScheme {
    const { clock, directory, mirror } = this
    return createExactHederaScheme({ networks: [NETWORK], accounts: directory, mirror, clock })
  }

  get facilitator(): Facilitator {
    return {
      settle: (payload, requirement) => this.#settle(payload, requirement),
      feePayers: async () => new Map([[NETWORK, [FEE_PAYER]]]),
    }
  }

  /** Puts a record on the ledger; a result other than SUCCESS moves only the fee. */
  land(payment: Landed, result = 'SUCCESS'): LedgerRecord {
    const consensusSeconds = this.nowSeconds()
    const { amount, asset, memo, nonce, payer, payTo } = payment
    const sides = [
      { asset, accountId: payer, amount: -amount },
      { asset, accountId: payTo, amount },
    ]
    const moved = result === 'SUCCESS' ? sides : []
    const isHbar = asset === HBAR_ASSET
    const hbar = moved.map((line) => ({ accountId: line.accountId, amountTinybar: line.amount }))
    const record: LedgerRecord = {
      transactionId: nonce,
      feePayer: FEE_PAYER,
      consensusTimestamp: `${consensusSeconds}.000000001`,
      consensusSeconds,
      result,
      name: 'CRYPTOTRANSFER',
      nonce: 0,
      isScheduled: false,
      memo,
      feeTinybar: FEE_TINYBAR,
      transfers: [
        ...(isHbar ? hbar : []),
        { accountId: FEE_PAYER, amountTinybar: -FEE_TINYBAR },
        { accountId: '0.0.98', amountTinybar: FEE_TINYBAR },
      ],
      tokenTransfers: isHbar ? [] : moved,
      rewards: [],
    }
    this.records.push(record)
    return record
  }

  async #settle(payload: PaymentPayload, requirement: PaymentRequirement): Promise<Settlement> {
    this.seen.push({ payload, requirement })
    const { fault } = this
    const { network } = requirement
    if (fault === 'not_reached') {
      throw new FacilitatorUnavailable('connection refused', { nothingSent: true })
    }
    if (fault === 'invented_success') return { success: true, transaction: ANOTHER, network }
    if (fault === 'silent') throw new FacilitatorUnavailable('no answer')
    if (typeof fault === 'object') return refusal({ network, transaction: '', ...fault })
    const context = { accounts: this.directory, nowSeconds: this.nowSeconds() }
    const verified = await verifyHederaPayment(payload.payload, requirement, context)
    if (verified.kind !== 'valid') {
      const reason = verified.kind === 'refused' ? verified.reason : 'TRANSACTION_EXPIRED'
      return refusal({ network, transaction: '', refusal: reason })
    }
    const { payment } = verified
    if (this.records.some((record) => record.transactionId === payment.nonce)) {
      const transaction = payment.nonce
      return refusal({ network, transaction, refusal: 'DUPLICATE_TRANSACTION' })
    }
    this.land(payment)
    if (fault === 'answer_lost') throw new FacilitatorUnavailable('timed out')
    const transaction = fault === 'success_of_another' ? ANOTHER : payment.nonce
    return { success: true, transaction, network, payer: payment.payer }
  }

  /** A payment header for `terms`, signed by a payer. */
  async pay(terms: PaymentTerms, options: PayOptions = {}): Promise<string> {
    const signer = this.signers.get(options.payer ?? PAYER)
    const [requirement] = terms.requirements
    if (signer === undefined || requirement === undefined) throw new Error('nobody to pay')
    const { memo, nodeAccountIds, randomNanos } = options
    const client = new ExactHederaClient({
      signer,
      clock: this.clock,
      memo,
      nodeAccountIds,
      randomNanos,
    })
    const accepted = { ...requirement, extra: { ...requirement.extra } }
    const wanted = { ...accepted, network: NETWORK } as const
    const { payload } = await client.createPaymentPayload(2, wanted)
    const envelope = { x402Version: 2, payload, accepted, resource: terms.resource }
    return Buffer.from(JSON.stringify(envelope)).toString('base64')
  }
}

type PayOptions = {
  readonly payer?: string
  readonly memo?: string
  readonly nodeAccountIds?: readonly string[]
  readonly randomNanos?: () => number
}

function refusal(made: {
  readonly network: string
  readonly transaction?: string
  readonly refusal: string
}): Settlement {
  const { network, transaction = '', refusal: errorReason } = made
  return { success: false, transaction, network, errorReason }
}

/** One offer of 3 HBAR. */
export function standInTerms(): PaymentTerms {
  return {
    requirements: [
      hederaRequirement({
        network: NETWORK,
        amountTinybar: 300_000_000n,
        payTo: PAY_TO,
        feePayer: FEE_PAYER,
      }),
    ],
    resource: {
      url: 'https://access.example/api/svc/access',
      description: 'One purchase of access',
      mimeType: 'application/json',
    },
  }
}
