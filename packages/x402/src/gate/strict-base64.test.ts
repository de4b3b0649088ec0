import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeStrictBase64 } from './strict-base64.ts'

test('standard padded base64 comes back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const buffer = Buffer.from(bytes)
      expect(decodeStrictBase64(buffer.toString('base64'))).toEqual(buffer)
    }),
  )
})

test.each(['-_-_', 'QUI', 'QUI==', ' QUI=', 'QUI=\n', 'QU I=', 'Q', '====', 'QUJ=', '{}', 'é==='])(
  'X2: %j is not standard, padded base64',
  (text) => {
    expect(decodeStrictBase64(text)).toBeUndefined()
  },
)
