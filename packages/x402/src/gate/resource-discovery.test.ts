import { parsePaymentRequired } from '@x402/core/schemas'
import { describe, expect, test } from 'vitest'
import { gateFixture } from '../testing/gate.fixture.ts'
import { standInTerms } from '../testing/hedera-stand-in.fixture.ts'
import { decodeHeader, encodeHeader } from '../testing/payment-header.fixture.ts'
import { buildChallenge } from './challenge.ts'
import { describeCall } from './resource-discovery.ts'

const output = { example: { fair: true } }
const schema = { type: 'object', properties: { city: { type: 'string' } } }

describe('x402 discovery', () => {
  test('a GET is described by its query, a POST by its body', () => {
    const get = describeCall({
      input: { method: 'GET', queryParams: { city: 'Oslo' }, schema },
      output,
    })
    expect(get.info).toEqual({
      input: { type: 'http', method: 'GET', queryParams: { city: 'Oslo' } },
      output: { type: 'json', example: { fair: true } },
    })
    expect(get.schema).toMatchObject({
      properties: { input: { properties: { queryParams: schema } } },
    })
    const post = describeCall({ input: { method: 'POST', body: { city: 'Oslo' }, schema }, output })
    expect(post.info.input).toEqual({
      type: 'http',
      method: 'POST',
      bodyType: 'json',
      body: { city: 'Oslo' },
    })
    expect(post.schema).toMatchObject({
      properties: { input: { properties: { body: schema }, required: ['body'] } },
    })
  })

  test('X2: it is in both forms of the challenge, and the official schema accepts it', () => {
    const call = { method: 'GET', queryParams: { city: 'Oslo' }, schema } as const
    const discovery = describeCall({ input: call, output })
    const { body, headers } = buildChallenge({ ...standInTerms(), discovery }, 'payment_required')
    expect(Buffer.from(headers['PAYMENT-REQUIRED'] ?? '', 'base64').toString()).toBe(body)
    expect(JSON.parse(body)).toMatchObject({ extensions: { bazaar: discovery } })
    expect(parsePaymentRequired(JSON.parse(body)).success).toBe(true)
  })

  test.each([
    ['sent back', (declared: object) => ({ bazaar: declared }), true],
    ['returned in other words', () => ({ bazaar: { info: {} }, other: 1 }), true],
    ['left out by the payer', () => undefined, false],
    ['no extensions at all', () => 5, false],
  ])('%s: a facilitator gets what was declared, or nothing', async (_name, echo, isSent) => {
    const { gate, job, ledger, terms } = gateFixture()
    const call = { method: 'GET', queryParams: { city: 'Oslo' }, schema } as const
    const discovery = describeCall({ input: call, output })
    const envelope = decodeHeader(await ledger.pay(terms))
    const paymentSignature = encodeHeader({ ...envelope, extensions: echo(discovery) })
    const outcome = await gate.pay({ paymentSignature }, { ...terms, discovery }, job())
    expect(outcome.kind).toBe('paid')
    expect(ledger.seen.map(({ payload }) => payload.extensions)).toEqual([
      isSent ? { bazaar: discovery } : undefined,
    ])
  })

  test('an undeclared extension is not passed on', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const envelope = decodeHeader(await ledger.pay(terms))
    const paymentSignature = encodeHeader({ ...envelope, extensions: { bazaar: { info: {} } } })
    expect((await gate.pay({ paymentSignature }, terms, job())).kind).toBe('paid')
    expect(ledger.seen[0]?.payload).not.toHaveProperty('extensions')
  })

  test('S10: one too large for a proxy’s buffer is refused when it is made', () => {
    const example = { text: 'a'.repeat(520) }
    const input = { method: 'POST', body: {}, schema } as const
    expect(() => describeCall({ input, output: { example } })).toThrow(RangeError)
  })
})
