import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fromZigzag,
  MalformedProtobuf,
  readMessage,
  toSigned,
  toZigzag,
  writeBytesField,
  writeVarintField,
} from './protobuf.ts'

const hex = (text: string): Uint8Array => Buffer.from(text, 'hex')

describe('what is refused', () => {
  const cases: readonly (readonly [name: string, bytes: string])[] = [
    ['an unknown field', '1001'],
    ['a wrong wire type', '0a00'],
    ['a fixed64', '090000000000000000'],
    ['a group', '0b0c'],
    ['a singular field twice', '08010802'],
    ['an overlong varint', '088100'],
    ['an overlong tag', '88000a'],
    ['a varint of eleven bytes', `08${'ff'.repeat(10)}01`],
    ['a varint beyond 64 bits', `08${'ff'.repeat(9)}7f`],
    ['a varint that is cut off', '0880'],
    ['bytes that are cut off', '1a05aabb'],
    ['a length beyond the end', `1a${'ff'.repeat(9)}01`],
    ['field number 0', '0000'],
  ]
  test.each(cases)('%s', (_name, bytes) => {
    expect(() => readMessage(hex(bytes), { 1: 'varint', 3: 'bytes' })).toThrow(MalformedProtobuf)
  })
})

describe('what is read', () => {
  test('absent fields are 0, undefined and empty; explicit defaults are present', () => {
    const fields = readMessage(hex('0800'), { 1: 'varint', 2: 'varint', 3: 'bytes', 4: 'repeated' })
    expect([fields.has(1), fields.has(2)]).toEqual([true, false])
    expect([fields.varint(1), fields.varint(2)]).toEqual([0n, 0n])
    expect(fields.bytes(3)).toBeUndefined()
    expect(fields.repeated(4)).toEqual([])
  })

  test('every 64-bit number round-trips through its field', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (value) => {
        expect(readMessage(writeVarintField(9, value), { 9: 'varint' }).varint(9)).toBe(value)
      }),
    )
  })

  test('every signed number round-trips through zigzag and through two’s complement', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (value) => {
        expect(fromZigzag(toZigzag(value))).toBe(value)
        expect(toSigned(BigInt.asUintN(64, value))).toBe(value)
      }),
    )
  })

  test('repeated bytes are returned in order', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (chunks) => {
        const bytes = Buffer.concat(chunks.map((chunk) => writeBytesField(77, chunk)))
        const read = readMessage(bytes, { 77: 'repeated' }).repeated(77)
        expect(read.map((chunk) => Buffer.from(chunk).toString('hex'))).toEqual(
          chunks.map((chunk) => Buffer.from(chunk).toString('hex')),
        )
      }),
    )
  })

  test('any bytes are a message or MalformedProtobuf, never another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(['read', 'MalformedProtobuf']).toContain(readOrName(bytes))
      }),
      { numRuns: 2_000 },
    )
  })
})

function readOrName(bytes: Uint8Array): string {
  try {
    readMessage(bytes, { 1: 'varint', 2: 'bytes', 3: 'repeated' })
    return 'read'
  } catch (error) {
    return error instanceof Error ? error.name : 'thrown'
  }
}
