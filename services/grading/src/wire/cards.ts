/**
 * Cards: what a payer gets for a pick. An ungraded card has no member for a close, a closing-line value or a band, so
 * none can be invented.
 */
import type { GradeBand, MarginMethod } from '@tallystick/odds'
import { z } from 'zod'
import { FLAG_MEANINGS, UNGRADED_MEANINGS } from './card-codes.ts'

export const bandSchema = z
  .enum(['A+', 'A', 'B', 'C', 'D', 'F'])
  // Generators of clients drop the plus, and have A twice then.
  .meta({ 'x-enum-varnames': ['A_PLUS', 'A', 'B', 'C', 'D', 'F'] }) satisfies z.ZodType<GradeBand>

/** The close without its margin, or the selection's closing price alone. */
export const basisSchema = z.enum(['fair', 'price'])
export type GradeBasis = z.output<typeof basisSchema>

/** Which picks a truth table counts. */
export const populationSchema = z.enum(['mechanical', 'committed'])
export type Population = z.output<typeof populationSchema>

export const methodSchema = z.enum([
  'power',
  'shin',
  'odds_ratio',
  'multiplicative',
  'additive',
]) satisfies z.ZodType<MarginMethod>

const codeSchema = <Code extends string>(meanings: Readonly<Record<Code, string>>) =>
  z.enum(Object.keys(meanings) as [Code, ...Code[]])

export const ungradedCodeSchema = codeSchema(UNGRADED_MEANINGS)
export type UngradedCode = z.output<typeof ungradedCodeSchema>

const flagSchema = codeSchema(FLAG_MEANINGS)
export type GradeFlag = z.output<typeof flagSchema>

const fraction = (what: string) => z.number().describe(`${what}; a fraction, 0.05 is 5 %.`)
// A tuple's `items: false` stops generators of clients in Python; its length says the same.
export const intervalSchema = z
  .tuple([z.number(), z.number()])
  .readonly()
  .meta({ items: { type: 'number' } })

const scoreboardSchema = z
  .union([
    z.object({ status: z.literal('pending') }),
    z.object({
      status: z.enum(['won', 'half_won', 'push', 'half_lost', 'lost', 'void', 'dead_heat']),
      return_units: z.number().describe('Profit per unit staked.'),
      score: z.string().optional(),
    }),
  ])
  .meta({ id: 'Scoreboard' })
export type Scoreboard = z.output<typeof scoreboardSchema>

/** Who plays and when: a time, or the day alone where no more is known. */
export const cardEventSchema = z.object({
  home: z.string(),
  away: z.string(),
  starts_at: z.string().describe('A time in ISO 8601, or a day where no time is known.'),
})

/** What a bettor's own record says of a bet, on the cards of an audit; no grade depends on it. */
const ownRecordSchema = z.object({
  stake: z.number().exactOptional(),
  book: z.string().exactOptional(),
  result: z.enum(['won', 'lost', 'push', 'void', 'half_won', 'half_lost']).exactOptional(),
  profit: z.number().exactOptional(),
  closing_odds: z.number().exactOptional(),
})
export type OwnRecord = z.output<typeof ownRecordSchema>

const cardPickSchema = z.object({
  market: z.string().describe('Its key; `parlay` for one, whose legs are in close.'),
  selection: z.string(),
  event: cardEventSchema.optional(),
  ref: z.string().optional(),
  own: ownRecordSchema
    .optional()
    .describe('In an audit: what your own record says of the bet. No grade depends on it.'),
})
export type CardPick = z.output<typeof cardPickSchema>

/** `not_kept`: only looked at, by an audit or by a grade not yet paid for. */
const notCounted = z.enum([
  'not_kept',
  'received_after_start',
  'above_recorded_price',
  'no_recorded_price',
  'repeated_selection',
  'price_far_from_recorded',
  'combined_bet',
])
export type NotCountedReason = z.output<typeof notCounted>

const takenSchema = z.object({
  odds: z.number(),
  text: z.string(),
  line: z
    .number()
    .optional()
    .describe('A handicap as the backed side has it; the key and the close have the home side’s.'),
  pays: z
    .number()
    .optional()
    .describe('The price after deductions for withdrawn runners: what is graded.'),
  each_way: z.object({ places: z.int(), fraction: z.number() }).optional(),
})
export type TakenPrice = z.output<typeof takenSchema>

const priceSeen = z
  .boolean()
  .describe(
    'Whether the ledger has a record of such a price (at most 1 % lower) standing at placed_at; without placed_at, at any time before the start.',
  )

const countingSchema = z
  .union([
    z.object({ population: z.literal('committed'), seq: z.int() }),
    z.object({ population: z.null(), why: notCounted, seq: z.int().optional() }),
  ])
  .describe('Whether the pick counts in the truth table, and if not why.')
export type CardCounting = z.output<typeof countingSchema>

const receipt = z
  .string()
  .optional()
  .describe('Reads the current card, free, at /api/picks/{receipt}, for anyone who has it.')

const calibrationSchema = z.object({
  band: bandSchema,
  basis: basisSchema,
  population: populationSchema,
  scope: z.string(),
  n: z.int(),
  roi: z.number().nullable(),
  roi_ci95: intervalSchema.nullable(),
  expected_roi: z.number().nullable(),
  low_sample: z.boolean(),
  as_of_seq: z.int(),
})
/** A band's record so far, from the entries below `as_of_seq`. */
export type CardCalibration = z.output<typeof calibrationSchema>

/** An entry of the ledger, by its number and its leaf's hash. */
const recordSchema = z.object({ seq: z.int(), hash: z.string() })

const legSchema = z.object({
  market: z.string(),
  selection: z.string(),
  event: cardEventSchema.optional(),
  taken: z.number().describe('Its price.'),
  odds: z.number().describe('Its closing price.'),
  fair_prob: z.number().optional(),
  scoreboard: scoreboardSchema,
  record: recordSchema,
})
export type CardLeg = z.output<typeof legSchema>

const closeSchema = z.object({
  odds: z.number(),
  line: z.number().optional(),
  fair_odds: z.number().optional(),
  fair_prob: z.number().optional(),
  booksum: z.number().optional(),
  method: methodSchema.optional(),
  source: z.object({ feed: z.string(), book: z.string(), synthetic: z.boolean() }),
  captured_at: z.string().nullable(),
  seconds_before_start: z.number().nullable(),
  rule: z.string(),
  halves: z
    .array(z.object({ line: z.number(), odds: z.number(), record: recordSchema }))
    .readonly()
    .optional()
    .describe('Of a quarter line graded from its two recorded halves: the prices it comes from.'),
  legs: z
    .array(legSchema)
    .readonly()
    .optional()
    .describe(
      'Of a parlay its legs, whose prices and probabilities are multiplied; of an each-way bet its two halves, whose values are averaged.',
    ),
  status: z.literal('final'),
  record: recordSchema.describe('The close’s entry: /api/ledger/{seq}.'),
})

const gradedCardSchema = z
  .object({
    outcome: z.literal('GRADED'),
    grade: bandSchema,
    basis: basisSchema,
    pick: cardPickSchema,
    clv: z.object({
      price: fraction('Price taken over closing price, less one'),
      fair: fraction('Expected value at the close without its margin').optional(),
      log: z.number().optional(),
      points: z.number().optional(),
      beat_close: z.boolean(),
    }),
    taken: takenSchema,
    price_seen: priceSeen,
    close: closeSchema,
    scoreboard: scoreboardSchema,
    calibration: calibrationSchema.describe('This band’s record so far, by the ledger.'),
    method_spread: z.number().optional(),
    grade_margin: z.number().describe('Distance to the nearest edge of a band.'),
    flags: z.array(flagSchema).readonly(),
    summary: z.string(),
    counted: countingSchema,
    receipt,
  })
  .meta({ id: 'GradedCard' })
export type GradedCard = z.output<typeof gradedCardSchema>

/** Why a pick has no grade. */
export const reasonSchema = z.object({
  code: ungradedCodeSchema,
  message: z.string(),
  nearest: z.array(z.string()).readonly().optional().describe('What the ledger does have.'),
})

const ungradedCardSchema = z
  .object({
    outcome: z.literal('UNGRADED'),
    grade: z.literal('UNGRADED'),
    pick: cardPickSchema,
    // Absent if the market is ambiguous, because then there is no result either.
    taken: takenSchema.optional(),
    price_seen: priceSeen.optional(),
    reason: reasonSchema,
    scoreboard: scoreboardSchema.optional(),
    flags: z
      .array(flagSchema)
      .readonly()
      .optional()
      .describe('About its price: one that waits to be confirmed counts in no figure.'),
    counted: countingSchema,
    summary: z.string(),
    receipt,
  })
  .meta({ id: 'UngradedCard' })
export type UngradedCard = z.output<typeof ungradedCardSchema>

export const cardSchema = z.union([gradedCardSchema, ungradedCardSchema]).meta({ id: 'Card' })
export type Card = z.output<typeof cardSchema>
