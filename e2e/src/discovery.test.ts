// What a challenge tells an agent that does not know the service: x402's discovery, on each paid call as served.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, inject, it } from 'vitest'
import { z } from 'zod'

const stack = inject('stack')

/** What common clients and proxies accept for all headers together; Node accepts twice that. */
const HEADERS_BYTES_MAX = 8_192

const PAID = [
  { service: 'access', method: 'GET', path: `/api/svc/access?agent=0x${'ab'.repeat(20)}` },
  { service: 'grading', method: 'POST', path: '/api/grade' },
  { service: 'grading', method: 'POST', path: '/api/audit' },
] as const

const Challenge = z.looseObject({
  resource: z.object({
    url: z.url(),
    description: z.string().min(20),
    mimeType: z.literal('application/json'),
  }),
  extensions: z.object({
    bazaar: z.object({
      info: z.object({
        input: z.looseObject({ type: z.literal('http'), method: z.string() }),
        output: z.object({ type: z.literal('json'), example: z.looseObject({}) }),
      }),
      schema: z.looseObject({}),
    }),
  }),
})

describe.each(PAID)('$method $path', ({ service, method, path }) => {
  const ask = () => fetch(`${stack.description[service].baseUrl}${path}`, { method })

  it('the challenge says how to call it, with an example that fits its schema', async () => {
    const answer = await ask()
    expect(answer.status).toBe(402)
    const { extensions, resource } = Challenge.parse(await answer.json())
    const { info, schema } = extensions.bazaar
    const validate = new Ajv2020({ strict: false }).compile(schema)
    expect([validate(info), validate.errors]).toEqual([true, null])
    expect(info.input.method).toBe(method)
    expect(resource.url).toBe(stack.description[service].baseUrl + path.replace(/\?.*/, ''))
  })

  it('X2: body and header are the same JSON, and all headers fit 8 KiB', async () => {
    const answer = await ask()
    const header = answer.headers.get('payment-required') ?? ''
    expect(Buffer.from(header, 'base64').toString('utf8')).toBe(await answer.text())
    const bytes = [...answer.headers].reduce(
      (sum, [name, text]) => sum + name.length + text.length + 4,
      0,
    )
    expect(bytes).toBeLessThan(HEADERS_BYTES_MAX)
  })
})

it('the call that grading describes is answered: its example is a valid body', async () => {
  const { baseUrl } = stack.description.grading
  for (const path of ['/api/grade', '/api/audit']) {
    const challenge = await fetch(baseUrl + path, { method: 'POST' })
    const { extensions } = Challenge.parse(await challenge.json())
    const body = JSON.stringify(extensions.bazaar.info.input['body'])
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(baseUrl + path, { method: 'POST', headers, body })
    // 400 comes before 402 (G3): a challenged body is well formed.
    expect(answer.status).toBe(402)
  }
})
