/** Every operation of the reference has an example, and every example is answered as the reference says. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { z } from 'zod'
import {
  createFakes,
  paymentHeader,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'
import { accessGrantedSchema, paymentRequiredSchema, statusSchema } from '../wire/access-answers.ts'
import { agentExample } from '../wire/access-requests.ts'

let service: Awaited<ReturnType<typeof startFakeService>>
let payment: Record<string, string>

const accessUrl = `/api/svc/access?agent=${agentExample}`

beforeAll(async () => {
  service = await startFakeService(createFakes())
  service.start()
  await vi.waitUntil(async () => (await service.app.inject(accessUrl)).statusCode === 402, 60_000)
  const challenge = (await service.app.inject(accessUrl)).json()
  payment = paymentHeader(challenge, { nanos: 1, validFromSeconds: START_SECONDS })
})
afterAll(() => service.close())

type Example = {
  readonly operation: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: () => Record<string, string>
  readonly status: number
  readonly schema?: z.ZodType
  readonly has: object
}

const ofAgent = { agent: agentExample }

/** In the order in which they run: the payment of the second opens the window of the rest. */
const EXAMPLES: readonly Example[] = [
  {
    operation: 'get /api/svc/access',
    query: ofAgent,
    status: 402,
    schema: paymentRequiredSchema,
    has: { error: 'payment_required' },
  },
  {
    operation: 'get /api/svc/access',
    query: ofAgent,
    headers: () => payment,
    status: 200,
    schema: accessGrantedSchema,
    has: { access: 'granted', paidThisRequest: true },
  },
  {
    operation: 'get /api/svc/access',
    query: ofAgent,
    status: 200,
    schema: accessGrantedSchema,
    has: { access: 'granted', paidThisRequest: false },
  },
  {
    operation: 'get /api/svc/status',
    query: ofAgent,
    status: 200,
    schema: statusSchema,
    has: { agent: agentExample, hasAccess: true },
  },
  {
    operation: 'get /.well-known/did.json',
    status: 200,
    has: { id: expect.stringMatching(/^did:web:/) },
  },
  { operation: 'get /health', status: 200, has: { status: 'ok' } },
  { operation: 'get /ready', status: 200, has: { ready: true } },
  {
    operation: 'get /metrics',
    status: 200,
    has: { text: expect.stringContaining('http_requests_total') },
  },
]

type Operation = {
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly example?: unknown
  }[]
}

async function operations(): Promise<Record<string, Record<string, Operation>>> {
  return (await service.app.inject('/openapi.json')).json().paths
}

describe('every operation has an example, answered as the reference says', () => {
  test('none is missing, and each parameter that is asked for has one', async () => {
    const paths = await operations()
    const names = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    expect(names.toSorted()).toEqual(
      [...new Set(EXAMPLES.map((example) => example.operation))].toSorted(),
    )
    for (const { operation, query = {} } of EXAMPLES) {
      const [method = '', path = ''] = operation.split(' ')
      const parameters = (paths[path]?.[method]?.parameters ?? []).filter(
        (each) => each.in === 'query',
      )
      expect(Object.fromEntries(parameters.map(({ name, example }) => [name, example]))).toEqual(
        query,
      )
    }
  })

  test.each(EXAMPLES)('$status $operation', async ({ operation, query, headers, ...expected }) => {
    const [, path = ''] = operation.split(' ')
    const url = query === undefined ? path : `${path}?${new URLSearchParams(query).toString()}`
    const answer = await service.app.inject({ url, headers: headers?.() ?? {} })
    expect(answer.statusCode).toBe(expected.status)
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    const found: unknown = isJson ? answer.json() : { text: answer.body }
    expect(found).toMatchObject(expected.has)
    // Every member that is answered is in the reference.
    expect(expected.schema === undefined ? found : expected.schema.parse(found)).toEqual(found)
  })
})
