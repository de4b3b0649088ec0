import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../../../vectors/payment-reference.json' with { type: 'json' }
import { paymentReference } from './payment-reference.ts'
import {
  canonicalTransactionId,
  mirrorTransactionId,
  parseTransactionId,
} from './transaction-id.ts'

describe('A2: the payment reference', () => {
  test.each(vectors.references)('of $transactionId', ({ transactionId, text, hash }) => {
    expect(paymentReference(transactionId)).toEqual({ text, hash })
  })

  test.each(vectors.refused)('%j has none', (transactionId) => {
    expect(() => paymentReference(transactionId)).toThrow(RangeError)
  })

  test('of a child transaction is its own', () => {
    const parent = '0.0.5001@1795226009.183949169'
    expect(paymentReference(`${parent}/1`).text).toBe(`${parent}/1`)
    expect(parseTransactionId(`${parent}/1`)).toMatchObject({ childNumber: 1 })
    for (const text of [`${parent}/0`, `${parent}/`, `${parent}/01`, `${parent}/1/1`])
      expect(parseTransactionId(text)).toBeUndefined()
  })

  test('is the same for the SDK’s and the mirror node’s spelling of every id', () => {
    fc.assert(
      fc.property(
        fc.record({
          accountId: fc.nat().map((number) => `0.0.${number}`),
          validStartSeconds: fc.bigInt(0n, 10n ** 18n),
          validStartNanos: fc.integer({ min: 0, max: 999_999_999 }),
        }),
        (id) => {
          const sdk = canonicalTransactionId(id)
          const mirror = mirrorTransactionId(id)
          expect(parseTransactionId(sdk)).toEqual(id)
          expect(parseTransactionId(mirror)).toEqual(id)
          expect(paymentReference(mirror)).toEqual(paymentReference(sdk))
          expect(paymentReference(sdk).text).toBe(sdk)
        },
      ),
    )
  })
})
