// What a token's custom fees add to a transfer, assessed as the network does: fixed ones first, for each sender, then fractions of
// what each sender gives, which by default come out of what the receivers get.

import type { Entity } from './account-registry.ts'
import type { Token } from './token-registry.ts'

export type CustomFee = { collector: Entity; isEveryCollectorExempt: boolean } & (
  | {
      kind: 'fixed'
      amount: bigint
      /** Number of the token in which it is paid; undefined for HBAR. */
      token: number | undefined
    }
  | {
      kind: 'fractional'
      numerator: bigint
      denominator: bigint
      min: bigint
      /** 0 for no limit. */
      max: bigint
      /** Whether the sender pays it besides. */
      isNetOfTransfers: boolean
    }
)

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

/** Assesses a token's fees. Takes fractions out of the gains in `lines`; the rest is for the caller to move. */
export function assessFees(token: Token, lines: readonly Line[]): AssessedFee[] {
  const order = { fixed: 0, fractional: 1 }
  const fees = token.fees.toSorted((a, b) => order[a.kind] - order[b.kind])
  const losses = lines.flatMap(({ amount, existing }) =>
    amount < 0n && existing !== undefined ? [{ sender: existing, amount: -amount }] : [],
  )
  return fees.flatMap((fee) =>
    losses
      .filter(({ sender }) => !isExempt(token, fee, sender))
      .flatMap(({ sender, amount }): AssessedFee[] => {
        const { collector } = fee
        if (fee.kind === 'fixed') {
          return [
            {
              amount: fee.amount,
              token: fee.token,
              collector,
              payers: [sender],
              isReclaimed: false,
            },
          ]
        }
        const charged = fractionOf(amount, fee)
        const gains = lines.filter(
          (line) =>
            line.amount > 0n &&
            (line.existing === undefined || !isExempt(token, fee, line.existing)),
        )
        if (charged === 0n) return []
        const isReclaimed = !fee.isNetOfTransfers
        const payers = isReclaimed ? reclaim(charged, gains) : [sender]
        return [{ amount: charged, token: token.number, collector, payers, isReclaimed }]
      }),
  )
}

function isExempt(token: Token, fee: CustomFee, account: Entity): boolean {
  if (account === token.treasury || account === fee.collector) return true
  return fee.isEveryCollectorExempt && token.fees.some(({ collector }) => collector === account)
}

function fractionOf(amount: bigint, fee: Extract<CustomFee, { kind: 'fractional' }>): bigint {
  const fraction = (amount * fee.numerator) / fee.denominator
  const atLeast = fraction < fee.min ? fee.min : fraction
  return fee.max > 0n && atLeast > fee.max ? fee.max : atLeast
}

/** Takes a fee out of gains, by their shares, and what is left by rounding from the first ones. */
function reclaim(fee: bigint, gains: readonly Line[]): Entity[] {
  const total = gains.reduce((sum, { amount }) => sum + amount, 0n)
  let left = fee
  for (const gain of gains) {
    const share = total === 0n ? 0n : (gain.amount * fee) / total
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
