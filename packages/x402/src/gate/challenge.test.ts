import { decodePaymentRequiredHeader } from '@x402/core/http'
import { parsePaymentRequired } from '@x402/core/schemas'
import { describe, expect, test } from 'vitest'
import { standInTerms } from '../testing/hedera-stand-in.fixture.ts'
import { buildChallenge } from './challenge.ts'
import { describeCall } from './resource-discovery.ts'

const terms = standInTerms()

describe('X2: a challenge', () => {
  test('is the same JSON in body and header, byte for byte, even beyond ASCII', () => {
    const dollars = {
      ...terms,
      resource: { ...terms.resource, description: 'Price in USD₮0 – 😀' },
    }
    const { body, headers } = buildChallenge(dollars, 'payment_required')
    expect(Buffer.from(headers['PAYMENT-REQUIRED'] ?? '', 'base64').toString('utf8')).toBe(body)
    expect(decodePaymentRequiredHeader(headers['PAYMENT-REQUIRED'] ?? '')).toEqual(JSON.parse(body))
    expect(JSON.parse(body)).toMatchObject({ resource: dollars.resource })
    expect(Buffer.byteLength(body)).toBe(body.length)
  })

  test('passes the official schema, including its resource', () => {
    const parsed = parsePaymentRequired(JSON.parse(buildChallenge(terms, 'payment_required').body))
    expect(parsed).toMatchObject({ success: true, data: { resource: terms.resource } })
  })

  test('says why', () => {
    const { body } = buildChallenge(terms, 'payment_already_used')
    expect(JSON.parse(body)).toMatchObject({ x402Version: 2, error: 'payment_already_used' })
  })
})

test('A27: facts of the seller’s own stand beside the error, replace nothing of x402’s, and pass the official schema', () => {
  const beside = { ended: { why: 'spent' }, accepts: [], notice: undefined }
  const body = JSON.parse(buildChallenge({ ...terms, beside }, 'payment_required').body)
  expect(Object.keys(body)).not.toContain('notice')
  expect(body).toMatchObject({ ended: { why: 'spent' }, accepts: [{ scheme: 'exact' }] })
  expect(parsePaymentRequired(body)).toMatchObject({ success: true })
})

test('X3: an accepts entry is the full v2 shape plus price', () => {
  expect(JSON.parse(buildChallenge(terms, 'payment_required').body)).toMatchObject({
    accepts: [
      {
        scheme: 'exact',
        network: 'hedera:testnet',
        amount: '300000000',
        asset: '0.0.0',
        payTo: '0.0.7001',
        maxTimeoutSeconds: 180,
        extra: { feePayer: '0.0.5001', paymentFlow: 'upfront' },
        price: { asset: '0.0.0', amount: '300000000' },
      },
    ],
  })
})

test('X5: a challenge is never stored', () => {
  expect(buildChallenge(terms, 'payment_required').headers['cache-control']).toBe('no-store')
})

test('S10: a challenge too long for a proxy’s buffer leaves out its signed offers, then the catalogue’s extension, and names them', () => {
  const offers = [{ format: 'jws', signature: 'x'.repeat(700) }] as const
  const input = { method: 'GET', queryParams: {}, schema: {} } as const
  const discovery = describeCall({ input, output: { example: {} } })
  const extensionsAt = (urlLength: number) => {
    const resource = { ...terms.resource, url: 'https://example.com/'.padEnd(urlLength, 'x') }
    const { body } = buildChallenge({ ...terms, resource, discovery }, 'payment_required', offers)
    const { extensions = {}, omitted } = JSON.parse(body)
    return [Object.keys(extensions), omitted]
  }
  expect(extensionsAt(100)).toEqual([['bazaar', 'offer-receipt'], undefined])
  expect(extensionsAt(1_000)).toEqual([['bazaar'], ['offer-receipt']])
  expect(extensionsAt(1_500)).toEqual([[], ['bazaar', 'offer-receipt']])
})

test('the bytes of a challenge are built once per terms and error, and only so many errors are kept', () => {
  const first = buildChallenge(terms, 'payment_required')
  expect(buildChallenge(terms, 'payment_required')).toBe(first)
  expect(buildChallenge({ ...terms }, 'payment_required')).not.toBe(first)
  for (let index = 0; index < 100; index += 1) buildChallenge(terms, `reason_${index}`)
  expect(buildChallenge(terms, 'reason_99')).not.toBe(buildChallenge(terms, 'reason_99'))
})
