import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { developmentPayer } from './development-key.ts'
import { announcedOffer, payRequest, readSettlement } from './pay-request.ts'

const asset = '0x779Ded0c9e1022225f8E0630b35a9b54bE713736'
const offer = {
  scheme: 'exact',
  network: 'eip155:196' as const,
  amount: '10000',
  asset,
  payTo: '0x1111111111111111111111111111111111111111',
  maxTimeoutSeconds: 300,
  extra: { name: 'USD₮0', version: '1', paymentFlow: 'upfront' },
}
const challenge = {
  x402Version: 2,
  error: 'payment_required',
  resource: { url: 'u' },
  accepts: [offer],
}
const terms = { network: 'eip155:196', asset: asset.toLowerCase(), amount: '10000' }
const unpaid = () => Response.json(challenge, { status: 402 })
const pending = () =>
  Response.json({ error: 'payment_pending' }, { status: 502, headers: { 'retry-after': '3' } })
const paid = () => Response.json({ outcome: 'GRADED' })

let answers: (() => Response)[]
let sent: Headers[]
let signatures = 0
beforeEach(() => {
  sent = []
  signatures = 0
  vi.stubGlobal('fetch', async (_path: string, init: RequestInit) => {
    sent.push(new Headers(init.headers))
    const next = answers.shift()
    if (next === undefined) throw new TypeError('cut')
    return next()
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
})

const key = developmentPayer(`0x${'01'.repeat(32)}`)
const pauses: number[] = []
const call = {
  path: '/api/grade',
  body: { pick: {} },
  payer: {
    address: key.address,
    signTypedData: (...by: Parameters<typeof key.signTypedData>) => {
      signatures += 1
      return key.signTypedData(...by)
    },
  },
  terms,
  onStep: () => {},
  pause: async (seconds: number) => void pauses.push(seconds),
}
const payments = () => sent.map((headers) => headers.get('payment-signature'))

describe('malformed input costs nothing', () => {
  it('is found before anything is signed', async () => {
    answers = [() => Response.json({ error: 'invalid_request', issues: [] }, { status: 400 })]
    expect(await payRequest(call)).toEqual({ kind: 'invalid', issues: [] })
    expect([signatures, payments()]).toEqual([0, [null]])
  })

  it('terms that the page did not show are not signed', async () => {
    answers = [unpaid]
    const cheap = { ...call, terms: { ...terms, amount: '9999' } }
    expect(await payRequest(cheap)).toEqual({ kind: 'other_terms' })
    expect(signatures).toBe(0)
  })
})

describe('one payment, whatever the network does', () => {
  it('while it is pending, the same payment is sent again and no new one is signed', async () => {
    answers = [unpaid, pending, pending, paid]
    pauses.length = 0
    expect(await payRequest(call)).toMatchObject({ kind: 'answer', answer: { outcome: 'GRADED' } })
    expect(signatures).toBe(1)
    expect(new Set(payments().slice(1)).size).toBe(1)
    expect(pauses).toEqual([3, 3])
  })

  it('after a lost connection the same payment can be sent again', async () => {
    answers = [unpaid]
    const ended = await payRequest(call)
    if (ended.kind !== 'unanswered') throw new Error(ended.kind)
    answers = [paid]
    expect(await ended.again()).toMatchObject({ kind: 'answer' })
    expect(signatures).toBe(1)
    expect(new Set(payments().slice(1)).size).toBe(1)
  })

  it('a refusal is the end of it', async () => {
    answers = [unpaid, () => Response.json({ error: 'insufficient_funds' }, { status: 402 })]
    expect(await payRequest(call)).toEqual({ kind: 'refused', error: 'insufficient_funds' })
    expect(sent).toHaveLength(2)
  })

  it('a declined signature sends nothing', async () => {
    answers = [unpaid]
    const error = { code: 4001 }
    const payer = { ...call.payer, signTypedData: () => Promise.reject(error) }
    expect(await payRequest({ ...call, payer })).toEqual({ kind: 'not_signed', error })
    expect(sent).toHaveLength(1)
  })
})

describe('nobody signs away more than they were shown', () => {
  it('the announced offer is taken, whatever the case of its address', () => {
    expect(announcedOffer(challenge, terms)).toBe(offer)
  })

  it.each([
    ['a dearer price', { amount: '10001' }],
    ['another token', { asset: '0x2222222222222222222222222222222222222222' }],
    ['another network', { network: 'eip155:1' as const }],
    ['another scheme', { scheme: 'upto' }],
    ['an amount that is no number', { amount: '1e4' }],
    ['nobody to pay', { payTo: 'me' }],
    ['no signing domain', { extra: {} }],
  ])('%s is not', (_name, change) => {
    expect(
      announcedOffer({ ...challenge, accepts: [{ ...offer, ...change }] }, terms),
    ).toBeUndefined()
  })
})

describe('a payment', () => {
  it('is one transfer of the price, valid by the service’s clock, in base64 of UTF-8 with the offer as it came', async () => {
    const date = new Date(1_700_000_000_000).toUTCString()
    answers = [() => Response.json(challenge, { status: 402, headers: { date } }), paid]
    await payRequest(call)
    const header = sent[1]?.get('payment-signature') ?? ''
    expect(JSON.parse(Buffer.from(header, 'base64').toString('utf8'))).toEqual({
      x402Version: 2,
      resource: { url: 'u' },
      accepted: offer,
      payload: {
        authorization: {
          from: key.address,
          to: offer.payTo,
          value: '10000',
          validAfter: '0',
          validBefore: '1700000300',
          nonce: sent[1]?.get('idempotency-key'),
        },
        signature: expect.stringMatching(/^0x[0-9a-f]{130}$/),
      },
    })
  })

  it('comes back as a settlement', () => {
    const settled = { success: true, transaction: '0x1', note: '₮' }
    const header = Buffer.from(JSON.stringify(settled)).toString('base64')
    expect(readSettlement(header)).toEqual(settled)
    expect(readSettlement(null)).toBeUndefined()
  })
})
