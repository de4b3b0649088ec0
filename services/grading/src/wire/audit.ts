/** What an audit answers. Every number can be recomputed from its cards. */
import { z } from 'zod'
import { bandSchema, cardSchema, intervalSchema, ungradedCodeSchema } from './cards.ts'

const interval = intervalSchema.nullable()

const scoreSchema = z.object({
  value: z.number().min(0).max(100).describe('The Sharp Score, 0 to 100; 50 breaks even.'),
  edge: z.number(),
  edge_ci90: intervalSchema,
  p_edge_positive: z.number(),
  price_seen: z.int().describe('Of its picks, those whose price the ledger has a record of.'),
  inputs: z.object({
    n: z.number(),
    observations: z
      .number()
      .describe('What the picks are worth as independent ones: those on one event are one.'),
    settled: z.number(),
    mean: z.number(),
    s2: z.number(),
    mu0: z.number(),
    tau: z.number(),
    delta: z.number(),
    scale: z.number(),
  }),
})

const stakeFiguresSchema = z
  .object({
    picks: z.int().describe('Those whose record has a stake.'),
    staked: z.number(),
    profit: z.number().describe('By the ledger’s results at the price taken.'),
    pct: z.number().nullable(),
    ci95: interval,
    mean_clv: z.number().nullable(),
  })
  .nullable()
  .describe('Weighted by the stakes of your record; null without any. No Sharp Score is.')

const groupSchema = z.object({
  name: z.string(),
  picks: z.int(),
  graded: z.int(),
  mean_clv: z.number().nullable(),
  staked: z.number().describe('Picks with a result, at flat stakes.'),
  profit: z.number(),
  pct: z.number().nullable(),
  ci95: interval.describe('Clustered by event.'),
  by_stake: stakeFiguresSchema,
})
const groups = z.array(groupSchema).readonly()

/** Where a bettor's record and the ledger differ. */
export const findingSchema = z.object({
  kind: z.enum(['result', 'closing_odds', 'profit', 'league']),
  stated: z.string(),
  ledger: z.string(),
  message: z.string(),
})
const recordFindingSchema = findingSchema.extend({ pick: z.int().describe('Place of its card.') })
export type RecordFinding = z.output<typeof recordFindingSchema>

export const auditAnswerSchema = z
  .object({
    label: z.string().exactOptional(),
    record: z.object({
      won: z.int(),
      lost: z.int(),
      push: z.int(),
      void: z.int(),
      half_won: z.int(),
      half_lost: z.int(),
      dead_heat: z.int(),
      pending: z.int(),
    }),
    raw_roi: z.object({
      pct: z.number().nullable().describe('Profit over stakes; a fraction, 0.05 is 5 %.'),
      staked: z.number(),
      events: z.int(),
      profit: z.number(),
      // The chance of at least this profit without any edge at fair prices.
      p_value: z.number().nullable(),
      ci95: interval,
    }),
    by_stake: stakeFiguresSchema,
    sharp_score: scoreSchema
      .nullable()
      .describe('Of fair closing-line values at the default reference and method only.'),
    second_score: scoreSchema
      .extend({ label: z.string() })
      .nullable()
      .describe('By the same formula of something else, which `label` names; no Sharp Score.'),
    summary: z.object({
      mean_clv: z.number().nullable(),
      median_clv: z.number().nullable(),
      beat_close: z.object({
        count: z.int(),
        of: z.int(),
        rate: z.number().nullable(),
        ci95: interval,
      }),
      // Mean price value less mean fair value.
      vig_paid: z.number().nullable(),
      grade_counts: z.record(bandSchema, z.int()),
      // Over settled graded picks: the worth of their prices, and the rest of the profit.
      edge_and_luck: z
        .object({ profit: z.number(), edge: z.number(), luck: z.number(), luck_z: z.number() })
        .nullable(),
    }),
    breakdown: z
      .object({ sport: groups, market: groups, book: groups, month: groups, odds: groups })
      .describe('The flat figures by sport, market, book, month of the start and price taken.'),
    findings: z
      .array(recordFindingSchema)
      .readonly()
      .describe(
        'Results, profits and closing prices of your record that differ from the ledger’s.',
      ),
    coverage: z.object({
      picks: z.int(),
      graded: z.int(),
      ungraded: z.int(),
      by_reason: z.partialRecord(ungradedCodeSchema, z.int()),
      price_basis: z.int(),
      duplicates: z
        .array(z.int())
        .readonly()
        .describe('Places of cards that repeat an earlier one: they count in no other figure.'),
      unconfirmed: z
        .array(z.int())
        .readonly()
        .describe(
          'Places of cards whose price is far from any recorded one and not confirmed: they count in no figure, not even `picks`.',
        ),
    }),
    verdict: z.string(),
    needs: z.object({ picks_for_95: z.number().nullable() }),
    receipt: z
      .string()
      .exactOptional()
      .describe(
        'Audits the same again, free, at /api/audits/{receipt} and on the page /audit/{receipt}.',
      ),
    picks: z.array(cardSchema).readonly(),
  })
  .meta({ id: 'Audit' })
export type AuditAnswer = z.output<typeof auditAnswerSchema>
