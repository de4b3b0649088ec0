import { expect, test } from 'vitest'
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
  const text = pageFrame(referencePage(openapi)).toString()
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
