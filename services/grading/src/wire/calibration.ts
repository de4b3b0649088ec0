/** What `/api/calibration` takes and answers: the truth table. Fractions: 0.05 is 5 %. */
import { z } from 'zod'
import { bandSchema, basisSchema, intervalSchema, populationSchema } from './cards.ts'
import { calibrationExample } from './examples.ts'

/** The longest possible scope: `synthetic`, sport, type of market, source and book at their own limits. */
const SCOPE_CHARACTERS_MAX = 190

const scopeText = 'a scope such as all, soccer/1x2 or soccer/1x2/pinnacle'

const filtersSchema = z.strictObject(
  {
    population: z
      .enum(populationSchema.options, 'mechanical or committed')
      .optional()
      .describe('Every recorded price before the close, or picks committed before their start.'),
    basis: z.enum(basisSchema.options, 'fair or price').optional(),
    scope: z
      .string(scopeText)
      .max(SCOPE_CHARACTERS_MAX, scopeText)
      .regex(/^[a-z0-9_-]+(\/[a-z0-9_.:-]+){0,3}$/, scopeText)
      .optional()
      .describe('One of the answer’s `scopes`.'),
  },
  'an object with population, basis or scope',
)

export const calibrationRequestSchema = z
  .strictObject({ filters: filtersSchema.optional() }, 'a JSON object with filters, or no body')
  .meta({ id: 'CalibrationRequest', examples: [calibrationExample] })

export type CalibrationFilters = z.output<typeof filtersSchema>

const nullableNumber = z.number().nullable()

const rowSchema = z.object({
  band: bandSchema,
  n: z.int().describe('Settled picks; void ones are not counted.'),
  events: z.int(),
  wins: z.int(),
  half_wins: z.int(),
  pushes: z.int(),
  half_losses: z.int(),
  losses: z.int(),
  dead_heats: z.int(),
  win_rate: nullableNumber,
  roi: nullableNumber,
  roi_ci95: intervalSchema.nullable().describe('Clustered by event.'),
  expected_roi: nullableNumber.describe('Mean closing-line value: what the grades promised.'),
  gap_z: nullableNumber,
  low_sample: z
    .boolean()
    .describe('The interval reaches further than low_sample_width to either side.'),
})

export type CalibrationRow = z.output<typeof rowSchema>

const lineSchema = z.object({
  slope: z.number(),
  intercept: z.number(),
  slope_se: z.number(),
  intercept_se: z.number(),
})

/** Least squares of return on closing-line value. */
export type CalibrationLine = z.output<typeof lineSchema>

const testSchema = z.object({
  chi_square: z.number(),
  degrees: z.int(),
  p: z.number().describe('Chance of at least this, if the grades are calibrated.'),
})
export type CalibrationTest = z.output<typeof testSchema>

/** One basis of one population. */
const columnSchema = z.object({
  population: populationSchema,
  basis: basisSchema,
  scope: z.string(),
  bands: z.array(rowSchema).readonly(),
  total: z.object({ n: z.int(), events: z.int(), roi: nullableNumber }),
  line: lineSchema.nullable().describe('Return on closing-line value; calibrated is 1 and 0.'),
  joint: z
    .object({ gaps: testSchema, line: testSchema })
    .nullable()
    .describe('All gaps at once, and slope and intercept at once, clustered by event.'),
  verdict: z
    .enum(['none', 'too_few', 'came_true', 'promised_too_much', 'promised_too_little', 'uneven'])
    .describe('From the two tests before any figure is rounded; uneven: only the gaps depart.'),
  refunded: nullableNumber.describe('Share of all stakes that pushes and half results gave back.'),
  statement: z.string().nullable().describe('What the letters of this scope overstate.'),
})
export type CalibrationColumn = z.output<typeof columnSchema>

/** What some picks of the study promised and returned. */
const studied = {
  n: z.int(),
  promised: z.number(),
  roi: z.number(),
  roi_ci95: intervalSchema,
  gap_z: z.number(),
}

const studySchema = z
  .object({
    label: z.string(),
    document: z.string(),
    files: z.array(z.object({ name: z.string(), rows: z.int(), what: z.string() })).readonly(),
    bands: z.array(z.object({ band: bandSchema, basis: basisSchema, ...studied })).readonly(),
    lines: z
      .array(
        z.object({
          scope: z.string(),
          n: z.int(),
          events: z.int(),
          ...lineSchema.shape,
          p_gaps: z.number(),
          p_line: z.number(),
          refunded: z.number(),
          verdict: columnSchema.shape.verdict,
        }),
      )
      .readonly(),
    closing: z.array(z.object({ scope: z.string(), events: z.int(), ...studied })).readonly(),
  })
  .meta({ id: 'ReferenceStudy' })
/** Figures of real files, computed once: a block of its own, never live rows. */
export type ReferenceStudy = z.output<typeof studySchema>

export const calibrationAnswerSchema = z
  .object({
    columns: z.array(columnSchema).readonly(),
    scopes: z.array(z.string()).readonly(),
    ledger: z.object({ as_of_seq: z.int(), root: z.string() }),
    low_sample_width: z.number(),
    low_sample_below: z
      .int()
      .describe('About as many settled picks bring an interval to low_sample_width.'),
    chance_min: z.number().describe('A test of a verdict counts against the grades below this.'),
    methodology: z.string(),
    reference_study: studySchema,
  })
  .meta({ id: 'Calibration' })
export type CalibrationAnswer = z.output<typeof calibrationAnswerSchema>
