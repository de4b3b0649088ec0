import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeStrictBase64, encodeBase64 } from './strict-base64.ts'

describe('RFC 4648 §4: one value has one spelling', () => {
  test('encoded bytes decode to the same, even from a view into a larger buffer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 40 }), (bytes, start) => {
        const view = bytes.subarray(start)
        expect(decodeStrictBase64(encodeBase64(view))).toEqual(Buffer.from(view))
      }),
    )
  })

  test('a text that decodes is the only one for its bytes', () => {
    const text = fc.string({ unit: fc.constantFrom('A', 'B', 'Q', '/', '+', '=', '-', '_', ' ') })
    fc.assert(
      fc.property(text, (candidate) => {
        const bytes = decodeStrictBase64(candidate)
        expect(bytes === undefined ? candidate : encodeBase64(bytes)).toBe(candidate)
      }),
      { numRuns: 2000 },
    )
  })

  test.each(['QQ', 'QQ=', 'QR==', 'QUI', 'QUJ=', 'Q', '=', 'QQ==QQ==', 'QQ==\n', 'Q-_=', 'QQ= ='])(
    'refused: %j',
    (text) => {
      expect(decodeStrictBase64(text)).toBeUndefined()
    },
  )
})
