import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/canonical-json.json' with { type: 'json' }
import { canonicalJson, type JsonValue } from './canonical-json.ts'

const anyJson = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }) as fc.Arbitrary<JsonValue>

/** The same value with every object's members inserted in reverse order. */
const reversed = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map((item: JsonValue) => reversed(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

describe('RFC 8785', () => {
  test.each(vectors.documents)('examples of the standard: $canonical', ({ input, canonical }) => {
    expect(canonicalJson(JSON.parse(input))).toBe(canonical)
  })

  test.each(vectors.numbers)('appendix B: $bits is $canonical', ({ bits, canonical }) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(canonical)
  })

  test('the text means the same value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('the order in which members were inserted makes no difference', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
      }),
    )
  })

  test('canonical text is a fixed point', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalJson(value)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
      }),
    )
  })

  test('a member named __proto__ is a member like any other', () => {
    expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}')
  })
})

describe('what JSON cannot hold is refused', () => {
  const cycle: unknown[] = []
  const hole = [1, 2]
  hole.length = 3
  cycle.push(cycle)
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an undefined member', { a: undefined }],
    ['a hole', hole],
    ['NaN', Number.NaN],
    ['infinity', [Number.POSITIVE_INFINITY]],
    ['a bigint', 1n],
    ['a function', { a: () => 1 }],
    ['a symbol', Symbol('a')],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['bytes', Buffer.of(1)],
    ['a lone surrogate', 'a\ud800'],
    ['a lone surrogate in a name', { '\udc00': 1 }],
    ['a cycle', cycle],
  ])('%s', (_, value) => {
    expect(() => canonicalJson(value as JsonValue)).toThrow(TypeError)
  })

  test('nesting of 64 is accepted, of 65 refused', () => {
    const nested = (depth: number): JsonValue => (depth === 0 ? 0 : [nested(depth - 1)])
    expect(canonicalJson(nested(64))).toBe(`${'['.repeat(64)}0${']'.repeat(64)}`)
    expect(() => canonicalJson(nested(65))).toThrow('64')
  })
})
