/** X25 from end to end on a local ledger: the official client, our gate, our facilitator and tokens with their associations and fees. */
import { CustomFixedFee, CustomFractionalFee, FeeAssessmentMethod, Hbar } from '@hiero-ledger/sdk'
import { checkHederaToken } from '@tallystick/x402/hedera'
import { x402Client } from '@x402/core/client'
import type { PaymentRequirements } from '@x402/core/types'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type DollarFixture,
  official,
  ourScheme,
  referenceScheme,
  startDollarMarket,
} from '../testing/dollar-shop.fixture.ts'

let fixture: DollarFixture
let dollars: Awaited<ReturnType<DollarFixture['createToken']>>
let buyer: Awaited<ReturnType<DollarFixture['open']>>
let seller: typeof buyer

beforeAll(async () => {
  ;({ fixture, dollars, buyer, seller } = await startDollarMarket())
})

afterAll(() => fixture.stop())

type Sale = {
  readonly token?: typeof dollars
  readonly from?: typeof buyer
  readonly to?: typeof buyer
  readonly pays?: typeof ourScheme
}

/** Buys at a shop, and has the facilitator settle the same by itself. */
async function tryBoth(sale: Sale) {
  const bought = await buy(sale)
  const { token = dollars, from = buyer, to = seller } = sale
  const { cent } = await fixture.sell(token, to)
  const accepted = cent as PaymentRequirements
  const { payload } = await ourScheme(from).createPaymentPayload(2, accepted)
  const settled = await fixture.settle({ x402Version: 2, accepted, payload })
  return { ...bought, settled }
}

/** Buys at a shop of its own: the answer, and what moved. */
async function buy({ token = dollars, from = buyer, to = seller, pays = ourScheme }: Sale) {
  const shop = await fixture.sell(token, to)
  const readBalances = async () => ({
    buyer: (await fixture.balance(token.id, from)) ?? 0n,
    seller: (await fixture.balance(token.id, to)) ?? 0n,
    feePayer: (await fixture.balance('0.0.0', fixture.feePayer)) ?? 0n,
  })
  const before = await readBalances()
  const paying = wrapFetchWithPayment(fetch, official(token, pays(from)))
  const response = await paying(shop.url, { method: 'POST' })
  const after = await readBalances()
  const body = (await response.json()) as { error?: string; grade?: string }
  return {
    status: response.status,
    answer: body.error ?? body.grade,
    settlement: response.headers.get('payment-response'),
    moved: { buyer: after.buyer - before.buyer, seller: after.seller - before.seller },
    feeTinybar: before.feePayer - after.feePayer,
    runs: shop.runs,
  }
}

const refused = (reason: string) => ({
  status: 402,
  answer: reason,
  moved: NOTHING,
  feeTinybar: 0n,
  runs: { prepared: 0, fulfilled: 0 },
  settled: { success: false, errorReason: reason, transaction: '' },
})

const at = (name: string) => `invalid_exact_hedera_payload_${name}`

const CENT = { buyer: -10_000n, seller: 10_000n }
const NOTHING = { buyer: 0n, seller: 0n }

describe('X25: a shop that sells for a dollar token', () => {
  test.each([
    ['our client', ourScheme],
    ['the reference client’s wire form', referenceScheme],
  ])('is paid by %s through the official one, and its buyer pays no HBAR', async (_name, pays) => {
    const hbar = await fixture.balance('0.0.0', buyer)
    const sale = await buy({ pays })
    expect(sale).toMatchObject({ status: 200, answer: 'A', moved: CENT, runs: { fulfilled: 1 } })
    expect(decodePaymentResponseHeader(sale.settlement ?? '')).toMatchObject({
      success: true,
      network: 'hedera:testnet',
      payer: buyer.accountId,
      amount: '10000',
    })
    expect(await fixture.balance('0.0.0', buyer)).toBe(hbar)
    expect(sale.feeTinybar).toBeGreaterThan(0n)
  })

  test('the official client’s cap is in the token: a cent is not allowed by HBAR, nor by half a cent', async () => {
    const shop = await fixture.sell(dollars, seller)
    const allowed = [
      { network: 'hedera:testnet', asset: '0.0.0', maxAmountPerPayment: '1000000000' },
      { network: 'hedera:testnet', asset: dollars.id, maxAmountPerPayment: '5000' },
    ] as const
    for (const asset of allowed) {
      const client = new x402Client()
        .setSpendControls({ allowedAssets: [asset] })
        .register('hedera:*', ourScheme(buyer))
      const paying = wrapFetchWithPayment(fetch, client)(shop.url, { method: 'POST' })
      await expect(paying).rejects.toThrow(/spend/i)
    }
    expect(shop.runs).toEqual({ prepared: 0, fulfilled: 0 })
  })

  test('asks the ledger at start whether it can be paid, and in which units', async () => {
    const check = async (decimals: number, { accountId: payTo } = seller) =>
      await checkHederaToken({ token: { ...dollars, decimals }, payTo }, fixture.mirror)
    expect(await check(6)).toEqual({ kind: 'right' })
    expect(await check(2)).toEqual({ kind: 'wrong_decimals', decimals: 6 })
    const reason = at('pay_to_not_associated')
    expect(await check(6, await fixture.open(0))).toEqual({ kind: 'unpayable', reason })
  })

  test('one payment has one effect: it buys nothing else, and lands once', async () => {
    const shop = await fixture.sell(dollars, seller)
    const cent = shop.cent as PaymentRequirements
    const { payload } = await ourScheme(buyer).createPaymentPayload(2, cent)
    const header = { 'payment-signature': shop.wrap(payload) }
    const before = await fixture.balance(dollars.id, seller)
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => fetch(shop.url, { method: 'POST', headers: header })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(shop.runs).toEqual({ prepared: 1, fulfilled: 1 })
    expect(await fixture.balance(dollars.id, seller)).toBe((before ?? 0n) + 10_000n)
  })
})

describe('X25: what would fail or fall short is refused before anything is done or signed', () => {
  test('a payTo that is not associated, and takes nothing unasked', async () => {
    const to = await fixture.open(0)
    expect(await tryBoth({ to })).toMatchObject(refused(at('pay_to_not_associated')))
  })

  test('a payTo whose automatic associations are used up; one that is left is used', async () => {
    const to = await fixture.open(1)
    const other = await fixture.createToken()
    await fixture.fund(other, buyer)
    expect(await buy({ to, token: other })).toMatchObject({ status: 200, moved: CENT })
    expect(await tryBoth({ to })).toMatchObject(refused(at('pay_to_not_associated')))
  })

  test('a payer who holds less than the amount, or none', async () => {
    const from = await fixture.open(-1)
    expect(await tryBoth({ from })).toMatchObject(refused('insufficient_funds'))
    await fixture.fund(dollars, from, 9_999)
    expect(await tryBoth({ from })).toMatchObject(refused('insufficient_funds'))
  })

  test('a token that nobody issued', async () => {
    const token = { network: 'hedera:testnet', id: '0.0.99999', decimals: 6 }
    expect(await tryBoth({ token })).toMatchObject(refused('invalid_asset'))
  })

  test('a custom fee that is taken from what payTo gets', async () => {
    const collector = await fixture.open(-1)
    const fee = new CustomFractionalFee().setNumerator(1).setDenominator(10)
    const token = await fixture.createToken([fee], collector)
    const to = await fixture.open(-1)
    await fixture.fund(token, buyer)
    expect(await tryBoth({ token, to })).toMatchObject(refused(at('token_takes_fee')))
    // Who collects a fraction does not pay it.
    expect(await buy({ token, to: collector })).toMatchObject({ status: 200, moved: CENT })
  })
})

test.each(['a token', 'HBAR'])(
  'X14: a balance of %s for one payment sends one to consensus, however many arrive at once',
  async (kind) => {
    const from = await fixture.open(-1)
    await fixture.fund(dollars, from, 10_000)
    const { cent } = await fixture.sell(dollars, seller)
    const hbar = { ...cent, asset: '0.0.0', amount: '700000000' }
    const accepted = (kind === 'HBAR' ? hbar : cent) as PaymentRequirements
    const payloads = await Promise.all(
      Array.from({ length: 8 }, () => ourScheme(from).createPaymentPayload(2, accepted)),
    )
    const settled = await Promise.all(
      payloads.map(({ payload }) => fixture.settle({ x402Version: 2, accepted, payload })),
    )
    const reasons = settled.map(({ errorReason = 'settled' }) => errorReason)
    expect(reasons.toSorted()).toEqual([...Array(7).fill('insufficient_funds'), 'settled'])
  },
)

describe('X25: custom fees that the payer pays besides', () => {
  test('a fraction: payTo gets the amount', async () => {
    const collector = await fixture.open(-1)
    const fee = new CustomFractionalFee().setNumerator(1).setDenominator(10)
    fee.setAssessmentMethod(FeeAssessmentMethod.Exclusive)
    const token = await fixture.createToken([fee], collector)
    const to = await fixture.open(-1)
    await fixture.fund(token, buyer)
    const moved = { buyer: -11_000n, seller: 10_000n }
    expect(await buy({ token, to })).toMatchObject({ status: 200, moved })
  })

  test('HBAR: payTo gets the amount', async () => {
    const collector = await fixture.open(-1)
    const fee = new CustomFixedFee().setHbarAmount(new Hbar(1))
    const token = await fixture.createToken([fee], collector)
    const to = await fixture.open(-1)
    await fixture.fund(token, buyer)
    const before = await fixture.balance('0.0.0', collector)
    expect(await buy({ token, to })).toMatchObject({ status: 200, moved: CENT })
    expect(await fixture.balance('0.0.0', collector)).toBe((before ?? 0n) + 100_000_000n)
  })
})
