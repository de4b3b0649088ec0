/** Cards as they are documented. The type is the domain's: a member that differs is a compile error here. */
import { z } from 'zod'
import type { Card, GradedCard, UngradedCard } from '../domain/card.ts'
import type { Scoreboard } from '../domain/selection-result.ts'

export const bandSchema = z.enum(['A+', 'A', 'B', 'C', 'D', 'F'])
export const basisSchema = z.enum(['fair', 'price'])
export const populationSchema = z.enum(['mechanical', 'committed'])
const fraction = (what: string) => z.number().describe(`${what}; a fraction, 0.05 is 5 %.`)
const interval = z.tuple([z.number(), z.number()]).readonly().nullable()

export const ungradedCodeSchema = z.enum([
  'no_close_recorded',
  'close_not_final',
  'close_incomplete',
  'selection_not_in_close',
  'line_not_recorded',
  'ambiguous_market',
  'field_changed',
  'placed_after_start',
])

const scoreboardSchema = z
  .union([
    z.object({ status: z.literal('pending') }),
    z.object({
      status: z.enum(['won', 'half_won', 'push', 'half_lost', 'lost', 'void', 'dead_heat']),
      return_units: z.number().describe('Profit per unit staked.'),
      score: z.string().exactOptional(),
    }),
  ])
  .meta({ id: 'Scoreboard' }) satisfies z.ZodType<Scoreboard>

const cardPickSchema = z.object({
  market: z.string(),
  selection: z.string(),
  event: z.object({ home: z.string(), away: z.string(), starts_at: z.string() }).exactOptional(),
  ref: z.string().exactOptional(),
})

const notCounted = z.enum([
  'not_kept',
  'received_after_start',
  'above_recorded_price',
  'no_recorded_price',
  'repeated_selection',
])

const takenSchema = z.object({
  odds: z.number(),
  text: z.string(),
  line: z.number().exactOptional(),
})

const countingSchema = z
  .union([
    z.object({ population: z.literal('committed'), seq: z.int() }),
    z.object({ population: z.null(), why: notCounted, seq: z.int().exactOptional() }),
  ])
  .describe('Whether the pick counts in the truth table, and if not why.')

const receipt = z
  .string()
  .exactOptional()
  .describe('Reads the current card, free, at /api/picks/{receipt}. Whoever has it can.')

const calibrationSchema = z.object({
  band: bandSchema,
  basis: basisSchema,
  population: populationSchema,
  scope: z.string(),
  n: z.int(),
  roi: z.number().nullable(),
  roi_ci95: interval,
  expected_roi: z.number().nullable(),
  low_sample: z.boolean(),
  as_of_seq: z.int(),
})

const flagSchema = z.enum([
  'booksum_below_one',
  'close_incomplete',
  'method_improper',
  'stale_anchor',
  'closes_disagree',
  'received_after_start',
  'synthetic',
])

const closeSchema = z.object({
  odds: z.number(),
  line: z.number().exactOptional(),
  fair_odds: z.number().exactOptional(),
  fair_prob: z.number().exactOptional(),
  booksum: z.number().exactOptional(),
  method: z.enum(['power', 'shin', 'odds_ratio', 'multiplicative', 'additive']).exactOptional(),
  source: z.object({ feed: z.string(), book: z.string(), synthetic: z.boolean() }),
  captured_at: z.string().nullable(),
  seconds_before_start: z.number().nullable(),
  rule: z.string(),
  status: z.literal('final'),
  record: z
    .object({ seq: z.int(), hash: z.string() })
    .describe('The close’s entry: /api/ledger/{seq}.'),
})

export const gradedCardSchema = z
  .object({
    outcome: z.literal('GRADED'),
    grade: bandSchema,
    basis: basisSchema,
    pick: cardPickSchema,
    clv: z.object({
      price: fraction('Price taken over closing price, less one'),
      fair: fraction('Expected value at the close without its margin').exactOptional(),
      log: z.number().exactOptional(),
      points: z.number().exactOptional(),
      beat_close: z.boolean(),
    }),
    taken: takenSchema,
    close: closeSchema,
    scoreboard: scoreboardSchema,
    calibration: calibrationSchema.describe('How this band did so far, by the ledger.'),
    method_spread: z.number().exactOptional(),
    grade_margin: z.number().describe('Distance to the nearest edge of a band.'),
    flags: z.array(flagSchema).readonly(),
    summary: z.string(),
    counted: countingSchema,
    receipt,
  })
  .meta({ id: 'GradedCard' }) satisfies z.ZodType<GradedCard>

export const ungradedCardSchema = z
  .object({
    outcome: z.literal('UNGRADED'),
    grade: z.literal('UNGRADED'),
    pick: cardPickSchema,
    taken: takenSchema.exactOptional(),
    reason: z.object({
      code: ungradedCodeSchema,
      message: z.string(),
      nearest: z
        .array(z.string())
        .readonly()
        .exactOptional()
        .describe('What the ledger does have.'),
    }),
    scoreboard: scoreboardSchema.exactOptional(),
    counted: countingSchema,
    summary: z.string(),
    receipt,
  })
  .meta({ id: 'UngradedCard' }) satisfies z.ZodType<UngradedCard>

/** What a payer gets for a pick. */
export const cardSchema = z
  .union([gradedCardSchema, ungradedCardSchema])
  .meta({ id: 'Card' }) satisfies z.ZodType<Card>
