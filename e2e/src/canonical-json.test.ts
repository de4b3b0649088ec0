// One canonical JSON. The text stands twice, since neither package may import the other (CONTRIBUTING.md): these hold it to one.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, type JsonValue } from '../../packages/hashchain/src/canonical-json.ts'
import vectors from '../../packages/hashchain/vectors/canonical-json.json' with { type: 'json' }
import { canonicalJson as canonicalStatement } from '../../packages/x402/src/receipts/signed-statement.ts'

const anyJson = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }) as fc.Arbitrary<JsonValue>

describe('RFC 8785: what is hashed and what is signed are one text', () => {
  it('of any value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalStatement(value)).toBe(canonicalJson(value))
      }),
    )
  })

  it.each(vectors.documents)('of the standard’s example $canonical', ({ input, canonical }) => {
    expect(canonicalStatement(JSON.parse(input))).toBe(canonical)
  })

  it.each(vectors.numbers)('of the standard’s number $canonical', ({ bits, canonical }) => {
    expect(canonicalStatement(Buffer.from(bits, 'hex').readDoubleBE())).toBe(canonical)
  })

  it.each([
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['a hole', Object.assign([1, 2], { length: 3 })],
    ['bytes', Buffer.of(1)],
  ])('%s is refused by both', (_, value) => {
    expect(() => canonicalJson(value as unknown as JsonValue)).toThrow(TypeError)
    expect(() => canonicalStatement(value)).toThrow(RangeError)
  })
})
