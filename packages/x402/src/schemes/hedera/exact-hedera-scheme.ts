/**
 * The selling side of scheme `exact` on Hedera: what a seller asks for, how a payment is found, and how our gate or
 * `@x402/core`'s server accepts it.
 */
import type {
  AssetAmount,
  Network,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
} from '@x402/core/types'
import { badArgument } from '../../bad-argument.ts'
import { type Clock, systemClock } from '../../clock.ts'
import type { PaymentRequirement, VerifiedPayment } from '../../payment.ts'
import {
  type LedgerFinding,
  NEVER_AFTER_SECONDS,
  type PaymentScheme,
  SALE_MARGIN_SECONDS,
} from '../payment-scheme.ts'
import type { AccountDirectory } from './account-directory.ts'
import { isAccountId } from './account-id.ts'
import { createFeeFloor } from './fee-floor.ts'
import { HBAR_ASSET, parseHbar, VALID_DURATION_SECONDS_MAX } from './hbar.ts'
import { type LedgerRecord, netByAccount } from './ledger-record.ts'
import type { MirrorNode } from './mirror-node.ts'
import { canonicalTransactionId, parseTransactionId } from './transaction-id.ts'
import { SUBMIT_MARGIN_SECONDS, verifyHederaPayment } from './verify-hedera-payment.ts'

/** Scheme `exact` on Hedera as the gate sees it: HBAR, verified locally, found through a mirror node. */
export function createExactHederaScheme(options: {
  /** CAIP-2 networks served, e.g. `hedera:testnet`. */
  readonly networks: readonly string[]
  readonly accounts: AccountDirectory
  readonly mirror: Pick<MirrorNode, 'transaction' | 'latestConsensusSeconds' | 'tinybarPerCent'>
  readonly clock?: Clock | undefined
}): PaymentScheme {
  const { accounts, clock = systemClock, mirror, networks } = options
  const feeFloor = createFeeFloor({ mirror, clock })
  const nowSeconds = (): number => Math.floor(clock.unixMs() / 1_000)
  return {
    scheme: 'exact',
    networks,
    verify: async (payload, requirement) =>
      await verifyHederaPayment(payload, requirement, {
        accounts,
        nowSeconds: nowSeconds(),
        feeMinTinybar: await feeFloor(),
        marginSeconds: SALE_MARGIN_SECONDS,
      }),
    find: (payment) => findHederaPayment(payment, { mirror, nowSeconds: nowSeconds() }),
    mayResubmit: (payment) => nowSeconds() <= payment.validUntilSeconds - SUBMIT_MARGIN_SECONDS,
    async isUntraced({ nonce }, pastSeconds) {
      // The node's progress is read first, so that the second answer holds all that it had read by then.
      if ((await mirror.latestConsensusSeconds()) <= pastSeconds) return false
      return (await mirror.transaction(nonce)).length === 0
    },
    isOwnTransaction(payment, transaction) {
      const id = parseTransactionId(transaction)
      return id !== undefined && canonicalTransactionId(id) === payment.nonce
    },
  }
}

/**
 * Looks a payment up on the ledger (X8). It has `landed` only if the record's transfers are the payment's own: another
 * transaction under the same id means that this one can no longer succeed. Throws LedgerUnavailable.
 */
export async function findHederaPayment(
  payment: VerifiedPayment,
  ledger: {
    readonly mirror: Pick<MirrorNode, 'transaction' | 'latestConsensusSeconds'>
    readonly nowSeconds: number
  },
): Promise<LedgerFinding> {
  const { mirror, nowSeconds } = ledger
  const neverAtSeconds = payment.validUntilSeconds + NEVER_AFTER_SECONDS
  // The node's progress is read first: the second answer cannot lack a record that the node had by then.
  const readUpToSeconds = nowSeconds > neverAtSeconds ? await mirror.latestConsensusSeconds() : 0
  const records = (await mirror.transaction(payment.nonce)).filter(
    (record) => record.nonce === 0 && !record.isScheduled,
  )
  const success = records.find((record) => record.result === 'SUCCESS')
  if (success !== undefined) {
    return isRecordFor(success, payment)
      ? {
          kind: 'landed',
          transaction: success.transactionId,
          consensusSeconds: success.consensusSeconds,
        }
      : { kind: 'failed', result: 'OTHER_TRANSACTION' }
  }
  const failure = records.find((record) => record.result !== 'DUPLICATE_TRANSACTION')
  if (failure !== undefined) return { kind: 'failed', result: failure.result }
  const isNever = records.length === 0 && readUpToSeconds > neverAtSeconds
  return isNever ? { kind: 'never' } : { kind: 'unknown' }
}

function isRecordFor(record: LedgerRecord, payment: VerifiedPayment): boolean {
  const net = netByAccount(record)
  return (
    net.get(payment.payTo) === payment.amount &&
    net.get(payment.payer) === -payment.amount &&
    record.memo === payment.memo
  )
}

/** In HBAR, such as `0.5 HBAR`, or in tinybar. */
type HbarPrice = { readonly price: `${number} HBAR` } | { readonly amountTinybar: bigint }

function readTinybar(terms: HbarPrice): bigint {
  if ('amountTinybar' in terms) {
    if (terms.amountTinybar > 0n) return terms.amountTinybar
    throw badArgument('amountTinybar', terms.amountTinybar, 'an amount above 0')
  }
  const [, amount = ''] = /^(\S+) HBAR$/.exec(terms.price) ?? []
  const tinybar = parseHbar(amount)
  if (tinybar !== undefined && tinybar > 0n) return tinybar
  throw badArgument('price', terms.price, "an amount of HBAR above 0 such as '0.5 HBAR'")
}

/**
 * Builds an `accepts` entry for HBAR (X3). Settled up front, with a timeout of at most 180 s, the longest validity of a
 * Hedera transaction. Throws RangeError, which names the argument.
 */
export function hederaRequirement(
  terms: HbarPrice & {
    /** CAIP-2, such as `hedera:testnet`. */
    readonly network: string
    /** `0.0.x`, like `feePayer`. */
    readonly payTo: string
    readonly feePayer: string
  },
): PaymentRequirement {
  const { feePayer, network, payTo } = terms
  if (!network.startsWith('hedera:'))
    throw badArgument('network', network, 'a network such as hedera:testnet')
  for (const [name, account] of Object.entries({ payTo, feePayer }))
    if (!isAccountId(account)) throw badArgument(name, account, 'an account such as 0.0.1001')
  const amountTinybar = readTinybar(terms)
  return {
    scheme: 'exact',
    network,
    amount: amountTinybar.toString(),
    asset: HBAR_ASSET,
    payTo,
    maxTimeoutSeconds: VALID_DURATION_SECONDS_MAX,
    extra: { feePayer, paymentFlow: 'upfront' },
  }
}

/** Digits after the decimal point of one HBAR in tinybar. */
const HBAR_DECIMALS = 8

/**
 * Scheme `exact` on Hedera for `@x402/core`'s own resource server, for use instead of our gate: `new
 * x402ResourceServer(facilitator).register('hedera:testnet', new ExactHederaServer())`. Prices are tinybar amounts of
 * asset `0.0.0`; dollar prices are refused, since no exchange rate is known here.
 */
export class ExactHederaServer implements SchemeNetworkServer {
  readonly scheme = 'exact'
  readonly defaultAssetTransferMethod = 'cryptoTransfer'
  readonly paymentFlows = {
    cryptoTransfer: { supported: ['upfront', 'authorization'], default: 'upfront' },
  } as const satisfies SchemeNetworkServer['paymentFlows']

  /** Accepts `{ asset: '0.0.0', amount }` in tinybar. Throws RangeError for any other price. */
  async parsePrice(price: Price, _network: Network): Promise<AssetAmount> {
    if (typeof price !== 'object' || price.asset !== HBAR_ASSET || !/^\d+$/.test(price.amount)) {
      throw new RangeError('a price on Hedera is { asset: "0.0.0", amount: tinybar }')
    }
    return price
  }

  getAssetDecimals(asset: string, _network: Network): number | undefined {
    return asset === HBAR_ASSET ? HBAR_DECIMALS : undefined
  }

  /** Adds the facilitator's fee payer, without which a client cannot sign. Throws if `/supported` names none. */
  async enhancePaymentRequirements(
    requirements: PaymentRequirements,
    supportedKind: { readonly extra?: Record<string, unknown> },
  ): Promise<PaymentRequirements> {
    const feePayer = requirements.extra?.['feePayer'] ?? supportedKind.extra?.['feePayer']
    if (typeof feePayer !== 'string' || !isAccountId(feePayer)) {
      throw new Error('the facilitator names no fee payer for Hedera')
    }
    return { ...requirements, extra: { ...requirements.extra, feePayer } }
  }
}
