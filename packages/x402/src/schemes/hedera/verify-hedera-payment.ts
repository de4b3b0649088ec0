/**
 * The rules of scheme `exact` on Hedera, for HBAR and tokens: what makes a partially signed transfer a payment of exactly one
 * requirement. They are stricter than the reference, which ignores NFTs, allowances, fees and validity. Cheap checks come first,
 * the payer's key and the signatures last. The gate and facilitators both verify with this.
 */
import { z } from 'zod'
import { type Refusal, type RefusalReason, refused } from '../../facilitators/refusals.ts'
import { decodeStrictBase64 } from '../../gate/payment-headers.ts'
import type { PaymentRequirement, VerifiedPayment } from '../../payment.ts'
import type { Verification } from '../payment-scheme.ts'
import type { AccountDirectory } from './account-directory.ts'
import { isAccountId, isAlias } from './account-id.ts'
import {
  FEE_MAX_TINYBAR,
  HBAR_ASSET,
  MEMO_BYTES_MAX,
  VALID_DURATION_SECONDS_MAX,
  VALID_DURATION_SECONDS_MIN,
} from './hbar.ts'
import {
  isSignedBy,
  isSignedByAnother,
  isSignedByHollow,
  SIGNATURE_CHECKS_MAX,
} from './hedera-key.ts'
import type { LedgerAccount } from './mirror-node.ts'
import { type HederaTransfer, readTransfer, type TransferLine } from './read-transfer.ts'
import { canonicalTransactionId } from './transaction-id.ts'

/** How far ahead of our clock a validity may start: clients' clocks may be seconds fast. */
const START_SKEW_SECONDS = 10

/** A payment with less validity left than this may expire on its way to consensus; it can only be looked up. */
export const SUBMIT_MARGIN_SECONDS = 5

/** A mirror node states amounts as JSON numbers, of which only those in so many bits are exact. */
export const AMOUNT_BITS = 53
const AMOUNT = /^[1-9]\d{0,18}$/

/** Whether so many base units can be asked for, and paid. */
export const isAmount = (units: bigint): boolean => units > 0n && units < 1n << BigInt(AMOUNT_BITS)

/** Base units as a requirement spells them; undefined for what nobody could pay. */
export function readAmount(text: string): bigint | undefined {
  const units = AMOUNT.test(text) ? BigInt(text) : undefined
  return units !== undefined && isAmount(units) ? units : undefined
}

/** Nothing else is passed on to a facilitator, whose own parser might stumble over it. */
const payloadSchema = z.strictObject({ transaction: z.string() })

type HederaVerificationContext = {
  readonly accounts: AccountDirectory
  readonly nowSeconds: number
  /** The least that a payment must allow as its fee, tinybar; 0 unless stated. */
  readonly feeMinTinybar?: bigint
  /** A payment with less validity left than this is `expired`; by default, what a submission needs. */
  readonly marginSeconds?: number
}

/**
 * Verifies a payload against a requirement. Returns `expired` if everything is right but the time; such a payment can
 * only be found on the ledger. Throws LedgerUnavailable if an account cannot be read, never because of anything a client
 * sent.
 */
export async function verifyHederaPayment(
  payload: unknown,
  requirement: PaymentRequirement,
  context: HederaVerificationContext,
): Promise<Verification> {
  const wanted = readRequirement(requirement)
  if ('reason' in wanted) return wanted
  const parsed = payloadSchema.safeParse(payload)
  if (!parsed.success) return refused('invalid_exact_hedera_payload')
  const bytes = decodeStrictBase64(parsed.data.transaction)
  if (bytes === undefined || bytes.length === 0) {
    return refused('invalid_exact_hedera_payload_transaction_could_not_be_decoded')
  }
  const reading = readTransfer(bytes)
  if (reading.kind === 'refused') return reading
  const { transfer } = reading
  const refusal = judgeFrame(transfer, wanted, context)
  if (refusal !== undefined) return refused(refusal)
  const sides = judgeLines(transfer.lines, wanted)
  if ('reason' in sides) return sides
  return await judgeAccounts({ transfer, wanted, sides }, context)
}

type Wanted = {
  readonly network: string
  readonly asset: string
  readonly amount: bigint
  readonly payTo: string
  readonly feePayer: string
}

function readRequirement(requirement: PaymentRequirement): Wanted | Refusal {
  const { asset, extra, network, payTo, scheme } = requirement
  if (scheme !== 'exact') return refused('unsupported_scheme')
  if (!network.startsWith('hedera:')) return refused('network_mismatch')
  if (!isAccountId(asset)) return refused('invalid_asset')
  const amount = readAmount(requirement.amount)
  if (amount === undefined) return refused('invalid_amount')
  const method = extra['assetTransferMethod'] ?? 'cryptoTransfer'
  if (method !== 'cryptoTransfer') {
    return refused('invalid_exact_hedera_unsupported_asset_transfer_method')
  }
  const feePayer = extra['feePayer']
  if (typeof feePayer !== 'string' || !isAccountId(feePayer)) {
    return refused('invalid_exact_hedera_payload_missing_fee_payer')
  }
  if (!isAccountId(payTo)) return refused('invalid_exact_hedera_payload_pay_to')
  return { network, asset, amount, payTo, feePayer }
}

/** Judges everything but the transfer list and expiry, which the caller judges last. */
function judgeFrame(
  transfer: HederaTransfer,
  wanted: Wanted,
  { feeMinTinybar = 0n, marginSeconds = 0, nowSeconds }: HederaVerificationContext,
): RefusalReason | undefined {
  const { transactionId, validDurationSeconds } = transfer
  if (transactionId.accountId !== wanted.feePayer) {
    return 'invalid_exact_hedera_payload_fee_payer_mismatch'
  }
  if (transfer.feeMaxTinybar > FEE_MAX_TINYBAR) return 'invalid_exact_hedera_payload_fee_too_high'
  if (transfer.feeMaxTinybar < feeMinTinybar) return 'invalid_exact_hedera_payload_fee_too_low'
  if (transfer.memoBytes > MEMO_BYTES_MAX || transfer.memo.includes('\0')) {
    return 'invalid_exact_hedera_payload_memo_too_long'
  }
  if (
    validDurationSeconds > BigInt(VALID_DURATION_SECONDS_MAX) ||
    validDurationSeconds < BigInt(Math.max(VALID_DURATION_SECONDS_MIN, marginSeconds))
  ) {
    return 'invalid_exact_hedera_payload_validity'
  }
  if (transactionId.validStartSeconds > BigInt(nowSeconds + START_SKEW_SECONDS)) {
    return 'invalid_exact_hedera_payload_not_yet_valid'
  }
  return undefined
}

type Sides = { readonly debit: string; readonly credit: string }

/** What is refused under a name that says which asset it was. */
const HBAR_REFUSALS = {
  feePayerDebited: 'invalid_exact_hedera_payload_fee_payer_transferring_hbar',
  unexpectedLines: 'invalid_exact_hedera_payload_unexpected_hbar_transfers',
} as const
const TOKEN_REFUSALS = {
  feePayerDebited: 'invalid_exact_hedera_payload_fee_payer_transferring_funds',
  unexpectedLines: 'invalid_exact_hedera_payload_unexpected_token_transfers',
} as const

const refusalsFor = ({ asset }: Wanted) => (asset === HBAR_ASSET ? HBAR_REFUSALS : TOKEN_REFUSALS)

const addUp = (lines: readonly TransferLine[]): bigint =>
  lines.reduce((total, line) => total + line.amount, 0n)

/** Refuses lines of any asset but the required one, HBAR that does not add up, and HBAR of the fee payer. */
function judgeAssets(lines: readonly TransferLine[], wanted: Wanted): RefusalReason | undefined {
  const hbar = lines.filter(({ asset }) => asset === HBAR_ASSET)
  if (addUp(hbar) !== 0n) return 'invalid_exact_hedera_payload_hbar_sum_non_zero'
  if (hbar.some(({ account, amount }) => account === wanted.feePayer && amount < 0n)) {
    return HBAR_REFUSALS.feePayerDebited
  }
  if (wanted.asset !== HBAR_ASSET && hbar.length > 0) return HBAR_REFUSALS.unexpectedLines
  const isMissing = wanted.asset !== HBAR_ASSET && lines.length === 0
  return isMissing || lines.some(({ asset }) => asset !== wanted.asset)
    ? 'invalid_exact_hedera_payload_asset_mismatch'
    : undefined
}

/** One debit and one credit of the required amount, nothing else; their accounts are judged once aliases are resolved. */
function judgeLines(lines: readonly TransferLine[], wanted: Wanted): Sides | Refusal {
  const mismatch = judgeAssets(lines, wanted)
  if (mismatch !== undefined) return refused(mismatch)
  if (addUp(lines) !== 0n) return refused('invalid_exact_hedera_payload_asset_sum_non_zero')
  if (new Set(lines.map((line) => line.account)).size !== lines.length) {
    return refused('invalid_exact_hedera_payload_transaction_invalid_shape')
  }
  const { feePayerDebited, unexpectedLines } = refusalsFor(wanted)
  const debits = lines.filter((line) => line.amount < 0n)
  if (debits.some((line) => line.account === wanted.feePayer)) return refused(feePayerDebited)
  const credits = lines.filter((line) => line.amount > 0n)
  if (credits.some(({ account, amount }) => account === wanted.payTo && amount !== wanted.amount)) {
    return refused('invalid_exact_hedera_payload_amount_mismatch')
  }
  if (credits.length > 1) return refused('invalid_exact_hedera_payload_extra_positive_transfers')
  const [debit] = debits
  const [credit] = credits
  if (debit === undefined || credit === undefined || lines.length !== 2) {
    return refused(unexpectedLines)
  }
  if (!isAlias(credit.account) && credit.account !== wanted.payTo) {
    return refused('invalid_exact_hedera_payload_pay_to')
  }
  if (credit.amount !== wanted.amount) {
    return refused('invalid_exact_hedera_payload_amount_mismatch')
  }
  return { debit: debit.account, credit: credit.account }
}

async function judgeAccounts(
  judged: { readonly transfer: HederaTransfer; readonly wanted: Wanted; readonly sides: Sides },
  { accounts, marginSeconds = SUBMIT_MARGIN_SECONDS, nowSeconds }: HederaVerificationContext,
): Promise<Verification> {
  const { transfer, wanted, sides } = judged
  if (isAlias(sides.credit)) {
    const receiver = await accounts.account(sides.credit)
    if (receiver === undefined) {
      return refused('invalid_exact_hedera_payload_pay_to_alias_not_allowed')
    }
    if (receiver.accountId !== wanted.payTo) return refused('invalid_exact_hedera_payload_pay_to')
  }
  const payer = await findSigner(transfer, sides.debit, accounts)
  if ('reason' in payer) return payer
  if (payer.isDeleted) return refused('invalid_exact_hedera_payload_preflight_failed')
  const { feePayerDebited, unexpectedLines } = refusalsFor(wanted)
  if (payer.accountId === wanted.feePayer) return refused(feePayerDebited)
  if (payer.accountId === wanted.payTo) return refused(unexpectedLines)
  const payment = toPayment(transfer, wanted, payer)
  const isExpired = nowSeconds > payment.validUntilSeconds - marginSeconds
  return { kind: isExpired ? 'expired' : 'valid', payment }
}

/** The account of that name if its remembered or current key signed; otherwise why it did not. */
async function findSigner(
  transfer: HederaTransfer,
  name: string,
  accounts: AccountDirectory,
): Promise<LedgerAccount | Refusal> {
  const remembered = await accounts.account(name)
  if (remembered !== undefined && isSigned(transfer, remembered)) return remembered
  const current = await accounts.refresh(name)
  if (current !== undefined && current !== remembered && isSigned(transfer, current)) return current
  const [body] = transfer.bodies
  const isAnothers = current && body && isSignedByAnother(body, current.key)
  return refused(
    isAnothers
      ? 'invalid_exact_hedera_payload_signed_by_another_key'
      : 'invalid_exact_hedera_payload_signature_invalid',
  )
}

/** Whether every node's body is signed, since any of them may be submitted. */
function isSigned(transfer: HederaTransfer, payer: LedgerAccount): boolean {
  const { key } = payer
  const budget = { left: SIGNATURE_CHECKS_MAX }
  return transfer.bodies.every((body) =>
    key === null ? isSignedByHollow(body, payer.evmAddress) : isSignedBy(body, key, budget),
  )
}

function toPayment(
  transfer: HederaTransfer,
  wanted: Wanted,
  payer: LedgerAccount,
): VerifiedPayment {
  const { amount, asset, network, payTo } = wanted
  const nonce = canonicalTransactionId(transfer.transactionId)
  const validFromSeconds = Number(transfer.transactionId.validStartSeconds)
  return {
    id: `${network}/${nonce}`,
    network,
    asset,
    amount,
    payTo,
    payer: payer.accountId,
    payerEvmAddress: payer.evmAddress,
    nonce,
    memo: transfer.memo,
    validFromSeconds,
    validUntilSeconds: validFromSeconds + Number(transfer.validDurationSeconds),
  }
}
