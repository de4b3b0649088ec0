/** What `/api/methods` answers: how a price is graded, with golden vectors. */
import { z } from 'zod'
import { bandSchema, methodSchema } from './cards.ts'

const figures = z.object({ grade: bandSchema, price: z.number(), fair: z.number() })
const meanings = z.record(z.string(), z.string())

export const methodsSchema = z
  .object({
    bands: z.array(
      z.object({ band: bandSchema, from: z.number().nullable().describe('Its lowest value.') }),
    ),
    rules: z.array(z.string()),
    methods: z.array(z.object({ method: methodSchema, what: z.string(), default: z.boolean() })),
    reference_order: z
      .array(z.string())
      .describe('Books whose close is graded against; the first that has one.'),
    markets: z.array(
      z.object({
        type: z.string(),
        selections: z.array(z.string()).describe('Empty if every market has its own.'),
        line: z.enum(['always', 'never', 'maybe']),
      }),
    ),
    ungraded: meanings.describe('Reason codes of UNGRADED.'),
    flags: meanings,
    sharp_score: z.record(z.string(), z.number()).describe('The model’s constants.'),
    low_sample_below: z.int(),
    self_test: z.object({
      agrees: z.boolean(),
      vectors: z.array(
        z.object({
          name: z.string(),
          close: z.array(z.string()),
          selection: z.int(),
          taken: z.string(),
          expected: figures,
          found: figures,
          agrees: z.boolean(),
        }),
      ),
    }),
  })
  .meta({ id: 'Methods' })
export type MethodsAnswer = z.output<typeof methodsSchema>
