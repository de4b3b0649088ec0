/** What a challenge tells an agent about a paid call: its body and its answer in short; `/openapi.json` has them whole. */
import { describeCall, type JsonSchema, type ResourceDiscovery } from '@tallystick/x402'
import type { SaleKind } from './routes/read-sale.ts'
import { auditExample, gradeExample } from './wire/examples.ts'

const PICK: JsonSchema = {
  type: 'object',
  properties: {
    market: {
      type: ['string', 'object'],
      description: 'sport/event/type/period[/line], or its parts; POST /api/coverage finds it.',
    },
    selection: {
      type: 'string',
      description: 'home, draw, away, over, under, yes, no, or a name.',
    },
    odds: { type: ['string', 'number'], description: 'The price taken.' },
    line: { type: 'number' },
    placed_at: { type: 'string', description: 'ISO 8601, with its zone.' },
  },
  required: ['market', 'selection', 'odds'],
}

const [firstPick] = auditExample.picks

/** By kind of sale. */
export const saleDiscovery: Readonly<Record<SaleKind, ResourceDiscovery>> = {
  grade: describeCall({
    input: {
      method: 'POST',
      body: gradeExample,
      schema: { type: 'object', properties: { pick: PICK }, required: ['pick'] },
    },
    output: {
      example: { outcome: 'GRADED', grade: 'F', clv: { price: -0.0732, beat_close: false } },
      schema: {
        properties: {
          outcome: { enum: ['GRADED', 'UNGRADED'] },
          grade: { type: 'string', description: 'A band, or UNGRADED with its reason.' },
          clv: { type: 'object' },
          receipt: { type: 'string' },
        },
        required: ['outcome', 'grade'],
      },
    },
  }),
  audit: describeCall({
    input: {
      method: 'POST',
      body: { picks: [firstPick] },
      schema: {
        type: 'object',
        properties: {
          picks: { type: 'array', minItems: 1, maxItems: 1_000, items: PICK },
          label: { type: 'string' },
        },
        required: ['picks'],
      },
    },
    output: {
      example: { coverage: { picks: 1, graded: 1, ungraded: 0 } },
      schema: {
        properties: { coverage: { type: 'object' }, record: { type: 'object' } },
        required: ['coverage'],
      },
    },
  }),
}
