import { describe, expect, test } from 'vitest'
import type { Entity } from './account-registry.ts'
import { assessFees } from './custom-fees.ts'
import type { CustomFee, Token } from './token.ts'

const account = (number: number) => ({ number, id: `0.0.${number}` }) as Entity
const [treasury, collector, sender, receiver] = [1, 2, 3, 4].map(account) as [
  Entity,
  Entity,
  Entity,
  Entity,
]

const fraction = (change: object = {}): CustomFee => ({
  kind: 'fractional',
  collector,
  isEveryCollectorExempt: false,
  numerator: 1n,
  denominator: 10n,
  min: 0n,
  max: 0n,
  isNetOfTransfers: false,
  ...change,
})

function assess(fees: readonly CustomFee[], rows: readonly (readonly [Entity, bigint])[]) {
  const lines = rows.map(([existing, amount]) => ({ existing, amount }))
  const assessed = assessFees({ number: 9, treasury, fees } as Token, lines)
  return { assessed, gains: lines.map(({ amount }) => amount) }
}

const fixed = (change: object) =>
  fraction({ kind: 'fixed', amount: 7n, token: undefined, ...change })
const pays = (who: Entity, fees: readonly CustomFee[]) =>
  assess(fees, [
    [who, -10n],
    [receiver, 10n],
  ]).assessed

describe('L21: what fees move adds up', () => {
  test.each([true, false])(
    'what goes back to the treasury bears no fraction; net of transfers: %s',
    (isNetOfTransfers) => {
      const fees = [fraction({ isNetOfTransfers, min: 3n })]
      const { assessed, gains } = assess(fees, [
        [sender, -100n],
        [treasury, 100n],
      ])
      expect({ assessed, gains }).toEqual({ assessed: [], gains: [-100n, 100n] })
    },
  )

  test('a fraction is of what those gain who bear it, and each sender answers for its part', () => {
    const { assessed, gains } = assess(
      [fraction()],
      [
        [sender, -100n],
        [account(5), -300n],
        [treasury, 200n],
        [receiver, 200n],
      ],
    )
    expect(assessed).toMatchObject([{ amount: 5n }, { amount: 15n }])
    expect(gains).toEqual([-100n, -300n, 200n, 180n])
  })

  test('collectors pay no fee of their own, and none at all where a fee says so', () => {
    const [own, others] = [fixed({}), fixed({ collector: account(6) })]
    expect(pays(collector, [own, others])).toMatchObject([{ collector: { number: 6 } }])
    expect(pays(collector, [own, { ...others, isEveryCollectorExempt: true }])).toEqual([])
    expect(pays(sender, [own])).toMatchObject([{ amount: 7n, payers: [{ number: 3 }] }])
  })

  test('no receiver gives more than it gains', () => {
    const { assessed } = assess(
      [fraction({ min: 20n })],
      [
        [sender, -5n],
        [receiver, 5n],
      ],
    )
    expect(assessed).toBe('INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE')
  })

  test('whatever is sent to whom under whatever fees, nothing appears or vanishes', () => {
    let seed = 1n
    const random = (below: number): number => {
      seed = (seed * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n
      return Number((seed >> 33n) % BigInt(below))
    }
    for (let round = 0; round < 2_000; round += 1) {
      const fees = Array.from({ length: 1 + random(3) }, () =>
        fraction({
          collector: account(2 + random(3)),
          numerator: BigInt(1 + random(12)),
          min: BigInt(random(4) * 5),
          max: BigInt(random(3) * 30),
          isNetOfTransfers: random(3) === 0,
          isEveryCollectorExempt: random(2) === 0,
        }),
      )
      const parts = [1, 2, 3, 4].map((number) => [account(number), BigInt(random(60))] as const)
      // The same objects stand for the same accounts.
      const people = [treasury, collector, sender, receiver]
      const known = fees.map((fee) => ({
        ...fee,
        collector: people[fee.collector.number - 1] ?? collector,
      }))
      const total = parts.reduce((sum, [, amount]) => sum + amount, 0n)
      const giver = people[random(4)] ?? sender
      const rows = [
        ...parts
          .filter(([{ number }]) => number !== giver.number)
          .map(([{ number }, amount]) => [people[number - 1] ?? sender, amount] as const),
        [
          giver,
          (parts.find(([{ number }]) => number === giver.number)?.[1] ?? 0n) - total,
        ] as const,
      ]
      const { assessed, gains } = assess(known, rows)
      if (typeof assessed === 'string') continue
      const charged = assessed.reduce((sum, fee) => sum + (fee.isReclaimed ? fee.amount : 0n), 0n)
      expect(gains.reduce((sum, amount) => sum + amount, charged)).toBe(0n)
      expect(gains.every((amount, at) => amount >= 0n || (rows[at]?.[1] ?? 0n) < 0n)).toBe(true)
    }
  })
})
