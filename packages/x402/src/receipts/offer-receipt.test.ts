/** X18: what a shop signs, judged by the official client and verifier, unmodified, and by our own. */
import { hash } from 'node:crypto'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  type JWSSignedOffer,
  type JWSSignedReceipt,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
} from '@x402/extensions/offer-receipt'
import { afterEach, describe, expect, test } from 'vitest'
import vectors from '../../vectors/offer-receipt.json' with { type: 'json' }
import { NETWORK, PAYER } from '../testing/hedera-stand-in.fixture.ts'
import { officialBuyer, officialShop, SEED } from '../testing/official-shop.fixture.ts'
import { createReceiptIssuer } from './receipt-issuer.ts'
import { createReceiptVerifier } from './receipt-verifier.ts'
import {
  canonicalJson,
  offerSchema,
  readStatement,
  signStatement,
  statementKey,
} from './signed-statement.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Far longer than these tests take: the official check reads the machine's clock, the shop a stopped one. */
const ANY_AGE = 1e9

/** What the official client got for one purchase. */
async function bought() {
  const shop = await officialShop()
  closing.push(shop.close)
  await shop.buy(officialBuyer(shop.ledger))
  const [unpaid, paid] = shop.exchanges
  if (unpaid === undefined || paid === undefined) throw new Error('nothing was bought')
  const challenge = (await unpaid.response.json()) as PaymentRequired
  const header = paid.response.headers.get('payment-response') ?? ''
  const { ledger, url } = shop
  const verifier = createReceiptVerifier({ clock: ledger.clock })
  const settlement = decodePaymentResponseHeader(header)
  const [accepted] = challenge.accepts
  if (accepted === undefined) throw new Error('nothing is offered')
  const own = { calledUrl: `${url}/api/grade?x=1`, network: NETWORK, payers: [PAYER] }
  return { ...shop, accepted, challenge, own, response: paid.response, settlement, verifier }
}

describe('X18: the official verifier', () => {
  test('proves the offer of a challenge over its did:web, and finds what it offers', async () => {
    const { challenge } = await bought()
    const [offer] = extractOffersFromPaymentRequired(challenge)
    const statement = await verifyOfferSignatureJWS(offer as JWSSignedOffer)
    expect(statement).toMatchObject({ amount: '300000000', resourceUrl: challenge.resource?.url })
    const [decoded] = decodeSignedOffers(extractOffersFromPaymentRequired(challenge))
    if (decoded === undefined) throw new Error('no offer')
    expect(findAcceptsObjectFromSignedOffer(decoded, challenge.accepts)).toBe(challenge.accepts[0])
  })

  test('proves the receipt of a paid answer, which matches the offer and names the transaction', async () => {
    const { challenge, ledger, response } = await bought()
    const receipt = extractReceiptFromResponse(response)
    const statement = await verifyReceiptSignatureJWS(receipt as JWSSignedReceipt)
    expect(statement).toEqual({
      version: 1,
      network: NETWORK,
      resourceUrl: challenge.resource?.url,
      payer: PAYER,
      issuedAt: ledger.nowSeconds(),
      transaction: ledger.records[0]?.transactionId,
    })
    const [decoded] = decodeSignedOffers(extractOffersFromPaymentRequired(challenge))
    if (decoded === undefined || receipt === undefined) throw new Error('nothing was signed')
    expect(verifyReceiptMatchesOffer(receipt, decoded, [PAYER], ANY_AGE)).toBe(true)
  })

  test('a kept answer comes with a receipt for the payment that was settled', async () => {
    const { buy, exchanges, ledger, resend } = await bought()
    await ledger.clock.advanceMsSettled(60_000)
    const again = await resend(exchanges[1]?.payment ?? '')
    const receipt = extractReceiptFromResponse(again)
    const statement = await verifyReceiptSignatureJWS(receipt as JWSSignedReceipt)
    expect(statement).toMatchObject({
      transaction: ledger.records[0]?.transactionId,
      issuedAt: ledger.nowSeconds(),
    })
    expect((await buy(officialBuyer(ledger), { pick: 2 })).status).toBe(200)
  })

  test('a refused payment gets no receipt', async () => {
    const { buy, exchanges, ledger } = await bought()
    ledger.fault = { refusal: 'insufficient_funds' }
    await buy(officialBuyer(ledger), { pick: 2 })
    const refused = exchanges.at(-1)?.response
    expect(refused?.status).toBe(402)
    expect(extractReceiptFromResponse(refused as Response)).toBeUndefined()
  })
})

describe('X18: offers are signed per interval, not per challenge', () => {
  test('a challenge is the same bytes until half of its offers’ time is over', async () => {
    const { gate, ledger, termsFor } = await bought()
    const body = () => gate.challenge(termsFor('/api/grade'), 'payment_required').body
    const first = body()
    await ledger.clock.advanceMsSettled(299_000)
    expect(body()).toBe(first)
    await ledger.clock.advanceMsSettled(1_000)
    expect(body()).not.toBe(first)
  })
})

describe('X18: our verifier', () => {
  test('proves both', async () => {
    const { accepted, challenge, ledger, own, settlement, verifier } = await bought()
    const { calledUrl } = own
    expect(await verifier.offer(challenge, { accepted, calledUrl })).toMatchObject({
      kind: 'proven',
      statement: { amount: '300000000' },
    })
    const transaction = ledger.records[0]?.transactionId
    expect(await verifier.receipt(settlement, { ...own, transaction })).toMatchObject({
      kind: 'proven',
      statement: { payer: PAYER, transaction },
    })
  })

  test('proves which answer was given, by the SHA-256 of its body, beside the receipt', async () => {
    const { own, response, settlement, verifier } = await bought()
    const answerText = await response.text()
    expect(await verifier.answer(settlement, { ...own, answerText })).toMatchObject({
      kind: 'proven',
      statement: { answerSha256: hash('sha256', answerText), payer: PAYER },
    })
    const unproven = { kind: 'unproven', reason: 'contradicts' }
    const other = { ...own, answerText: `${answerText} ` }
    expect(await verifier.answer(settlement, other)).toMatchObject(unproven)
    const stranger = { ...own, answerText, payers: ['0.0.1'] }
    expect(await verifier.answer(settlement, stranger)).toMatchObject(unproven)
    const without = { ...settlement, extensions: {} }
    expect(await verifier.answer(without, { ...own, answerText })).toEqual({ kind: 'absent' })
  })

  test('none is absent', async () => {
    const { accepted, own, verifier } = await bought()
    const { calledUrl } = own
    expect(await verifier.offer({}, { accepted, calledUrl })).toEqual({ kind: 'absent' })
    expect(await verifier.receipt({ success: true }, own)).toEqual({ kind: 'absent' })
  })

  test.for([
    ['another payer', { payers: ['0.0.1'] }],
    ['another network', { network: 'hedera:mainnet' }],
    ['another transaction', { transaction: '0.0.1@1.000000001' }],
  ] as const)('a receipt of %s contradicts', async ([, changes]) => {
    const { own, settlement, verifier } = await bought()
    expect(await verifier.receipt(settlement, { ...own, ...changes })).toMatchObject({
      kind: 'unproven',
      reason: 'contradicts',
    })
  })

  test('a receipt of another path contradicts, one of another host is nobody’s', async () => {
    const { own, settlement, url, verifier } = await bought()
    const refusalReason = async (calledUrl: string) =>
      await verifier.receipt(settlement, { ...own, calledUrl })
    expect(await refusalReason(`${url}/api/audit`)).toMatchObject({ reason: 'contradicts' })
    expect(await refusalReason('https://other.example/api/grade')).toMatchObject({
      reason: 'another_host',
    })
  })

  test('an offer of another price contradicts, and so does one whose time is over', async () => {
    const { accepted, challenge, ledger, own, verifier } = await bought()
    const { calledUrl } = own
    const dearer = { ...accepted, amount: '300000001' }
    expect(await verifier.offer(challenge, { accepted: dearer, calledUrl })).toMatchObject({
      reason: 'contradicts',
    })
    await ledger.clock.advanceMsSettled(601_000)
    expect(await verifier.offer(challenge, { accepted, calledUrl })).toMatchObject({
      reason: 'contradicts',
    })
  })

  test('a statement by another key under the shop’s name is not its own', async () => {
    const { issuer, ledger, own, verifier } = await bought()
    const forged = createReceiptIssuer({
      baseUrl: own.calledUrl,
      privateKey: '08'.repeat(32),
      clock: ledger.clock,
    }).withReceipt(
      { success: true, transaction: '0.0.1@1.000000001', network: NETWORK },
      { payer: PAYER, resourceUrl: own.calledUrl },
    )
    expect(await verifier.receipt(forged, own)).toMatchObject({ reason: 'signature_invalid' })
    const renamed = createReceiptIssuer({
      baseUrl: own.calledUrl,
      privateKey: SEED,
      clock: ledger.clock,
      keyName: 'key-2',
    })
    const unknown = renamed.withReceipt(
      { success: true, transaction: '', network: NETWORK },
      { payer: PAYER, resourceUrl: own.calledUrl },
    )
    expect(await verifier.receipt(unknown, own)).toMatchObject({ reason: 'key_unknown' })
    expect(issuer.kid).not.toBe(renamed.kid)
  })

  test('while the document cannot be read nothing is proven, and nothing refuted', async () => {
    const { close, own, settlement, verifier } = await bought()
    closing.length = 0
    await close()
    expect(await verifier.receipt(settlement, own)).toMatchObject({ reason: 'key_unreachable' })
  })

  test.for(['', 'a.b', 'a.b.c', '..', 'e30.e30.e30'])('%s is unreadable', async (signature) => {
    const { own, verifier } = await bought()
    const extensions = { 'offer-receipt': { info: { receipt: { format: 'jws', signature } } } }
    expect(await verifier.receipt({ extensions }, own)).toMatchObject({ reason: 'unreadable' })
  })
})

describe('X18: golden vectors', () => {
  const key = statementKey(vectors.seed)
  const { canonical, signature, statement } = vectors.offer

  test('an offer is signed byte for byte as the official package signs it', () => {
    expect(key.x).toBe(vectors.x)
    expect(canonicalJson(statement)).toBe(canonical)
    const jws = signStatement(offerSchema.parse(statement), { key, kid: vectors.kid })
    const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: vectors.kid }))
    const parts = [header, Buffer.from(canonical)].map((part) => part.toString('base64url'))
    expect(jws).toBe([...parts, signature].join('.'))
    expect(readStatement(jws)).toMatchObject({ kid: vectors.kid, statement })
  })

  test.for(vectors.canonicalJson)('RFC 8785: $text', ({ text, value }) => {
    expect(canonicalJson(value)).toBe(text)
  })

  test('a replaced key stays in the document, so that its receipts can be checked', () => {
    const clock = { unixMs: () => 0 }
    const baseUrl = 'https://api.example.com:8443'
    const first = createReceiptIssuer({ baseUrl, privateKey: SEED, clock })
    const earlierKeys = [{ keyName: 'key-1', x: first.publicKey }]
    const second = createReceiptIssuer({
      baseUrl,
      privateKey: '08'.repeat(32),
      keyName: 'key-2',
      earlierKeys,
      clock,
    })
    expect(first.kid).toBe('did:web:api.example.com%3A8443#key-1')
    expect(second.didDocument.verificationMethod).toContainEqual(
      first.didDocument.verificationMethod[0],
    )
    expect(second.didDocument.assertionMethod).toEqual([second.kid, first.kid])
  })

  test('a seed that is none is refused without being shown', () => {
    expect(() => statementKey('secret')).toThrow('not an Ed25519 seed of 32 bytes in hex')
  })
})

describe('X18: what canonical JSON cannot hold', () => {
  test.for([[Number.NaN], ['\ud800'], [1n], [() => 1], [undefined]])('%s', ([value]) => {
    expect(() => canonicalJson([value])).toThrow(RangeError)
  })

  test('more levels than a caller needs', () => {
    let deep: unknown = 1
    for (let level = 0; level < 66; level += 1) deep = [deep]
    expect(() => canonicalJson(deep)).toThrow(RangeError)
  })
})
