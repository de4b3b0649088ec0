// Values for a JSON Schema: most of them fit it, some nearly, some not at all.
import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import type { JsonSchema } from './operations.ts'

/** Texts that have tripped parsers, databases, shells and terminals. */
const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  "' OR 1=1 --",
  '<script>alert(1)</script>',
  '{{7*7}}',
  '%00',
  '0x',
  `0x${'f'.repeat(40)}`,
  'NaN',
  '1e308',
  '-0',
  '__proto__',
  'constructor',
  '9'.repeat(400),
  'ａ',
  'İ',
  'care://heron/medication',
  'care-internal://heron/care-plan',
]
const ODD_NUMBERS = [0, -0, -1, 1, 1.5, 2 ** 53, -(2 ** 53), 1e308, 5e-324, 2 ** 31, 2 ** 63]
/** Bodies stay small here; other tests send oversized ones. */
const ITEMS_MAX = 4
const DEPTH_MAX = 6

const oddText = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
)

/** Any JSON, with property names that have broken other programs. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, ...ODD_NUMBERS, ...ODD_TEXTS),
  fc.jsonValue({ maxDepth: 2 }),
  fc.dictionary(fc.constantFrom('__proto__', 'constructor', 'length', 'toString'), fc.integer()),
)

function listArbitrary(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? (value as readonly JsonSchema[]) : []
}

function numberFor(schema: JsonSchema): fc.Arbitrary<number> {
  const bound = (name: string): number | undefined =>
    typeof schema[name] === 'number' ? schema[name] : undefined
  const low = bound('minimum') ?? bound('exclusiveMinimum') ?? -1e6
  const high = bound('maximum') ?? bound('exclusiveMaximum') ?? Math.max(low, 1e6)
  const inside =
    schema['type'] === 'integer'
      ? fc.integer({ min: Math.ceil(low), max: Math.floor(Math.min(high, 2 ** 31 - 1)) })
      : fc.double({ min: low, max: high, noNaN: true })
  return fc.oneof({ weight: 3, arbitrary: inside }, fc.constantFrom(low, high, low - 1, high + 1))
}

function textFor(schema: JsonSchema): fc.Arbitrary<string> {
  const pattern = schema['pattern']
  const examples = [schema['example'], ...listArbitrary(schema['examples'])].filter(
    (type): type is string & JsonSchema => typeof type === 'string',
  )
  const fitting =
    typeof pattern === 'string'
      ? fc.stringMatching(new RegExp(pattern))
      : fc.string({ maxLength: 20 })
  return fc.oneof(
    { weight: 3, arbitrary: fitting },
    oddText,
    ...(examples.length > 0 ? [fc.constantFrom(...examples)] : []),
  )
}

function objectFor(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
  const required = new Set((schema['required'] ?? []) as readonly string[])
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [name, arbitraryFor(member, depth + 1)]),
  )
  const known = fc.record(members, { requiredKeys: [...required] })
  return fc.oneof(
    { weight: 6, arbitrary: known },
    { weight: 1, arbitrary: fc.record(members, { requiredKeys: [] }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(known, fc.string(), anyJson)
        .map(([value, name, extra]) => ({ ...value, [name]: extra })),
    },
  )
}

function fittingFor(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const choices = [...listArbitrary(schema['anyOf']), ...listArbitrary(schema['oneOf'])]
  if (depth > DEPTH_MAX) return fc.constant(null)
  if ('const' in schema) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]))
  if (choices.length > 0)
    return fc.oneof(...choices.map((choice) => arbitraryFor(choice, depth + 1)))
  const types = [schema['type']].flat()
  const arbitraries = types.map((type) => {
    switch (type) {
      case 'object':
        return objectFor(schema, depth)
      case 'array':
        return fc.array(arbitraryFor((schema['items'] ?? {}) as JsonSchema, depth + 1), {
          maxLength: ITEMS_MAX,
        })
      case 'string':
        return textFor(schema)
      case 'number':
      case 'integer':
        return numberFor({ ...schema, type })
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      default:
        return anyJson
    }
  })
  return fc.oneof(...arbitraries)
}

/** Values for a schema; about nine in ten fit it. */
export function arbitraryFor(schema: JsonSchema, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: fittingFor(schema, depth) },
    { weight: 1, arbitrary: anyJson },
  )
}
