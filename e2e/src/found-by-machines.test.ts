/** X24: what a program finds that knows nothing but a base URL, judged by others' discovery client and validator. */
import { checkEndpointSchema, discoverOriginSchema } from '@agentcash/discovery'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, inject, test } from 'vitest'

const { description } = inject('stack')
const SERVICES = ['access', 'care', 'grading'] as const

const PAID = {
  access: [['GET', '/api/svc/access', '12 HBR']],
  care: [],
  grading: [
    ['POST', '/api/grade', '0.01 USD'],
    ['POST', '/api/audit', '0.20 USD'],
  ],
} as const

type Operation = {
  readonly operationId?: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, unknown>> }>
  >
}
type ApiDocument = {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly securitySchemes?: Readonly<Record<string, unknown>> }
}

type Schema =
  | {
      readonly items?: unknown
      readonly enum?: readonly unknown[]
      readonly 'x-enum-varnames'?: readonly string[]
    }
  | undefined

const readJson = async <Body>(url: string, accept = '*/*'): Promise<Body> =>
  (await (await fetch(url, { headers: { accept } })).json()) as Body

describe.each(SERVICES)('X24: %s', (service) => {
  const { baseUrl } = description[service]

  test('a discovery client that knows the address finds every paid route, with its price', async () => {
    const found = await discoverOriginSchema({ target: baseUrl })
    if (!found.found) throw new Error(found.cause)
    const paid = found.endpoints.filter(({ authMode }) => authMode === 'paid')
    expect(paid.map(({ method, path, price }) => [method, path, price])).toEqual(PAID[service])
    expect(paid.every(({ protocols }) => protocols?.includes('x402') === true)).toBe(true)
  })

  test('the reference is valid; every operation has a name of its own and says who may call it', async () => {
    const document = await readJson<ApiDocument>(`${baseUrl}/openapi.json`)
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
    expect(document.servers).toEqual([{ url: '/' }])
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
    const names = operations.map(({ operationId }) => operationId)
    expect(names).not.toContain(undefined)
    expect(new Set(names).size).toBe(names.length)
    const schemes = Object.keys(document.components.securitySchemes ?? {})
    for (const { operationId, security } of operations) {
      expect(security, operationId).toBeInstanceOf(Array)
      expect(schemes).toEqual(expect.arrayContaining((security ?? []).flatMap(Object.keys)))
    }
  })

  // As openapi-python-client 0.29 reads it.
  test('a generator of clients can name every value of an enum, and take every list', async () => {
    const document = await readJson<ApiDocument>(`${baseUrl}/openapi.json`)
    JSON.stringify(document, (key, value: Schema) => {
      expect(value?.items, key).not.toBe(false)
      const texts = value?.['x-enum-varnames'] ?? value?.enum ?? []
      const names = texts.map((text) => String(text).replaceAll(/\W/g, '').toUpperCase())
      expect(new Set(names).size, `${key}: ${names.join()}`).toBe(names.length)
      return value
    })
  })

  test('a public answer has a media type that the reference names', async () => {
    const { paths } = await readJson<ApiDocument>(`${baseUrl}/openapi.json`)
    for (const [path, item] of Object.entries(paths)) {
      if (item['get'] === undefined || path.includes('{')) continue
      const answer = await fetch(baseUrl + path, { headers: { accept: 'application/json' } })
      await answer.body?.cancel()
      const [mediaType = ''] = (answer.headers.get('content-type') ?? '').split(';')
      const named = item['get'].responses[String(answer.status)]?.content
      expect([path, answer.status, Object.keys(named ?? {})]).toEqual([
        path,
        answer.status,
        [mediaType],
      ])
    }
  })

  test('/ answers a program with the places of everything, and a browser with its page', async () => {
    const links = await readJson<Record<string, string>>(baseUrl, 'application/json')
    const places = ['openapi', 'docs', 'llms', 'x402', 'mcp'].flatMap((name) => links[name] ?? [])
    for (const place of places) expect((await fetch(baseUrl + place)).status).toBe(200)
    expect(Object.hasOwn(links, 'x402')).toBe(service !== 'care')
    expect(Object.hasOwn(links, 'mcp')).toBe(service !== 'access')
    const page = await fetch(baseUrl, { headers: { accept: 'text/html,application/json;q=0.9' } })
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    expect(page.headers.get('link')).toContain('</openapi.json>; rel="service-desc"')
    expect(page.headers.get('vary')).toMatch(/accept/)
  })
})

test('X24: /.well-known/x402 names each sale with the terms of its challenge', async () => {
  for (const service of ['access', 'grading'] as const) {
    const { baseUrl } = description[service]
    type Item = { readonly resource: string; readonly method: string; readonly accepts: unknown }
    const { items, resources } = await readJson<{
      readonly items: readonly Item[]
      readonly resources: readonly string[]
    }>(`${baseUrl}/.well-known/x402`)
    expect(resources).toEqual(PAID[service].map(([, path]) => baseUrl + path))
    for (const { accepts, method, resource } of items) {
      const query = service === 'access' ? `?agent=0x${'ab'.repeat(20)}` : ''
      const challenge = await fetch(resource + query, { method })
      expect(challenge.status).toBe(402)
      expect(await challenge.json()).toMatchObject({ accepts })
    }
  }
})

test('X24: an index takes grading’s challenges without an error', async () => {
  for (const [, path] of PAID.grading) {
    const checked = await checkEndpointSchema({
      url: description.grading.baseUrl + path,
      probe: true,
    })
    expect(JSON.stringify(checked)).not.toContain('"severity":"error"')
    expect(checked).toMatchObject({ found: true })
  }
})

test('a server card names the MCP endpoints that answer', async () => {
  for (const service of ['care', 'grading'] as const) {
    const { baseUrl } = description[service]
    type Card = { readonly remotes: readonly { readonly url: string }[] }
    const card = await readJson<Card>(`${baseUrl}/mcp/server-card`)
    expect(await readJson(`${baseUrl}/.well-known/mcp/server-card.json`)).toEqual(card)
    for (const { url } of card.remotes) {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(url, { method: 'POST', headers, body: '{}' })
      // Who may not enter, or sends nothing of use, is told so by the endpoint itself.
      expect([400, 401]).toContain(answer.status)
    }
  }
})
