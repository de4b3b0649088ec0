/** Whether a payment in a token would reach its receiver whole (X25), by what a mirror node knows beforehand. */
import type { RefusalReason } from '../../facilitators/refusals.ts'
import type { VerifiedPayment } from '../../payment.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import type { HederaToken } from './hedera-token.ts'
import type { LedgerToken, TokenHolding } from './ledger-token.ts'
import type { MirrorNode } from './mirror-node.ts'

/** What tokens are, and who holds them. */
export type TokenReader = Pick<MirrorNode, 'account' | 'holdings' | 'token'>

/**
 * Why no payment in a token can reach a receiver whole, whoever pays, if the ledger knows a reason. The network associates an account
 * by a first transfer as far as its automatic associations reach, at the fee payer's cost. Throws LedgerUnavailable.
 */
async function judgeReceiver(
  mirror: TokenReader,
  { asset, payTo }: Pick<VerifiedPayment, 'asset' | 'payTo'>,
): Promise<RefusalReason | undefined> {
  const [token, holding] = await Promise.all([mirror.token(asset), holdingIn(mirror, payTo, asset)])
  if (token === undefined || !token.isFungible || token.isDeleted) return 'invalid_asset'
  if (token.isPaused) return 'invalid_exact_hedera_payload_token_paused'
  if (takesFromCredit(token, payTo)) return 'invalid_exact_hedera_payload_token_takes_fee'
  if (holding?.isFrozen) return 'invalid_exact_hedera_payload_token_frozen'
  if (holding !== undefined) return undefined
  return !token.isGranted && (await takesUnasked(mirror, payTo))
    ? undefined
    : 'invalid_exact_hedera_payload_pay_to_not_associated'
}

/** Compares a seller's token with the ledger. `unreachable` proves nothing: the seller starts (X11). */
type TokenCheck =
  | { readonly kind: 'right' }
  /** The ledger's own: every price in dollars would be another. */
  | { readonly kind: 'wrong_decimals'; readonly decimals: number }
  /** Every payment would be refused with that reason. */
  | { readonly kind: 'unpayable'; readonly reason: RefusalReason }
  | { readonly kind: 'unreachable'; readonly cause: unknown }

/** Checks at start what a seller asks for and who is to be paid. Never throws because of the ledger. */
export async function checkHederaToken(
  { payTo, token }: { readonly token: HederaToken; readonly payTo: string },
  mirror: TokenReader,
): Promise<TokenCheck> {
  try {
    const reason = await judgeReceiver(mirror, { asset: token.id, payTo })
    if (reason !== undefined) return { kind: 'unpayable', reason }
    const { decimals = token.decimals } = (await mirror.token(token.id)) ?? {}
    return decimals === token.decimals ? { kind: 'right' } : { kind: 'wrong_decimals', decimals }
  } catch (cause) {
    if (!(cause instanceof LedgerUnavailable)) throw cause
    return { kind: 'unreachable', cause }
  }
}

/**
 * Why a payment in a token would fail, or fall short, at consensus, if the ledger knows a reason; a mirror node lags by seconds.
 * What custom fees cost the payer besides is left to consensus. Throws LedgerUnavailable.
 */
export async function judgeTokenPayment(
  mirror: TokenReader,
  payment: Pick<VerifiedPayment, 'amount' | 'asset' | 'payer' | 'payTo'>,
): Promise<RefusalReason | undefined> {
  const { amount, asset, payer } = payment
  const [refusal, holding] = await Promise.all([
    judgeReceiver(mirror, payment),
    holdingIn(mirror, payer, asset),
  ])
  if (refusal !== undefined) return refusal
  if (holding?.isFrozen) return 'invalid_exact_hedera_payload_token_frozen'
  return holding === undefined || holding.balance < amount ? 'insufficient_funds' : undefined
}

async function holdingIn(
  mirror: TokenReader,
  accountId: string,
  tokenId: string,
): Promise<TokenHolding | undefined> {
  for await (const holding of mirror.holdings(accountId, tokenId)) return holding
  return undefined
}

/**
 * Whether a custom fee makes the credit another than the amount: a fraction that is taken from what the receiver gets, if it pays
 * that fee, or a fee in the token that the receiver itself collects.
 */
function takesFromCredit(token: LedgerToken, payTo: string): boolean {
  const collects = (fee: LedgerToken['fixedFees' | 'fractionalFees'][number]) =>
    fee.collector_account_id === payTo
  return (
    token.fixedFees.some((fee) => fee.denominating_token_id === token.tokenId && collects(fee)) ||
    (token.treasury !== payTo &&
      token.fractionalFees.some((fee) => fee.net_of_transfers !== true && !collects(fee)))
  )
}

/** Whether an account has an automatic association left. */
async function takesUnasked(mirror: TokenReader, accountId: string): Promise<boolean> {
  const { autoAssociationsMax = 0 } = (await mirror.account(accountId)) ?? {}
  if (autoAssociationsMax <= 0) return autoAssociationsMax < 0
  let taken = 0
  for await (const { isAutomatic } of mirror.holdings(accountId)) {
    if (isAutomatic) taken += 1
    if (taken >= autoAssociationsMax) return false
  }
  return true
}
