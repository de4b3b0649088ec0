import { expect, test } from 'vitest'
import { KIT_REFUSALS } from '../openapi.ts'
import { pageFrame } from './page-frame.ts'
import { referencePage } from './reference-page.ts'

const readText = (schema: object, components: object = {}): string => {
  const content = { 'application/json': { schema } }
  const operation = { tags: ['things'], responses: { 200: { content } } }
  const openapi = {
    info: { title: 'thing', version: '1', description: '<things>' },
    paths: { '/things/{id}': { get: operation } },
    components: { schemas: components },
  }
  const text = pageFrame(referencePage(openapi, 'https://thing.test')).toString()
  return text.slice(text.indexOf('Answer 200'))
}
/** A row by its cells: name, type, whether it is required, meaning. */
const row = (...[name, type, isRequired, meaning = '']: readonly string[]): string =>
  `<tr><th scope="row"><code>${name}</code></th><td>${type}</td><td>${isRequired}</td><td>${meaning}</td></tr>`

test('fields stand by their paths: within objects, arrays, tuples and alternatives', () => {
  const leaf = { type: 'object', properties: { hash: { type: 'string' } }, required: ['hash'] }
  const text = readText({
    type: 'object',
    required: ['chains'],
    properties: {
      chains: { type: 'array', items: leaf, description: 'All <of> them.' },
      range: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }], items: false },
      either: { anyOf: [leaf, { type: 'null' }] },
      kind: { enum: ['a', 'b'], default: 'a' },
    },
  })
  for (const expected of [
    row('chains', 'array of object', 'yes', 'All &lt;of&gt; them.'),
    row('chains[].hash', 'string', 'yes'),
    row('range', 'array of number', 'no'),
    row('either', 'object or null', 'no'),
    row('either.hash', 'string', 'yes'),
    row('kind', '&quot;a&quot; or &quot;b&quot;', 'no', ' Default: <code>&quot;a&quot;</code>.'),
  ])
    expect(text).toContain(expected)
})

test('a schema with a name is linked, and one that refers to itself ends', () => {
  const $ref = '#/components/schemas/Node'
  const node = { type: 'object', properties: { next: { $ref } } }
  const text = readText({ $ref }, { Node: node })
  expect(text).toContain('<a href="#schema-node">Node</a>')
  expect(text).toContain('<section id="schema-node">')
  expect(text).toContain(row('next', 'Node', 'no'))
})

test('S4: what is sold comes first, what operators need last, each with a call to copy', () => {
  const responses = { 200: {}, 408: { description: KIT_REFUSALS['408'] } }
  const openapi = {
    info: { title: 'thing', version: '1' },
    paths: {
      '/health': { get: { tags: ['operations'], responses } },
      '/things/{id}': {
        get: {
          tags: ['things'],
          security: [{ token: [] }],
          parameters: [{ name: 'id', in: 'path', required: true, example: '7' }],
          responses,
        },
        put: {
          requestBody: {
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          responses: { ...responses, 402: {} },
        },
      },
    },
    components: {
      schemas: { Thing: { type: 'object', examples: [{ name: "Ann's" }] } },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
  const text = pageFrame(referencePage(openapi, 'https://thing.test')).toString()
  expect(Array.from(text.matchAll(/<h2>(.*?)<\/h2>/g), ([, heading]) => heading)).toEqual([
    'paid',
    'things',
    'operations',
    'Refusals everywhere',
    'Schemas',
  ])
  const unescaped = text.replaceAll('&#39;', "'").replaceAll('&quot;', '"')
  expect(Array.from(unescaped.matchAll(/<code>(curl .*?)<\/code>/g), ([, call]) => call)).toEqual([
    `curl -i -X PUT 'https://thing.test/things/{id}' -H 'content-type: application/json' -d '{"name":"Ann'\\''s"}'`,
    `curl 'https://thing.test/things/7' -H "authorization: Bearer $TOKEN"`,
    "curl 'https://thing.test/health'",
  ])
})

test('S4: a refusal of the kit is written once, and each operation names its status', () => {
  const refusal = { description: KIT_REFUSALS['408'] }
  const own = { description: 'The things are late.' }
  const paths = {
    '/a': { get: { responses: { 408: refusal } } },
    '/b': { get: { responses: { 408: own } } },
  }
  const openapi = { info: { title: 'thing', version: '1' }, paths, components: {} }
  const text = pageFrame(referencePage(openapi, '')).toString()
  expect(text.split(refusal.description ?? '')).toHaveLength(2)
  expect(text).toContain('<a href="#refusals">as everywhere</a>: 408.')
  expect(text).toContain(own.description)
})
