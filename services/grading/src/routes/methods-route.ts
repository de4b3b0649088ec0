import type { ServiceApp } from '@tallystick/service-kit'
import { z } from 'zod'
import type { MethodsAnswer } from '../methods-answer.ts'
import { bandSchema } from './card-schema.ts'

const figures = z.object({ grade: bandSchema, price: z.number(), fair: z.number() })
const meanings = z.record(z.string(), z.string())
const methodSchema = z.enum(['power', 'shin', 'odds_ratio', 'multiplicative', 'additive'])

export const methodsSchema = z
  .object({
    bands: z.array(
      z.object({ band: bandSchema, from: z.number().nullable().describe('Lowest value of it.') }),
    ),
    rules: z.array(z.string()),
    methods: z.array(z.object({ method: methodSchema, what: z.string(), default: z.boolean() })),
    reference_order: z.array(z.string()).describe('Whose close is graded against, first found.'),
    markets: z.array(
      z.object({
        type: z.string(),
        selections: z.array(z.string()).describe('Empty where every market has its own.'),
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

/** Serves `GET /api/methods`: bands, methods and a self-test by golden vectors. Free. */
export function addMethodsRoute(
  app: ServiceApp,
  { methods }: { readonly methods: MethodsAnswer },
): void {
  app.get(
    '/api/methods',
    {
      schema: {
        tags: ['free'],
        summary: 'How a price is graded, with golden vectors worked out by this process. Free.',
        response: { 200: methodsSchema },
      },
    },
    async () => methods,
  )
}
