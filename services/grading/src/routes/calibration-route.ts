import type { ServiceApp } from '@tallystick/service-kit'
import { z } from 'zod'
import type { CalibrationAnswer, CalibrationFilters } from '../domain/calibration-answer.ts'
import type { Grader } from '../domain/grader.ts'
import { bandSchema, basisSchema, populationSchema } from './card-schema.ts'
import { calibrationExample } from './examples.ts'
import { freeBody } from './free-body.ts'
import { freeErrorRows } from './schemas.ts'

/** A filter is three words. */
const CALIBRATION_BODY_BYTES_MAX = 4_096

/** The longest scope that there can be: `synthetic`, sport, type of market and book at their own limits. */
const SCOPE_CHARACTERS_MAX = 140

const scopeText = 'a scope such as all, soccer/1x2 or soccer/1x2/pinnacle'

const filtersSchema = z.strictObject(
  {
    population: z
      .enum(['mechanical', 'committed'], 'mechanical or committed')
      .optional()
      .describe('Every recorded price before the close, or picks committed before their start.'),
    basis: z.enum(['fair', 'price'], 'fair or price').optional(),
    scope: z
      .string(scopeText)
      .max(SCOPE_CHARACTERS_MAX, scopeText)
      .regex(/^[a-z0-9_-]+(\/[a-z0-9_.:-]+){0,3}$/, scopeText)
      .optional()
      .describe('One of the answer’s `scopes`.'),
  },
  'an object with population, basis or scope',
)

const requestSchema = z
  .strictObject({ filters: filtersSchema.optional() }, 'a JSON object with filters, or no body')
  .meta({ id: 'CalibrationRequest', examples: [calibrationExample] })

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
  roi_ci95: z.tuple([z.number(), z.number()]).readonly().nullable().describe('Clustered by event.'),
  expected_roi: nullableNumber.describe('Mean closing-line value: what the grades promised.'),
  gap_z: nullableNumber,
  low_sample: z.boolean(),
})

const lineSchema = z.object({
  slope: z.number(),
  intercept: z.number(),
  slope_se: z.number(),
  intercept_se: z.number(),
})

export const calibrationAnswerSchema = z
  .object({
    columns: z
      .array(
        z.object({
          population: populationSchema,
          basis: basisSchema,
          scope: z.string(),
          bands: z.array(rowSchema).readonly(),
          total: z.object({ n: z.int(), events: z.int(), roi: nullableNumber }),
          line: lineSchema
            .nullable()
            .describe('Return on closing-line value; calibrated is 1 and 0.'),
        }),
      )
      .readonly(),
    scopes: z.array(z.string()).readonly(),
    ledger: z.object({ as_of_seq: z.int(), root: z.string() }),
    low_sample_below: z.int(),
    methodology: z.string(),
  })
  .meta({ id: 'Calibration' }) satisfies z.ZodType<CalibrationAnswer>

const filtersOf = ({
  basis,
  population,
  scope,
}: z.output<typeof filtersSchema>): CalibrationFilters => ({
  ...(basis === undefined ? {} : { basis }),
  ...(population === undefined ? {} : { population }),
  ...(scope === undefined ? {} : { scope }),
})

/** Serves `POST /api/calibration`: the truth table, free; no body is everything. */
export function addCalibrationRoute(
  app: ServiceApp,
  { grader }: { readonly grader: Pick<Grader, 'calibration'> },
): void {
  app.post(
    '/api/calibration',
    {
      bodyLimit: CALIBRATION_BODY_BYTES_MAX,
      schema: {
        tags: ['free'],
        summary: 'The truth table: what each band has returned, from settled outcomes. Free.',
        body: requestSchema,
        response: { 200: calibrationAnswerSchema, ...freeErrorRows },
      },
      ...freeBody(requestSchema, {}),
    },
    async (request) => grader.calibration(filtersOf(request.body.filters ?? {})),
  )
}
