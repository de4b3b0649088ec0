/**
 * The whole way of a payment on the X Layer stand-in over real HTTP: the official client, our gate, our facilitator and
 * a real EVM with a real token.
 */
import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { x402Client } from '@x402/core/client'
import { HTTPFacilitatorClient } from '@x402/core/http'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openXLayerWorld, post, type XLayerWorld } from '../testing/xlayer-world.ts'
import { NONCE_USED } from './judge-receipt.ts'

let world: XLayerWorld

beforeAll(async () => {
  world = await openXLayerWorld()
}, 60_000)

afterAll(async () => {
  await world.stop()
})

describe('X13: the official client, unmodified, on the X Layer stand-in', () => {
  test('pays a cent with its setSpendControls line and gets its grade', async () => {
    const shop = await world.openShop()
    const payer = world.account('agent-1')
    const before = await world.chain.controls.balanceOf(world.operator())
    const response = await wrapFetchWithPayment(fetch, world.official(payer))(shop.url, {
      method: 'POST',
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: 'eip155:196', payer: payer.address })
    expect(await world.chain.controls.balanceOf(world.operator())).toBe(before + 10_000n)
  })

  test('refuses the token without that line, before anything is signed', async () => {
    const shop = await world.openShop()
    const signer = evmSigner(world.account('agent-1'))
    const cautious = new x402Client().register('eip155:*', new ExactEvmClient({ signer }))
    const paying = wrapFetchWithPayment(fetch, cautious)(shop.url, { method: 'POST' })
    await expect(paying).rejects.toThrow(/spend/i)
  })

  test('an account of viem is a signer as it is', async () => {
    const shop = await world.openShop()
    const { privateKey } = world.account('agent-2')
    const client = world.official(world.account('agent-2'), privateKeyToAccount(privateKey))
    expect((await wrapFetchWithPayment(fetch, client)(shop.url, { method: 'POST' })).status).toBe(
      200,
    )
  })

  test('the standard facilitator client and /supported name both networks', async () => {
    const client = new HTTPFacilitatorClient({ url: world.facilitator.url })
    const { kinds, signers } = await client.getSupported()
    expect(kinds.map(({ network }) => network).toSorted()).toEqual(['eip155:196', 'hedera:testnet'])
    expect(signers['eip155:*']).toEqual([world.account('facilitator').address])
    const [payload, requirement] = await world.order(world.account('agent-3'))
    expect(await client.verify(payload, requirement)).toMatchObject({ isValid: true })
    expect(await client.settle(payload, requirement)).toMatchObject({ success: true })
  })
})

describe('X7: one payment, one effect', () => {
  test('50 identical requests at once are one transaction, one grade and 50 equal answers', async () => {
    const shop = await world.openShop()
    const header = await shop.sign(world.account('agent-4'))
    const [paidBefore, sentBefore] = [
      await world.chain.controls.balanceOf(world.operator()),
      await world.sentCount(),
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
    expect(await world.chain.controls.balanceOf(world.operator())).toBe(paidBefore + 10_000n)
    expect(await world.sentCount()).toBe(sentBefore + 1)
  })

  test('50 settlements of one payment at the facilitator at once are one transaction', async () => {
    const client = new HTTPFacilitatorClient({ url: world.facilitator.url })
    const [payload, requirement] = await world.order(world.account('agent-4'))
    const sentBefore = await world.sentCount()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.settle(payload, requirement)),
    )
    expect(await world.sentCount()).toBe(sentBefore + 1)
    expect(answers.filter(({ success }) => success).length).toBeGreaterThan(0)
    const reasons = new Set(answers.map(({ errorReason }) => errorReason ?? 'settled'))
    reasons.delete('settled')
    expect([...reasons].every((reason) => reason === NONCE_USED.reason)).toBe(true)
  })

  test('replay: the same payment for something else is refused, for another shop too', async () => {
    const [shop, other] = [await world.openShop(), await world.openShop()]
    const header = await shop.sign(world.account('agent-5'))
    expect((await post(shop.url, header)).status).toBe(200)
    const sentBefore = await world.sentCount()
    const refusal = await post(other.url, header)
    expect(refusal.status).toBe(402)
    expect(await refusal.json()).toMatchObject({ error: 'payment_already_used' })
    expect(other.runs).toEqual({ prepared: 0, fulfilled: 0 })
    expect(await world.sentCount()).toBe(sentBefore)
  })

  test('40 different payments at once are all settled, in order of nonces', async () => {
    const client = new HTTPFacilitatorClient({ url: world.facilitator.url })
    const orders = await Promise.all(
      Array.from({ length: 40 }, () => world.order(world.account('agent-6'))),
    )
    const answers = await Promise.all(orders.map((one) => client.settle(...one)))
    expect(answers.map(({ success }) => success)).toEqual(orders.map(() => true))
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBe(40)
  })
})

describe('X10: front-run', () => {
  test('paid but denied: somebody else submits the authorization first; it is honoured, once', async () => {
    const shop = await world.openShop({
      beforeSettle: (payload) => world.submitAsStranger(payload),
    })
    const header = await shop.sign(world.account('agent-7'))
    const response = await post(shop.url, header)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    expect((await post(shop.url, header)).status).toBe(200)
    expect(shop.runs.fulfilled).toBe(1)
  })

  test('submitted by somebody else before it came to us: payment_already_used', async () => {
    const shop = await world.openShop()
    const [payload] = await world.order(world.account('agent-7'))
    await world.submitAsStranger(payload.payload)
    const refusal = await post(shop.url, shop.wrap(payload.payload))
    expect(refusal.status).toBe(402)
    expect(await refusal.json()).toMatchObject({ error: 'payment_already_used' })
  })
})

test('a payer without the money costs the seller no work: 402, nothing prepared and nothing sent', async () => {
  const shop = await world.openShop()
  const poor = { ...world.account('agent-1'), privateKey: `0x${'77'.repeat(32)}` as const }
  const sentBefore = await world.sentCount()
  const response = await post(shop.url, await shop.sign(poor))
  expect(response.status).toBe(402)
  expect(await response.json()).toMatchObject({ error: 'insufficient_funds' })
  expect(shop.runs).toEqual({ prepared: 0, fulfilled: 0 })
  expect(await world.sentCount()).toBe(sentBefore)
})
