/** Every operation in the reference has an example, and every example is answered as documented. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { createHttpFixture, type HttpFixture, METRICS_TOKEN } from '../testing/http.fixture.ts'
import { auditAnswerSchema } from '../wire/audit.ts'
import { calibrationAnswerSchema } from '../wire/calibration.ts'
import { cardSchema } from '../wire/cards.ts'
import { coverageAnswerSchema } from '../wire/coverage.ts'
import { paymentRequiredSchema } from '../wire/errors.ts'
import {
  auditExample,
  calibrationExample,
  coverageExample,
  gradeExample,
  mcpExample,
  uploadExample,
} from '../wire/examples.ts'
import { ledgerPageSchema, publicEntrySchema } from '../wire/ledger.ts'
import { methodsSchema } from '../wire/methods.ts'
import { uploadAnswerSchema } from '../wire/upload.ts'

let fixture: HttpFixture
let receipt: string
let auditReceipt: string

beforeAll(async () => {
  fixture = await createHttpFixture()
  // After the match, so that its close can be uploaded.
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterAll(() => fixture.app.close())

type Example = {
  readonly operation: string
  readonly body?: object
  readonly headers?: () => Record<string, string>
  readonly url?: () => string
  readonly schema?: z.ZodType
  readonly has: object
}

const EXAMPLES: readonly Example[] = [
  {
    operation: 'post /api/ingest',
    body: uploadExample,
    headers: () => ({ authorization: `Bearer ${fixture.token()}` }),
    schema: uploadAnswerSchema,
    has: { repeated: false, events: 1, snapshots: 1, closes: 1, outcomes: 1, refused: 0 },
  },
  {
    operation: 'post /api/grade',
    body: gradeExample,
    headers: () => fixture.payment(1, 1),
    schema: cardSchema,
    has: { outcome: 'GRADED', grade: 'F', scoreboard: { status: 'won' } },
  },
  {
    operation: 'post /api/audit',
    body: auditExample,
    headers: () => fixture.payment(20, 2),
    schema: auditAnswerSchema,
    has: {
      label: 'May tips',
      record: { won: 2, lost: 3, pending: 0 },
      coverage: { picks: 5, graded: 4, ungraded: 1, by_reason: { line_not_recorded: 1 } },
    },
  },
  {
    operation: 'post /api/calibration',
    body: calibrationExample,
    schema: calibrationAnswerSchema,
    has: { columns: [{ population: 'mechanical', basis: 'fair' }, { basis: 'price' }] },
  },
  {
    operation: 'post /api/coverage',
    body: coverageExample,
    schema: coverageAnswerSchema,
    has: { close: 'final', candidates: [{ home: 'Arsenal', result: 'final' }] },
  },
  {
    operation: 'get /api/ledger/{seq}',
    url: () => '/api/ledger/0',
    schema: publicEntrySchema,
    has: { seq: 0, inclusion: { size: 3 } },
  },
  {
    operation: 'get /api/ledger/checkpoint',
    has: { text: expect.stringContaining('ledger\n3\n') },
  },
  {
    operation: 'get /api/picks/{receipt}',
    url: () => `/api/picks/${receipt}`,
    schema: cardSchema,
    has: { outcome: 'GRADED', grade: 'F', counted: { why: 'received_after_start' } },
  },
  {
    operation: 'get /api/audits/{receipt}',
    url: () => `/api/audits/${auditReceipt}`,
    schema: auditAnswerSchema,
    has: { label: 'May tips', coverage: { picks: 5, graded: 4 } },
  },
  {
    operation: 'get /api/ledger',
    schema: ledgerPageSchema,
    has: { size: 3, entries: [{ seq: 2 }, { seq: 1 }, { seq: 0 }] },
  },
  {
    operation: 'get /api/methods',
    schema: methodsSchema,
    has: { self_test: { agrees: true } },
  },
  {
    operation: 'post /mcp',
    body: mcpExample,
    has: { id: 1, result: { structuredContent: { close: 'final' } } },
  },
  {
    operation: 'get /.well-known/did.json',
    has: { id: 'did:web:grading.example' },
  },
  { operation: 'get /health', has: { status: 'ok' } },
  { operation: 'get /ready', has: { ready: true } },
  {
    operation: 'get /metrics',
    headers: () => ({ authorization: `Bearer ${METRICS_TOKEN}` }),
    has: { text: expect.stringContaining('grading_sold_total{kind="grade"} 1') },
  },
]

/** The body that the reference shows for an operation; undefined if it takes none. */
async function documentedExamples(path: string, method: string): Promise<unknown> {
  const spec = (await fixture.app.inject('/openapi.json')).json()
  const content = spec.paths[path][method].requestBody?.content['application/json']
  const name = String(content?.schema.$ref).split('/').at(-1) ?? ''
  return spec.components.schemas[name]?.examples
}

describe('every operation has an example, answered as documented', () => {
  test('none is missing', async () => {
    const { paths } = (await fixture.app.inject('/openapi.json')).json<{
      readonly paths: Record<string, Record<string, unknown>>
    }>()
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    expect(operations.toSorted()).toEqual(EXAMPLES.map((each) => each.operation).toSorted())
  })

  test.each(EXAMPLES)('$operation', async ({ operation, body, headers, url, schema, has }) => {
    const [method = '', path = ''] = operation.split(' ')
    const answer = await fixture.app.inject({
      method: method.toUpperCase() as 'GET' | 'POST',
      url: url?.() ?? path,
      headers: headers?.() ?? {},
      ...(body === undefined ? {} : { payload: body }),
    })
    expect([answer.statusCode, answer.body.slice(0, 300)]).toEqual([200, expect.anything()])
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    const found: { text?: string; receipt?: string } = isJson
      ? answer.json()
      : { text: answer.body }
    expect(found).toMatchObject(has)
    // The serialiser drops what a schema does not name, so the reference has every answered member.
    expect(schema === undefined ? found : schema.parse(found)).toEqual(found)
    if (operation === 'post /api/grade' && typeof found !== 'string')
      receipt = String(found.receipt)
    if (operation === 'post /api/audit') auditReceipt = String(found.receipt)
    const documented = await documentedExamples(path, method)
    expect(documented).toEqual(body === undefined ? undefined : [body])
  })

  test.each(['grade', 'audit'])(
    'a byte order mark before an empty %s asks for the price, which the reference has in full',
    async (kind) => {
      const answer = await fixture.app.inject({
        method: 'POST',
        url: `/api/${kind}`,
        headers: { 'content-type': 'application/json' },
        payload: '\ufeff{}',
      })
      expect(answer.statusCode).toBe(402)
      expect(paymentRequiredSchema.parse(answer.json())).toEqual(answer.json())
    },
  )
})
