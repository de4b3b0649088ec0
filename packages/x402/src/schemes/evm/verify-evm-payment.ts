/**
 * The rules of scheme `exact` on EVM, for tokens with signed transfers (EIP-3009): what makes an authorization a payment
 * of exactly one requirement (X12). Cheap checks come first, the signature last; the chain is read only if a contract may
 * have signed. Both the gate and a facilitator verify with this.
 */
import { type Refusal, type RefusalReason, refused } from '../../facilitators/refusals.ts'
import type { PaymentRequirement, VerifiedPayment } from '../../payment.ts'
import type { Verification } from '../payment-scheme.ts'
import {
  authorizationDigest,
  domainOf,
  domainSeparator,
  type EvmPayload,
  readEcdsaSignature,
  readEvmPayload,
  recoverSigner,
  type TransferAuthorization,
} from './authorization.ts'
import { assetOf, type EvmAsset, evmChainId, isEvmAddress } from './evm-asset.ts'
import type { EvmLedger } from './evm-ledger.ts'

/** A payment with less validity left than this may expire on its way to a block; it can only be looked up. */
const EVM_SUBMIT_MARGIN_SECONDS = 6

/**
 * How much longer than requested a payment may be valid (X12): its nonce must be remembered and searched for that long.
 */
export const VALIDITY_SLACK_SECONDS = 600

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
  const asset = assetOf(context.assets, requirement)
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
  const digest = authorizationDigest(separatorOf(asset), authorization)
  return recoverSigner(digest, ecdsa) === authorization.from
}

async function isSignedByContract(
  asset: EvmAsset,
  { authorization, signature }: EvmPayload,
  ledger: EvmVerificationContext['ledger'],
): Promise<boolean> {
  const digest = authorizationDigest(separatorOf(asset), authorization)
  const token = asset.address.toLowerCase()
  return await ledger.isValidSignature({ wallet: authorization.from, token, digest, signature })
}

function separatorOf(asset: EvmAsset): Buffer {
  const known = separators.get(asset)
  if (known !== undefined) return known
  const made = domainSeparator(domainOf(asset))
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
