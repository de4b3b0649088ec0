import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gateFixture } from '../testing/gate.fixture.ts'
import { standInTerms } from '../testing/hedera-stand-in.fixture.ts'
import { firstRequirement } from '../testing/payment-header.fixture.ts'
import {
  acceptsRequirement,
  decodeStrictBase64,
  isForResource,
  readPaymentHeaders,
} from './payment-headers.ts'

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
const withAccepted = (changes: object) => ({
  ...envelope,
  accepted: { ...envelope.accepted, ...changes },
})
const readError = (paymentSignature: string): unknown => {
  const reading = readPaymentHeaders({ paymentSignature })
  return reading.kind === 'refused' ? reading.error : reading.kind
}

describe('read', () => {
  test('X4: PAYMENT-SIGNATURE and X-PAYMENT are equivalent', () => {
    const read = { kind: 'read', envelope }
    expect(readPaymentHeaders({ paymentSignature: encode(envelope) })).toEqual(read)
    expect(readPaymentHeaders({ xPayment: encode(envelope) })).toEqual(read)
  })

  test('X22: the same payment in both headers is one payment', () => {
    const accepted = { ...envelope.accepted, price: { asset: '0.0.0', amount: '300000000' } }
    const both = { paymentSignature: encode(envelope), xPayment: encode({ ...envelope, accepted }) }
    expect(readPaymentHeaders(both)).toEqual({ kind: 'read', envelope })
  })

  test('X22: v2 beside v1 is the v2, whichever header has it', () => {
    const read = { kind: 'read', envelope }
    const v1 = encode({ x402Version: 1, scheme: 'exact', network: 'hedera-testnet', payload: {} })
    expect(readPaymentHeaders({ paymentSignature: encode(envelope), xPayment: v1 })).toEqual(read)
    expect(readPaymentHeaders({ paymentSignature: v1, xPayment: encode(envelope) })).toEqual(read)
  })

  test('X22: a payment beside an empty header is that payment, whichever header is empty', () => {
    const read = { kind: 'read', envelope }
    const header = encode(envelope)
    expect(readPaymentHeaders({ paymentSignature: '', xPayment: header })).toEqual(read)
    expect(readPaymentHeaders({ paymentSignature: header, xPayment: '' })).toEqual(read)
  })

  test('null and absent optional members, and unknown members', () => {
    const { extra: _extra, ...accepted } = envelope.accepted
    expect(readError(encode({ ...envelope, accepted, resource: null, extensions: { a: 1 } }))).toBe(
      'read',
    )
  })

  test('no header is absent', () => {
    expect(readPaymentHeaders({})).toEqual({ kind: 'absent' })
  })
})

describe('refused', () => {
  test('X22: two different payments, one in each header: payment_headers_conflict', () => {
    const other = { ...envelope, payload: { transaction: 'BB==' } }
    const both = { paymentSignature: encode(envelope), xPayment: encode(other) }
    expect(readPaymentHeaders(both)).toEqual({ kind: 'refused', error: 'payment_headers_conflict' })
  })

  test('X22: a payment beside a header that does not decode: payment_header_undecodable', () => {
    const both = { paymentSignature: encode(envelope), xPayment: '{' }
    expect(readPaymentHeaders(both)).toMatchObject({ error: 'payment_header_undecodable' })
  })

  test('X4: over 8 KiB, before decoding', () => {
    expect(readError('!'.repeat(8_193))).toBe('payment_header_too_large')
    expect(readError('!'.repeat(8_192))).toBe('payment_header_undecodable')
  })

  test.each([
    ['empty', ''],
    ['base64url', Buffer.from('{"a":"ÿÿÿ???"}').toString('base64url')],
    ['no JSON', Buffer.from('{').toString('base64')],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64')],
    ['the same header twice, as Node joins them', `${encode(envelope)}, ${encode(envelope)}`],
  ])('%s: payment_header_undecodable', (_name, header) => {
    expect(readError(header)).toBe('payment_header_undecodable')
  })

  test.each([
    [
      'a flat payload',
      { ...envelope.accepted, ...envelope, accepted: undefined },
      'accepted_missing',
    ],
    ['no payload', { ...envelope, payload: undefined }, 'payload_missing'],
    ['a payload that is text', { ...envelope, payload: 'x' }, 'payload_invalid'],
    ['an amount as a number', withAccepted({ amount: 1 }), 'accepted_amount_invalid'],
    ['no payTo', withAccepted({ payTo: undefined }), 'accepted_pay_to_missing'],
    ['a resource without url', { ...envelope, resource: {} }, 'resource_url_missing'],
  ])('X22: %s: the reason names the field', (_name, json, reason) => {
    expect(readError(encode(json))).toBe(`payment_${reason}`)
  })

  test.each([1, 3, '2', undefined])(
    'x402Version %j: payment_version_unsupported',
    (x402Version) => {
      expect(readError(encode({ ...envelope, x402Version }))).toBe('payment_version_unsupported')
    },
  )

  test.each([[5], [null], [[]]])('%j has no version: payment_version_unsupported', (json) => {
    expect(readError(encode(json))).toBe('payment_version_unsupported')
  })
})

test('standard padded base64 is returned', () => {
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

const { resource } = standInTerms()
const requirement = firstRequirement(standInTerms())
const accepted = { ...requirement, extra: { ...requirement.extra } }
const matches = (changes: object): boolean =>
  acceptsRequirement({ ...accepted, ...changes }, requirement)

describe('X3: what matches', () => {
  test.each<[string, object]>([
    ['an exact echo', {}],
    ['an echo with price', { price: { asset: '0.0.0', amount: '300000000' } }],
    ['extra keys in extra', { extra: { ...accepted.extra, color: 'red' } }],
    ['extra in a different order', { extra: { paymentFlow: 'upfront', feePayer: '0.0.5001' } }],
  ])('%s', (_name, changes) => {
    expect(matches(changes)).toBe(true)
  })

  test('the second of two offers', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const both = { ...terms, requirements: [{ ...requirement, amount: '1' }, requirement] }
    const header = await ledger.pay(terms)
    expect((await gate.pay({ paymentSignature: header }, both, job())).kind).toBe('paid')
  })
})

describe('X3: mismatches', () => {
  test.each<[string, object]>([
    ['scheme', { scheme: 'upto' }],
    ['network', { network: 'hedera:mainnet' }],
    ['amount', { amount: '299999999' }],
    ['amount in a different spelling', { amount: '0300000000' }],
    ['asset', { asset: '0.0.1' }],
    ['payTo', { payTo: '0.0.66' }],
    ['maxTimeoutSeconds', { maxTimeoutSeconds: 300 }],
    ['a missing extra', { extra: undefined }],
    ['another fee payer', { extra: { ...accepted.extra, feePayer: '0.0.66' } }],
    ['a missing payment flow', { extra: { feePayer: '0.0.5001' } }],
    ['extra from a prototype', { extra: Object.create(accepted.extra) as object }],
  ])('%s', (_name, changes) => {
    expect(matches(changes)).toBe(false)
  })
})

describe('the resource that a payload names', () => {
  test.each([
    [undefined, true],
    [null, true],
    [{ url: resource.url }, true],
    [{ url: 'http://other.example/api/svc/access?agent=0x1' }, true],
    [{ url: 'https://access.example/api/svc/status' }, false],
    [{ url: 'https://access.example/api/svc/access/' }, false],
    [{ url: 'https://access.example/api/svc/%61ccess' }, false],
    [{ url: '/api/svc/access' }, false],
    [{ url: '' }, false],
  ])('%j: %s', (named, isOurs) => {
    expect(isForResource(named, resource)).toBe(isOurs)
  })
})
