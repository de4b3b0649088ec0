/** X17: clients name their requests, judged by the official client and its extension, unmodified. */
import {
  appendPaymentIdentifierToExtensions,
  declarePaymentIdentifierExtension,
  extractPaymentIdentifier,
  isPaymentIdentifierExtension,
  isValidPaymentId,
} from '@x402/extensions/payment-identifier'
import { assert as assertProperty, property, string } from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import vectors from '../../vectors/payment-identifier.json' with { type: 'json' }
import { OTHER_PAYER } from '../testing/hedera-stand-in.fixture.ts'
import { keptAnswerFixture } from '../testing/kept-answer.fixture.ts'
import { officialBuyer, officialShop } from '../testing/official-shop.fixture.ts'
import { decodeHeader, encodeHeader } from '../testing/payment-header.fixture.ts'
import {
  namePayment,
  PAYMENT_IDENTIFIER,
  PAYMENT_IDENTIFIER_OFFER,
  readPaymentIdentifier,
} from './payment-identifier.ts'

const NAME = 'order-2026-11-22-0001'
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A shop, and the official client with the official hook. */
async function open(...changes: Parameters<typeof officialShop>) {
  const shop = await officialShop(...changes)
  closing.push(shop.close)
  const namedBuyer = (id: string, payer?: string) =>
    officialBuyer(shop.ledger, payer).onBeforePaymentCreation(async ({ paymentRequired }) => {
      appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, id)
    })
  return { ...shop, namedBuyer }
}

describe('X17: the official client names its requests', () => {
  test('the challenge declares it without a schema, as the official guard reads it', async () => {
    const { buy, exchanges, namedBuyer } = await open()
    await buy(namedBuyer(NAME))
    const challenge = (await exchanges[0]?.response.json()) as { extensions: object }
    expect(challenge.extensions).toMatchObject({ [PAYMENT_IDENTIFIER]: PAYMENT_IDENTIFIER_OFFER })
    const declared = (challenge.extensions as Record<string, unknown>)[PAYMENT_IDENTIFIER]
    expect(isPaymentIdentifierExtension(declared)).toBe(true)
    expect(declared).toEqual({ info: declarePaymentIdentifierExtension().info })
  })

  test('the same name and body, newly signed: the kept answer and its settlement, unsettled', async () => {
    const { buy, exchanges, ledger, namedBuyer, runs } = await open()
    const first = await (await buy(namedBuyer(NAME))).json()
    const again = await buy(namedBuyer(NAME))
    expect([again.status, await again.json()]).toEqual([200, first])
    expect(exchanges[1]?.payment).not.toBe(exchanges[3]?.payment)
    const settlements = [1, 3].map((at) => {
      const text = exchanges[at]?.response.headers.get('payment-response') ?? ''
      return (decodeHeader(text) as unknown as { transaction: string }).transaction
    })
    expect(settlements[1]).toBe(settlements[0])
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
  })

  test('the exact payload again: the kept answer with its PAYMENT-RESPONSE, also long after it expired', async () => {
    const { buy, exchanges, ledger, namedBuyer, resend } = await open()
    const first = await (await buy(namedBuyer(NAME))).json()
    await ledger.clock.advanceMsSettled(3_600_000)
    const again = await resend(exchanges[1]?.payment ?? '')
    expect([again.status, await again.json()]).toEqual([200, first])
    expect(again.headers.get('payment-response')).not.toBeNull()
    expect(ledger.settlements).toBe(1)
  })

  test('the same name for another body is 409, and nothing is settled', async () => {
    const { buy, ledger, namedBuyer } = await open()
    await buy(namedBuyer(NAME))
    const other = await buy(namedBuyer(NAME), { pick: 2 })
    expect([other.status, await other.json()]).toEqual([409, { error: 'idempotency_key_reused' }])
    expect(ledger.settlements).toBe(1)
  })

  test('a name belongs to its route and its payer', async () => {
    const { buy, ledger, namedBuyer } = await open()
    await buy(namedBuyer(NAME))
    expect((await buy(namedBuyer(NAME), { pick: 2 }, '/api/audit')).status).toBe(200)
    expect((await buy(namedBuyer(NAME, OTHER_PAYER), { pick: 3 })).status).toBe(200)
    expect(ledger.settlements).toBe(3)
  })

  test('without the hook the official client echoes no name, and pays', async () => {
    const { buy, exchanges, ledger } = await open()
    expect((await buy(officialBuyer(ledger))).status).toBe(200)
    const envelope = decodeHeader(exchanges[1]?.payment ?? '') as never
    expect(extractPaymentIdentifier(envelope)).toBeNull()
  })

  test('a facilitator never hears a name', async () => {
    const { buy, ledger, namedBuyer } = await open()
    await buy(namedBuyer(NAME))
    expect(JSON.stringify(ledger.seen)).not.toContain(NAME)
  })

  test('a name under the key of a header is another record', async () => {
    const { ledger, send, terms } = keptAnswerFixture()
    const named = { ...terms, takesIdentifier: true } as const
    const envelope = decodeHeader(await ledger.pay(named))
    const extensions = { [PAYMENT_IDENTIFIER]: { info: { required: false, id: NAME } } }
    await send(encodeHeader({ ...envelope, extensions }))
    const keyed = await send(await ledger.pay(terms), {
      idempotencyKey: NAME,
      fingerprint: 'POST /api/grade b',
      subject: 'b',
    })
    expect(keyed.kind).toBe('paid')
  })
})

describe('X17: what is no name', () => {
  test.for(vectors.invalid)('refused before anything is verified: %s', async (id) => {
    const { exchanges, ledger, resend, buy } = await open()
    await buy(officialBuyer(ledger))
    const envelope = decodeHeader(exchanges[1]?.payment ?? '')
    const extensions = { [PAYMENT_IDENTIFIER]: { info: { required: false, id } } }
    const answer = await resend(encodeHeader({ ...envelope, extensions }))
    expect([answer.status, await answer.json()]).toMatchObject([
      402,
      { error: 'payment_identifier_invalid' },
    ])
    expect(() => namePayment({ [PAYMENT_IDENTIFIER]: PAYMENT_IDENTIFIER_OFFER }, id)).toThrow(
      RangeError,
    )
  })

  test('a seller that takes no names ignores them', async () => {
    const { buy, exchanges, ledger, resend } = await open({ takesIdentifier: undefined })
    await buy(officialBuyer(ledger))
    const envelope = decodeHeader(exchanges[1]?.payment ?? '')
    const extensions = { [PAYMENT_IDENTIFIER]: { info: { id: 'no' } } }
    expect((await resend(encodeHeader({ ...envelope, extensions }))).status).toBe(200)
  })
})

describe('X17: golden vectors', () => {
  test.for(vectors.valid)('%s is a name, here and to the official package', (id) => {
    const extensions = { [PAYMENT_IDENTIFIER]: { info: { required: true } } }
    const official = { [PAYMENT_IDENTIFIER]: { info: { required: true } } }
    expect(namePayment(extensions, id)).toBe(id)
    expect(extensions).toEqual(appendPaymentIdentifierToExtensions(official, id))
    expect(readPaymentIdentifier(extensions)).toEqual({ kind: 'named', id })
  })

  test('any text is a name here exactly if it is one there', () => {
    const made = namePayment({ [PAYMENT_IDENTIFIER]: PAYMENT_IDENTIFIER_OFFER })
    expect(isValidPaymentId(made ?? '')).toBe(true)
    assertProperty(
      property(string({ minLength: 10, maxLength: 140 }), (id) => {
        const sent = { [PAYMENT_IDENTIFIER]: { info: { id } } }
        const isNamed = readPaymentIdentifier(sent).kind === 'named'
        expect(isNamed).toBe(isValidPaymentId(id))
      }),
    )
  })
})
