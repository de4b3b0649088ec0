/**
 * A payment from end to end on the X Layer stand-in over real HTTP: the official client, our gate, our facilitator and a
 * real EVM with a real token.
 */
import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { x402Client } from '@x402/core/client'
import { HTTPFacilitatorClient } from '@x402/core/http'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { post, startXLayerFixture, type XLayerFixture } from '../testing/xlayer.fixture.ts'
import { NONCE_USED } from './exact-evm.ts'

let fixture: XLayerFixture

beforeAll(async () => {
  fixture = await startXLayerFixture()
})

afterAll(async () => {
  await fixture.stop()
})

describe('X13: the official client, unmodified, on the X Layer stand-in', () => {
  test('pays a cent with its setSpendControls line and gets its grade', async () => {
    const shop = await fixture.openShop()
    const payer = fixture.account('agent-1')
    const before = await fixture.chain.controls.balanceOf(fixture.operator())
    const response = await wrapFetchWithPayment(fetch, fixture.official(payer))(shop.url, {
      method: 'POST',
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: 'eip155:196', payer: payer.address })
    expect(await fixture.chain.controls.balanceOf(fixture.operator())).toBe(before + 10_000n)
  })

  test('refuses the token without that line, before anything is signed', async () => {
    const shop = await fixture.openShop()
    const signer = evmSigner(fixture.account('agent-1'))
    const cautious = new x402Client().register('eip155:*', new ExactEvmClient({ signer }))
    const paying = wrapFetchWithPayment(fetch, cautious)(shop.url, { method: 'POST' })
    await expect(paying).rejects.toThrow(/spend/i)
  })

  test('a viem account works as a signer unchanged', async () => {
    const shop = await fixture.openShop()
    const { privateKey } = fixture.account('agent-2')
    const client = fixture.official(fixture.account('agent-2'), privateKeyToAccount(privateKey))
    expect((await wrapFetchWithPayment(fetch, client)(shop.url, { method: 'POST' })).status).toBe(
      200,
    )
  })

  test('the standard facilitator client and /supported name both networks', async () => {
    const client = new HTTPFacilitatorClient({ url: fixture.facilitator.url })
    const { kinds, signers } = await client.getSupported()
    expect(kinds.map(({ network }) => network).toSorted()).toEqual(['eip155:196', 'hedera:testnet'])
    expect(signers['eip155:*']).toEqual([fixture.account('facilitator').address])
    const [payload, requirement] = await fixture.order(fixture.account('agent-3'))
    expect(await client.verify(payload, requirement)).toMatchObject({ isValid: true })
    expect(await client.settle(payload, requirement)).toMatchObject({ success: true })
  })
})

describe('X7: one payment, one effect', () => {
  test('50 identical requests at once are one transaction, one grade and 50 equal answers', async () => {
    const shop = await fixture.openShop()
    const header = await shop.sign(fixture.account('agent-4'))
    const [paidBefore, sentBefore] = [
      await fixture.chain.controls.balanceOf(fixture.operator()),
      await fixture.sentCount(),
    ]
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await post(shop.url, header)
        return { status: response.status, body: await response.text() }
      }),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(shop.runs).toEqual({ prepared: 1, fulfilled: 1 })
    expect(await fixture.chain.controls.balanceOf(fixture.operator())).toBe(paidBefore + 10_000n)
    expect(await fixture.sentCount()).toBe(sentBefore + 1)
  })

  test('hostile_client P1, one settlement: 50 concurrent settlements of one payment are one transaction', async () => {
    const client = new HTTPFacilitatorClient({ url: fixture.facilitator.url })
    const [payload, requirement] = await fixture.order(fixture.account('agent-4'))
    const sentBefore = await fixture.sentCount()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.settle(payload, requirement)),
    )
    expect(await fixture.sentCount()).toBe(sentBefore + 1)
    expect(answers.filter(({ success }) => success).length).toBeGreaterThan(0)
    const reasons = new Set(answers.map(({ errorReason }) => errorReason ?? 'settled'))
    reasons.delete('settled')
    expect([...reasons].every((reason) => reason === NONCE_USED.reason)).toBe(true)
  })

  test('replay: the same payment is refused for something else, and at another shop', async () => {
    const [shop, other] = [await fixture.openShop(), await fixture.openShop()]
    const header = await shop.sign(fixture.account('agent-5'))
    expect((await post(shop.url, header)).status).toBe(200)
    const sentBefore = await fixture.sentCount()
    const refusal = await post(other.url, header)
    expect(refusal.status).toBe(402)
    expect(await refusal.json()).toMatchObject({ error: 'payment_already_used' })
    expect(other.runs).toEqual({ prepared: 0, fulfilled: 0 })
    expect(await fixture.sentCount()).toBe(sentBefore)
  })

  test('40 different payments at once are all settled, in nonce order', async () => {
    const client = new HTTPFacilitatorClient({ url: fixture.facilitator.url })
    const orders = await Promise.all(
      Array.from({ length: 40 }, () => fixture.order(fixture.account('agent-6'))),
    )
    const answers = await Promise.all(orders.map((order) => client.settle(...order)))
    expect(answers.map(({ success }) => success)).toEqual(orders.map(() => true))
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBe(40)
  })
})

describe('X10: front-run', () => {
  test('paid but denied: somebody else submits the authorization first; it is honoured, once', async () => {
    const shop = await fixture.openShop({
      beforeSettle: (payload) => fixture.submitAsStranger(payload),
    })
    const header = await shop.sign(fixture.account('agent-7'))
    const response = await post(shop.url, header)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    expect((await post(shop.url, header)).status).toBe(200)
    expect(shop.runs.fulfilled).toBe(1)
  })

  test('submitted by somebody else before it reached us: payment_already_used', async () => {
    const shop = await fixture.openShop()
    const [payload] = await fixture.order(fixture.account('agent-7'))
    await fixture.submitAsStranger(payload.payload)
    const refusal = await post(shop.url, shop.wrap(payload.payload))
    expect(refusal.status).toBe(402)
    expect(await refusal.json()).toMatchObject({ error: 'payment_already_used' })
  })
})

test('a payer without the money costs the seller no work: 402, nothing prepared or sent', async () => {
  const shop = await fixture.openShop()
  const poor = { ...fixture.account('agent-1'), privateKey: `0x${'77'.repeat(32)}` as const }
  const sentBefore = await fixture.sentCount()
  const response = await post(shop.url, await shop.sign(poor))
  expect(response.status).toBe(402)
  expect(await response.json()).toMatchObject({ error: 'insufficient_funds' })
  expect(shop.runs).toEqual({ prepared: 0, fulfilled: 0 })
  expect(await fixture.sentCount()).toBe(sentBefore)
})
