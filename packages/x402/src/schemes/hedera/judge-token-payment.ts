/** Whether a payment in a token would reach its receiver whole (X25), by what a mirror node knows beforehand. */
import type { Clock } from '../../clock.ts'
import type { RefusalReason } from '../../facilitators/refusals.ts'
import type { VerifiedPayment } from '../../payment.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import type { HederaToken } from './hedera-token.ts'
import type { LedgerToken, TokenHolding } from './ledger-token.ts'
import { HOLDINGS_MAX, type MirrorNode } from './mirror-node.ts'

/** What tokens are, and who holds them. */
export type TokenReader = Pick<MirrorNode, 'account' | 'holdings' | 'token'>

type Receiver =
  | { readonly kind: 'payable'; readonly token: LedgerToken }
  | { readonly kind: 'unpayable'; readonly reason: RefusalReason }

const unpayable = (reason: RefusalReason): Receiver => ({ kind: 'unpayable', reason })

/**
 * Why no payment in a token can reach a receiver whole, whoever pays, if the ledger knows a reason. The network associates an account
 * by a first transfer as far as its automatic associations reach, at the fee payer's cost. Throws LedgerUnavailable.
 */
async function judgeReceiver(
  mirror: TokenReader,
  { asset, payTo }: Pick<VerifiedPayment, 'asset' | 'payTo'>,
): Promise<Receiver> {
  const [token, holding] = await Promise.all([mirror.token(asset), holdingIn(mirror, payTo, asset)])
  if (token === undefined || !token.isFungible || token.isDeleted) return unpayable('invalid_asset')
  if (token.isPaused) return unpayable('invalid_exact_hedera_payload_token_paused')
  if (takesFromCredit(token, payTo))
    return unpayable('invalid_exact_hedera_payload_token_takes_fee')
  if (holding?.isFrozen) return unpayable('invalid_exact_hedera_payload_token_frozen')
  return holding !== undefined || (!token.needsGrant && (await takesUnasked(mirror, payTo)))
    ? { kind: 'payable', token }
    : unpayable('invalid_exact_hedera_payload_pay_to_not_associated')
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
    const receiver = await judgeReceiver(mirror, { asset: token.id, payTo })
    if (receiver.kind === 'unpayable') return receiver
    const { decimals } = receiver.token
    return decimals === token.decimals ? { kind: 'right' } : { kind: 'wrong_decimals', decimals }
  } catch (cause) {
    if (!(cause instanceof LedgerUnavailable)) throw cause
    return { kind: 'unreachable', cause }
  }
}

/** How long what is known of a receiver is kept, milliseconds: a mirror node itself lags by as much. */
const RECEIVER_KEPT_MS = 5_000

/** Receivers kept; whoever asks a facilitator names them. */
const RECEIVERS_MAX = 1_000

/** What a payment in a token is judged by. */
type TokenPayment = Pick<VerifiedPayment, 'amount' | 'asset' | 'payer' | 'payTo'>

/** Judges payments in tokens beforehand. Its methods throw LedgerUnavailable. */
export type TokenJudge = ReturnType<typeof createTokenJudge>

/** A judge by a mirror node, which it asks once in some seconds about a receiver, and each time about a payer. */
export function createTokenJudge(options: {
  readonly mirror: TokenReader
  readonly clock: Pick<Clock, 'unixMs'>
}) {
  const { clock, mirror } = options
  const receivers = new Map<string, { readonly answer: Promise<Receiver>; readonly atMs: number }>()

  async function receiverFor({ asset, payTo }: TokenPayment): Promise<Receiver> {
    const name = `${asset}/${payTo}`
    const atMs = clock.unixMs()
    const recent = receivers.get(name)
    if (recent !== undefined && atMs - recent.atMs < RECEIVER_KEPT_MS) return await recent.answer
    const answer = judgeReceiver(mirror, { asset, payTo })
    receivers.delete(name)
    receivers.set(name, { answer, atMs })
    const oldest = receivers.keys().next().value
    if (receivers.size > RECEIVERS_MAX && oldest !== undefined) receivers.delete(oldest)
    try {
      return await answer
    } catch (error) {
      if (receivers.get(name)?.answer === answer) receivers.delete(name)
      throw error
    }
  }

  return {
    /**
     * Why a payment would fail, or fall short, at consensus, if the ledger knows a reason; a mirror node lags by seconds. What custom
     * fees cost the payer besides is left to consensus. `aheadAmount` is what the payer's other payments may still take.
     */
    async foreseeRefusal(
      payment: TokenPayment,
      aheadAmount = 0n,
    ): Promise<RefusalReason | undefined> {
      const { amount, asset, payer } = payment
      const [receiver, holding] = await Promise.all([
        receiverFor(payment),
        holdingIn(mirror, payer, asset),
      ])
      if (receiver.kind === 'unpayable') return receiver.reason
      if (holding?.isFrozen) return 'invalid_exact_hedera_payload_token_frozen'
      const { balance = -1n } = holding ?? {}
      return balance < amount + aheadAmount ? 'insufficient_funds' : undefined
    },
    /** Whether a payer holds that many base units of a token. */
    async holds(payer: string, asset: string, units: bigint): Promise<boolean> {
      const { balance = 0n } = (await holdingIn(mirror, payer, asset)) ?? {}
      return balance >= units
    },
  }
}

async function holdingIn(
  mirror: TokenReader,
  accountId: string,
  tokenId: string,
): Promise<TokenHolding | undefined> {
  for await (const holding of mirror.holdings(accountId, tokenId))
    if (holding.tokenId === tokenId) return holding
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

/** Whether an account surely has an automatic association left: one that holds too many tokens to be counted has none. */
async function takesUnasked(mirror: TokenReader, accountId: string): Promise<boolean> {
  const { autoAssociationsMax = 0 } = (await mirror.account(accountId)) ?? {}
  if (autoAssociationsMax <= 0) return autoAssociationsMax < 0
  let seen = 0
  let taken = 0
  for await (const { isAutomatic } of mirror.holdings(accountId)) {
    seen += 1
    if (isAutomatic) taken += 1
    if (taken >= autoAssociationsMax || seen >= HOLDINGS_MAX) return false
  }
  return true
}
