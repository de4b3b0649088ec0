/** Both ways to hash, on the published vectors and on each other. */
import { assert as assertProperty, property, uint8Array } from 'fast-check'
import { expect, test } from 'vitest'
import { keccak, keccakInJavaScript } from './secp256k1.ts'

test.for([
  ['', 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'],
  ['abc', '4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45'],
] as const)('keccak-256 of %j', ([text, digest]) => {
  expect(keccak(Buffer.from(text)).toString('hex')).toBe(digest)
  expect(keccakInJavaScript(Buffer.from(text)).toString('hex')).toBe(digest)
})

test('Node 22 and 24 hash as Node 26 does', () => {
  assertProperty(
    property(uint8Array({ maxLength: 500 }), (bytes) => {
      expect(keccakInJavaScript(bytes)).toEqual(keccak(bytes))
    }),
  )
})
