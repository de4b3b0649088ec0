import { describe, expect, test } from 'vitest'
import { readPaymentHeaders } from './payment-headers.ts'

const envelope = {
  x402Version: 2,
  payload: { transaction: 'AA==' },
  accepted: {
    scheme: 'exact',
    network: 'hedera:testnet',
    amount: '300000000',
    asset: '0.0.0',
    payTo: '0.0.7001',
    maxTimeoutSeconds: 180,
    extra: { feePayer: '0.0.5001' },
  },
}
const encode = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64')
const errorOf = (paymentSignature: string): unknown => {
  const reading = readPaymentHeaders({ paymentSignature })
  return reading.kind === 'refused' ? reading.error : reading.kind
}

describe('read', () => {
  test('X4: PAYMENT-SIGNATURE and X-PAYMENT alike', () => {
    const read = { kind: 'read', envelope }
    expect(readPaymentHeaders({ paymentSignature: encode(envelope) })).toEqual(read)
    expect(readPaymentHeaders({ xPayment: encode(envelope) })).toEqual(read)
  })

  test('null and absent optional members, and members that we do not know', () => {
    const { extra: _extra, ...accepted } = envelope.accepted
    expect(errorOf(encode({ ...envelope, accepted, resource: null, extensions: { a: 1 } }))).toBe(
      'read',
    )
  })

  test('none at all is absent', () => {
    expect(readPaymentHeaders({})).toEqual({ kind: 'absent' })
  })
})

describe('refused', () => {
  test('both headers at once: payment_headers_conflict', () => {
    const both = { paymentSignature: encode(envelope), xPayment: encode(envelope) }
    expect(readPaymentHeaders(both)).toEqual({ kind: 'refused', error: 'payment_headers_conflict' })
  })

  test('X4: over 8 KiB, before decoding', () => {
    expect(errorOf('!'.repeat(8_193))).toBe('payment_header_too_large')
    expect(errorOf('!'.repeat(8_192))).toBe('payment_header_undecodable')
  })

  test.each([
    ['empty', ''],
    ['base64url', Buffer.from('{"a":"ÿÿÿ???"}').toString('base64url')],
    ['no JSON', Buffer.from('{').toString('base64')],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64')],
    ['a number', encode(5)],
    ['null', encode(null)],
    ['an array', encode([])],
    ['no accepted', encode({ x402Version: 2, payload: {} })],
    ['a payload that is text', encode({ ...envelope, payload: 'x' })],
    [
      'an amount that is a number',
      encode({ ...envelope, accepted: { ...envelope.accepted, amount: 1 } }),
    ],
    ['the same header twice, as Node joins them', `${encode(envelope)}, ${encode(envelope)}`],
  ])('%s: payment_header_undecodable', (_name, header) => {
    expect(errorOf(header)).toBe('payment_header_undecodable')
  })

  test.each([1, 3])('x402Version %i: payment_version_unsupported', (x402Version) => {
    expect(errorOf(encode({ ...envelope, x402Version }))).toBe('payment_version_unsupported')
  })
})
