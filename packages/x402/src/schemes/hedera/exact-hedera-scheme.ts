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
import type { RefusalReason } from '../../facilitators/refusals.ts'
import type { PaymentRequirement, VerifiedPayment } from '../../payment.ts'
import {
  type LedgerFinding,
  LedgerUnavailable,
  NEVER_AFTER_SECONDS,
  type PaymentScheme,
  SALE_MARGIN_SECONDS,
} from '../payment-scheme.ts'
import { parseTokens, readUnits, type TokenPrice } from '../token-price.ts'
import type { AccountDirectory } from './account-directory.ts'
import { isAccountId } from './account-id.ts'
import { createFeeFloor } from './fee-floor.ts'
import { HBAR_ASSET, HBAR_DECIMALS, parseHbar, VALID_DURATION_SECONDS_MAX } from './hbar.ts'
import { findToken, HEDERA_USDC, type HederaToken } from './hedera-token.ts'
import { createTokenJudge, type TokenReader } from './judge-token-payment.ts'
import { type LedgerRecord, netByAccount } from './ledger-record.ts'
import type { MirrorNode } from './mirror-node.ts'
import { canonicalTransactionId, parseTransactionId } from './transaction-id.ts'
import {
  AMOUNT_BITS,
  isAmount,
  readAmount,
  SUBMIT_MARGIN_SECONDS,
  verifyHederaPayment,
} from './verify-hedera-payment.ts'

/** A look beforehand may take so long, milliseconds: a mirror node answers within 2 s, and the facilitator looks, too. */
const LOOK_MS = 3_000

/** Scheme `exact` on Hedera as the gate sees it: HBAR and tokens, verified locally, found through a mirror node. */
export function createExactHederaScheme(options: {
  /** CAIP-2 networks served, e.g. `hedera:testnet`. */
  readonly networks: readonly string[]
  readonly accounts: AccountDirectory
  readonly mirror: Pick<MirrorNode, 'latestConsensusSeconds' | 'tinybarPerCent' | 'transaction'> &
    TokenReader
  readonly clock?: Clock | undefined
}): PaymentScheme {
  const { accounts, clock = systemClock, mirror, networks } = options
  const feeFloor = createFeeFloor({ mirror, clock })
  const tokens = createTokenJudge({ mirror, clock })
  const nowSeconds = (): number => Math.floor(clock.unixMs() / 1_000)
  const hasLanded = async (payment: VerifiedPayment): Promise<boolean> =>
    (await findHederaPayment(payment, { mirror, nowSeconds: nowSeconds() })).kind === 'landed'
  return {
    scheme: 'exact',
    networks,
    verify: async (payload, requirement) =>
      await verifyHederaPayment(payload, requirement, {
        accounts,
        nowSeconds: nowSeconds(),
        feeMinTinybar: await feeFloor(requirement.asset),
        marginSeconds: SALE_MARGIN_SECONDS,
      }),
    find: (payment) => findHederaPayment(payment, { mirror, nowSeconds: nowSeconds() }),
    async canPay(payment, aheadAmount = 0n) {
      const { amount, asset, payer } = payment
      if (asset === HBAR_ASSET) return true
      const look = async (): Promise<boolean> =>
        (await tokens.holds(payer, asset, amount + aheadAmount)) || (await hasLanded(payment))
      return (await inTime(clock, look())) ?? true
    },
    async foreseeRefusal(payment) {
      if (payment.asset === HBAR_ASSET) return undefined
      const look = async (): Promise<RefusalReason | undefined> => {
        const reason = await tokens.foreseeRefusal(payment)
        return reason === undefined || (await hasLanded(payment)) ? undefined : reason
      }
      return await inTime(clock, look())
    },
    hasMargin: (payment) => nowSeconds() <= payment.validUntilSeconds - SALE_MARGIN_SECONDS,
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

/** What a look at the ledger found in time; undefined if it took too long or the ledger is unavailable. */
async function inTime<Found>(clock: Clock, look: Promise<Found>): Promise<Found | undefined> {
  const found = look.catch((error: unknown) => {
    if (error instanceof LedgerUnavailable) return undefined
    throw error
  })
  const tooSlow = Promise.withResolvers<undefined>()
  const cancel = clock.after(LOOK_MS, () => tooSlow.resolve(undefined))
  try {
    return await Promise.race([found, tooSlow.promise])
  } finally {
    cancel()
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

/** A token's custom fees may have cost the payer more; what they took from payTo was not paid. */
function isRecordFor(record: LedgerRecord, payment: VerifiedPayment): boolean {
  const { amount, asset, memo, payer, payTo } = payment
  const net = netByAccount(record, asset)
  const debited = -(net.get(payer) ?? 0n)
  const isDebited = asset === HBAR_ASSET ? debited === amount : debited >= amount
  return net.get(payTo) === amount && isDebited && record.memo === memo
}

/** In HBAR, such as `0.5 HBAR`, or in tinybar; the network is CAIP-2, such as `hedera:testnet`. */
type HbarPrice = { readonly network: string; readonly token?: undefined } & (
  | { readonly price: `${number} HBAR` }
  | { readonly amountTinybar: bigint }
)

function readTinybar(terms: HbarPrice): bigint {
  if ('amountTinybar' in terms) {
    if (isAmount(terms.amountTinybar)) return terms.amountTinybar
    throw badArgument(
      'amountTinybar',
      terms.amountTinybar,
      `tinybar above 0, in ${AMOUNT_BITS} bits`,
    )
  }
  const [, amount = ''] = /^(\S+) HBAR$/.exec(terms.price) ?? []
  const tinybar = parseHbar(amount)
  if (tinybar !== undefined && isAmount(tinybar)) return tinybar
  throw badArgument('price', terms.price, "an amount of HBAR above 0 such as '0.5 HBAR'")
}

/** Network, asset and amount of a price. */
function readPrice(terms: HbarPrice | (TokenPrice & { readonly token: HederaToken })) {
  if (terms.token === undefined) {
    return { network: terms.network, asset: HBAR_ASSET, amount: readTinybar(terms) }
  }
  const { decimals, id, network } = terms.token
  if (!isAccountId(id) || id === HBAR_ASSET)
    throw badArgument('token.id', id, 'a token such as 0.0.429274')
  return { network, asset: id, amount: readUnits(terms, { bits: AMOUNT_BITS, decimals }) }
}

/**
 * Builds an `accepts` entry for HBAR or a token (X3, X25). Settled up front, with a timeout of at most 180 s, the longest validity of a
 * Hedera transaction. Throws RangeError, which names the argument.
 */
export function hederaRequirement(
  terms: (HbarPrice | (TokenPrice & { readonly token: HederaToken })) & {
    /** `0.0.x`, like `feePayer`. */
    readonly payTo: string
    readonly feePayer: string
  },
): PaymentRequirement {
  const { feePayer, payTo } = terms
  const { amount, asset, network } = readPrice(terms)
  if (!network.startsWith('hedera:'))
    throw badArgument('network', network, 'a network such as hedera:testnet')
  for (const [name, account] of Object.entries({ payTo, feePayer }))
    if (!isAccountId(account)) throw badArgument(name, account, 'an account such as 0.0.1001')
  return {
    scheme: 'exact',
    network,
    amount: amount.toString(),
    asset,
    payTo,
    maxTimeoutSeconds: VALID_DURATION_SECONDS_MAX,
    extra: { feePayer, paymentFlow: 'upfront' },
  }
}

/**
 * Scheme `exact` on Hedera for `@x402/core`'s own resource server, for use instead of our gate: `new
 * x402ResourceServer(facilitator).register('hedera:testnet', new ExactHederaServer())`. Prices are tinybar amounts of
 * asset `0.0.0`, base units of a known token, or dollars, which mean the network's first known token: by default USDC.
 */
export class ExactHederaServer implements SchemeNetworkServer {
  readonly scheme = 'exact'
  readonly defaultAssetTransferMethod = 'cryptoTransfer'
  readonly paymentFlows = {
    cryptoTransfer: { supported: ['upfront', 'authorization'], default: 'upfront' },
  } as const satisfies SchemeNetworkServer['paymentFlows']
  readonly #tokens: readonly HederaToken[]

  constructor(options: { readonly tokens?: readonly HederaToken[] } = {}) {
    this.#tokens = options.tokens ?? Object.values(HEDERA_USDC)
  }

  /**
   * Accepts `{ asset, amount }` in base units, or dollars such as `$0.01`. Throws RangeError for any other price, for more decimals
   * than the token has, and for what nobody could pay.
   */
  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === 'object') {
      const isKnown = this.getAssetDecimals(price.asset, network) !== undefined
      if (isKnown && readAmount(price.amount) !== undefined) return price
      throw new RangeError(
        'a price on Hedera is { asset, amount } of HBAR (0.0.0) or a known token',
      )
    }
    const token = this.#tokens.find((candidate) => candidate.network === network)
    const units = token && parseTokens(String(price).replace(/^\$/, ''), token)
    if (token === undefined || units === undefined || !isAmount(units)) {
      throw new RangeError('a price in dollars needs a token of that network with enough decimals')
    }
    return { asset: token.id, amount: units.toString() }
  }

  getAssetDecimals(asset: string, network: Network): number | undefined {
    if (asset === HBAR_ASSET) return HBAR_DECIMALS
    return findToken(this.#tokens, { network, asset })?.decimals
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
