// What a token's custom fees add to a transfer, assessed as the network does: fixed ones first, for each sender, then fractions of
// what receivers that are not exempt gain, split by what each sender gives, which by default come out of those gains.

import type { Entity } from './account-registry.ts'
import type { CustomFee, Token } from './token.ts'

/** A fee that was charged: in HBAR where there is no token. */
export type AssessedFee = {
  amount: bigint
  token: number | undefined
  collector: Entity
  payers: readonly Entity[]
  /** Whether it came out of what the payers gained. */
  isReclaimed: boolean
}

/** One account's gain or, below 0, loss; undefined accounts are about to be created. */
type Line = { amount: bigint; existing: Entity | undefined }

/** Its sender cannot pay a fee, or a fraction is more than what the receivers gain, from which it is to be taken. */
export const FEE_SHORT = 'INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE'

/**
 * Assesses a token's fees, or says why the network refuses the transfer. Takes fractions out of the gains in `lines`; the rest is for
 * the caller to move.
 */
export function assessFees(token: Token, lines: readonly Line[]): AssessedFee[] | typeof FEE_SHORT {
  const order = { fixed: 0, fractional: 1 }
  const fees = token.fees.toSorted((a, b) => order[a.kind] - order[b.kind])
  const losses = lines.flatMap(({ amount, existing }) =>
    amount < 0n && existing !== undefined ? [{ sender: existing, amount: -amount }] : [],
  )
  const wanted = new Map(lines.map((line) => [line, line.amount]))
  const assessed: AssessedFee[] = []
  for (const fee of fees) {
    const { collector } = fee
    const payable = losses.filter(({ sender }) => !isExempt(token, fee, sender))
    const gains = lines.filter(
      (line) =>
        (wanted.get(line) ?? 0n) > 0n &&
        (line.existing === undefined || !isExempt(token, fee, line.existing)),
    )
    const sent = addUp(payable.map(({ amount }) => amount))
    const gained = addUp(gains.map((line) => wanted.get(line) ?? 0n))
    for (const { sender, amount } of payable) {
      if (fee.kind === 'fixed') {
        const paid = { amount: fee.amount, token: fee.token, isReclaimed: false }
        assessed.push({ ...paid, collector, payers: [sender] })
        continue
      }
      // Nobody who would have to bear a fraction gains anything.
      if (gained === 0n) continue
      const isReclaimed = !fee.isNetOfTransfers
      const charged = isReclaimed
        ? (chargeFraction(gained, fee) * amount) / sent
        : chargeFraction(amount, fee)
      if (charged === 0n) continue
      if (isReclaimed && charged > addUp(gains.map((line) => line.amount))) return FEE_SHORT
      const payers = isReclaimed ? reclaim(charged, gains) : [sender]
      assessed.push({ amount: charged, token: token.number, collector, payers, isReclaimed })
    }
  }
  return assessed
}

const addUp = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((sum, amount) => sum + amount, 0n)

function isExempt(token: Token, fee: CustomFee, account: Entity): boolean {
  if (account === token.treasury || account === fee.collector) return true
  return fee.isEveryCollectorExempt && token.fees.some(({ collector }) => collector === account)
}

function chargeFraction(amount: bigint, fee: Extract<CustomFee, { kind: 'fractional' }>): bigint {
  const fraction = (amount * fee.numerator) / fee.denominator
  const atLeast = fraction < fee.min ? fee.min : fraction
  return fee.max > 0n && atLeast > fee.max ? fee.max : atLeast
}

/** Takes a fee out of gains that reach for it, by their shares, and what is left by rounding from the first ones. */
function reclaim(fee: bigint, gains: readonly Line[]): Entity[] {
  const total = addUp(gains.map(({ amount }) => amount))
  let left = fee
  for (const gain of gains) {
    const share = (gain.amount * fee) / total
    gain.amount -= share
    left -= share
  }
  for (const gain of gains) {
    const rest = left < gain.amount ? left : gain.amount
    gain.amount -= rest
    left -= rest
  }
  return gains.flatMap(({ existing }) => existing ?? [])
}
