/**
 * The selling side of scheme `exact` on EVM: what a seller asks for, how our gate or `@x402/core`'s server accepts it, and what
 * makes an authorization a payment of exactly one requirement (X12). Cheap checks come first, the signature last; the chain is
 * read only if a contract may have signed. Both the gate and a facilitator verify with this.
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
import { type Refusal, type RefusalReason, refused } from '../../facilitators/refusals.ts'
import type { PaymentRequirement, VerifiedPayment } from '../../payment.ts'
import { type PaymentScheme, SALE_MARGIN_SECONDS, type Verification } from '../payment-scheme.ts'
import { parseTokens, readUnits, type TokenPrice } from '../token-price.ts'
import {
  authorizationDigest,
  domainSeparator,
  type EvmPayload,
  readEcdsaSignature,
  readEvmPayload,
  recoverSigner,
  signingDomain,
} from './authorization.ts'
import { type EvmAsset, evmChainId, findAsset, isEvmAddress } from './evm-asset.ts'
import type { EvmLedger } from './evm-ledger.ts'
import type { Hex } from './evm-words.ts'
import {
  EVM_TIMEOUT_SECONDS_MAX,
  findEvmPayment,
  VALIDITY_SLACK_SECONDS,
} from './find-evm-payment.ts'
import type { TransferAuthorization } from './transfer-typed-data.ts'

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/

/**
 * Scheme `exact` on one EVM chain as the gate sees it: EIP-3009, verified locally, found by the nonce's state and events.
 * The gate calls `isUsed` and `canPay` before it reserves a payment that it does not hold yet (X10). Throws RangeError
 * unless all assets are on one network.
 */
export function createExactEvmScheme(options: {
  /** Tokens accepted as payment, all on the chain of `ledger`. */
  readonly assets: readonly EvmAsset[]
  readonly ledger: EvmLedger
  readonly clock?: Clock | undefined
  /** Whether contracts may pay (EIP-1271); by default they may. */
  readonly contractWallets?: boolean | undefined
}): PaymentScheme {
  const { assets, clock = systemClock, contractWallets, ledger } = options
  const networks = [...new Set(assets.map((asset) => asset.network))]
  if (networks.length !== 1) throw new RangeError('an EVM scheme serves assets of one network')
  const nowSeconds = (): number => Math.floor(clock.unixMs() / 1_000)
  return {
    scheme: 'exact',
    networks,
    verify: (payload, requirement) =>
      verifyEvmPayment(payload, requirement, {
        assets,
        ledger,
        contractWallets,
        nowSeconds: nowSeconds(),
        marginSeconds: SALE_MARGIN_SECONDS,
      }),
    find: (payment) => findEvmPayment(payment, ledger),
    // The facilitator chooses the sender, so any hash may be ours. Other text names no transaction: the chain is read instead.
    isOwnTransaction: (_payment, transaction) => TRANSACTION_HASH.test(transaction),
    async isUntraced(payment, pastSeconds) {
      const { number, timestampSeconds } = await ledger.block()
      if (timestampSeconds <= pastSeconds) return false
      return !(await ledger.isAuthorizationUsed(payment, number))
    },
    hasMargin: (payment) => nowSeconds() <= payment.validUntilSeconds - SALE_MARGIN_SECONDS,
    isUsed: (payment) => ledger.isAuthorizationUsed(payment),
    async canPay(payment, aheadAmount = 0n) {
      const { amount, asset, payer } = payment
      if ((await ledger.balanceOf(asset, payer)) >= amount + aheadAmount) return true
      // Somebody may have submitted it meanwhile; then the missing money came to us.
      return await ledger.isAuthorizationUsed(payment)
    },
  }
}

/** How long a client has to sign and a facilitator to settle: the reference's default. */
const TIMEOUT_SECONDS = 300

/**
 * Builds an `accepts` entry for a token with signed transfers (X3). Amount in base units: 10_000n is $0.01 at six
 * decimals. Settled up front. `extra.name` and `extra.version` are the token's signing domain. Throws RangeError for a
 * bad address, network, amount or timeout.
 */
export function evmRequirement(
  terms: TokenPrice & {
    readonly asset: EvmAsset
    readonly payTo: Hex
    readonly maxTimeoutSeconds?: number
  },
): PaymentRequirement {
  const { asset, maxTimeoutSeconds = TIMEOUT_SECONDS, payTo } = terms
  for (const [name, address] of Object.entries({ payTo, 'asset.address': asset.address }))
    if (!isEvmAddress(address))
      throw badArgument(name, address, 'an address, 0x and 40 hexadecimal digits')
  if (evmChainId(asset.network) === undefined)
    throw badArgument('asset.network', asset.network, 'a network such as eip155:196')
  const isTimeout = Number.isInteger(maxTimeoutSeconds) && maxTimeoutSeconds > 0
  if (!isTimeout || maxTimeoutSeconds > EVM_TIMEOUT_SECONDS_MAX)
    throw badArgument('maxTimeoutSeconds', maxTimeoutSeconds, `1 to ${EVM_TIMEOUT_SECONDS_MAX}`)
  const amount = readUnits(terms, { bits: 256, decimals: asset.decimals })
  return {
    scheme: 'exact',
    network: asset.network,
    amount: amount.toString(),
    asset: asset.address,
    payTo,
    maxTimeoutSeconds,
    extra: { name: asset.name, version: asset.version, paymentFlow: 'upfront' },
  }
}

/**
 * Scheme `exact` on EVM for `@x402/core`'s own resource server, for use instead of our gate: `new
 * x402ResourceServer(facilitator).register('eip155:196', new ExactEvmServer({ assets: [X_LAYER_USDT0] }))`.
 */
export class ExactEvmServer implements SchemeNetworkServer {
  readonly scheme = 'exact'
  readonly defaultAssetTransferMethod = 'eip3009'
  readonly paymentFlows = {
    eip3009: { supported: ['upfront', 'authorization'], default: 'upfront' },
  } as const satisfies SchemeNetworkServer['paymentFlows']
  readonly #assets: readonly EvmAsset[]

  constructor(options: { readonly assets: readonly EvmAsset[] }) {
    this.#assets = options.assets
  }

  /**
   * Accepts `{ asset, amount }` in base units of a known asset, or dollars such as `$0.01`, meaning the network's first
   * asset. Throws RangeError for any other price, and for more decimals than the asset has.
   */
  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === 'object') {
      const isKnown = findAsset(this.#assets, { network, asset: price.asset }) !== undefined
      if (isKnown && /^\d+$/.test(price.amount)) return price
      throw new RangeError('a price is { asset, amount } of a known asset, in base units')
    }
    const asset = this.#assets.find((candidate) => candidate.network === network)
    const units = asset && parseTokens(String(price).replace(/^\$/, ''), asset)
    if (asset === undefined || units === undefined) {
      throw new RangeError('a price in dollars needs an asset of that network with enough decimals')
    }
    return { asset: asset.address, amount: units.toString() }
  }

  getAssetDecimals(asset: string, network: Network): number | undefined {
    return findAsset(this.#assets, { network, asset })?.decimals
  }

  /** Adds the token's signing domain, without which a client cannot sign. Throws for an unknown asset. */
  async enhancePaymentRequirements(
    requirements: PaymentRequirements,
  ): Promise<PaymentRequirements> {
    const asset = findAsset(this.#assets, requirements)
    if (asset === undefined) throw new Error('the asset of this requirement is not known')
    const { name, version } = asset
    return { ...requirements, extra: { name, version, ...requirements.extra } }
  }
}

/** A payment with less validity left than this may expire on its way to a block; it can only be looked up. */
const EVM_SUBMIT_MARGIN_SECONDS = 6

const AMOUNT = /^[1-9]\d{0,77}$/

type EvmVerificationContext = {
  /** Tokens accepted as payment. */
  readonly assets: readonly EvmAsset[]
  readonly ledger: Pick<EvmLedger, 'isValidSignature'>
  readonly nowSeconds: number
  /** Whether contracts may pay (EIP-1271); by default they may. */
  readonly contractWallets?: boolean | undefined
  /** A payment with less validity left than this is `expired`; by default, what a submission needs. */
  readonly marginSeconds?: number
}

type Wanted = {
  readonly asset: EvmAsset
  readonly amount: bigint
  readonly payTo: string
  readonly validBeforeMax: bigint
}

/** Separators by asset object, computed once: assets live as long as their scheme. */
const separators = new WeakMap<EvmAsset, Buffer>()

/**
 * Verifies a payload against a requirement. Returns `expired` if everything is right but the time; such a payment can
 * only be found on the ledger. Throws LedgerUnavailable if a contract's signature cannot be checked, never because of
 * anything a client sent.
 */
export async function verifyEvmPayment(
  payload: unknown,
  requirement: PaymentRequirement,
  context: EvmVerificationContext,
): Promise<Verification> {
  const wanted = readRequirement(requirement, context)
  if ('reason' in wanted) return wanted
  const read = readEvmPayload(payload)
  if (read === undefined) return refused('invalid_exact_evm_payload')
  const refusal = judge(read.authorization, wanted, context.nowSeconds)
  if (refusal !== undefined) return refused(refusal)
  if (!isSignedByKey(wanted.asset, read)) {
    if (context.contractWallets === false)
      return refused('invalid_exact_evm_payload_key_signature_required')
    if (!(await isSignedByContract(wanted.asset, read, context.ledger)))
      return refused('invalid_exact_evm_payload_signature')
  }
  const payment = toPayment(read.authorization, requirement)
  const { marginSeconds = EVM_SUBMIT_MARGIN_SECONDS, nowSeconds } = context
  const isExpired = payment.validUntilSeconds <= nowSeconds + marginSeconds
  return { kind: isExpired ? 'expired' : 'valid', payment }
}

function readRequirement(
  requirement: PaymentRequirement,
  context: EvmVerificationContext,
): Wanted | Refusal {
  const { amount, extra, maxTimeoutSeconds, network, payTo, scheme } = requirement
  if (scheme !== 'exact') return refused('unsupported_scheme')
  if (evmChainId(network) === undefined) return refused('network_mismatch')
  const asset = findAsset(context.assets, requirement)
  if (asset === undefined) return refused('invalid_asset')
  if (!AMOUNT.test(amount) || BigInt(amount) >= 1n << 256n) return refused('invalid_amount')
  if ((extra['assetTransferMethod'] ?? 'eip3009') !== 'eip3009') {
    return refused('invalid_exact_evm_unsupported_asset_transfer_method')
  }
  const { name, version } = extra
  if (typeof name !== 'string' || typeof version !== 'string') {
    return refused('invalid_exact_evm_missing_eip712_domain')
  }
  if (name !== asset.name) return refused('invalid_exact_evm_token_name_mismatch')
  if (version !== asset.version) return refused('invalid_exact_evm_token_version_mismatch')
  if (!isEvmAddress(payTo)) return refused('invalid_exact_evm_payload_recipient_mismatch')
  const latest = context.nowSeconds + Math.max(0, maxTimeoutSeconds) + VALIDITY_SLACK_SECONDS
  return {
    asset,
    amount: BigInt(amount),
    payTo: payTo.toLowerCase(),
    validBeforeMax: BigInt(Math.floor(latest)),
  }
}

/** Judges everything but the signature and expiry, which the caller judges last. */
function judge(
  authorization: TransferAuthorization,
  wanted: Wanted,
  nowSeconds: number,
): RefusalReason | undefined {
  const { from, to, validAfter, validBefore, value } = authorization
  if (to !== wanted.payTo) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (value !== wanted.amount) return 'invalid_exact_evm_payload_authorization_value_mismatch'
  // A transfer to oneself pays nobody. A careless token may also take a failed recovery for the zero address.
  if (from === to) return 'self_send_not_allowed'
  if (validAfter > BigInt(nowSeconds)) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (validBefore > wanted.validBeforeMax || validBefore <= validAfter) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
  return undefined
}

/** Whether the payer's own key signed. Otherwise only a contract may have, whose code then runs (EIP-1271). */
export function isSignedByKey(asset: EvmAsset, { authorization, signature }: EvmPayload): boolean {
  const ecdsa = readEcdsaSignature(signature)
  if (ecdsa === undefined) return false
  const digest = authorizationDigest(computeSeparator(asset), authorization)
  return recoverSigner(digest, ecdsa) === authorization.from
}

async function isSignedByContract(
  asset: EvmAsset,
  { authorization, signature }: EvmPayload,
  ledger: EvmVerificationContext['ledger'],
): Promise<boolean> {
  const digest = authorizationDigest(computeSeparator(asset), authorization)
  const token = asset.address.toLowerCase()
  return await ledger.isValidSignature({ wallet: authorization.from, token, digest, signature })
}

function computeSeparator(asset: EvmAsset): Buffer {
  const known = separators.get(asset)
  if (known !== undefined) return known
  const made = domainSeparator(signingDomain(asset))
  separators.set(asset, made)
  return made
}

function toPayment(
  authorization: TransferAuthorization,
  requirement: PaymentRequirement,
): VerifiedPayment {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const { network } = requirement
  const asset = requirement.asset.toLowerCase()
  return {
    id: `${network}/${asset}/${from}/${nonce}`,
    network,
    asset,
    amount: value,
    payTo: to,
    payer: from,
    payerEvmAddress: from,
    nonce,
    memo: '',
    validFromSeconds: Number(validAfter),
    validUntilSeconds: Number(validBefore),
  }
}
