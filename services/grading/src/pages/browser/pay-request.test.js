import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { developmentPayer } from './development-key.js'
import { payRequest } from './pay-request.js'

const asset = '0x779Ded0c9e1022225f8E0630b35a9b54bE713736'
const challenge = {
  x402Version: 2,
  error: 'payment_required',
  resource: { url: 'u' },
  accepts: [
    {
      scheme: 'exact',
      network: 'eip155:196',
      amount: '10000',
      asset,
      payTo: '0x1111111111111111111111111111111111111111',
      maxTimeoutSeconds: 300,
      extra: { name: 'USD₮0', version: '1' },
    },
  ],
}
const unpaid = () => Response.json(challenge, { status: 402 })
const pending = () =>
  Response.json({ error: 'payment_pending' }, { status: 502, headers: { 'retry-after': '3' } })
const paid = () => Response.json({ outcome: 'GRADED' })

/** @type {(() => Response)[]} */
let answers
/** @type {Headers[]} */
let sent
let signatures = 0
beforeEach(() => {
  sent = []
  signatures = 0
  vi.stubGlobal('fetch', async (/** @type {string} */ _path, /** @type {RequestInit} */ init) => {
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
/** @type {number[]} */
const pauses = []
const call = {
  path: '/api/grade',
  body: { pick: {} },
  payer: {
    address: key.address,
    sign: (/** @type {Parameters<typeof key.sign>} */ ...by) => {
      signatures += 1
      return key.sign(...by)
    },
  },
  terms: { network: 'eip155:196', asset, amount: '10000' },
  onStep: () => {},
  pause: async (/** @type {number} */ seconds) => void pauses.push(seconds),
}
const payments = () => sent.map((headers) => headers.get('payment-signature'))

describe('what is malformed costs nothing', () => {
  it('is found before anything is signed', async () => {
    answers = [() => Response.json({ error: 'invalid_request', issues: [] }, { status: 400 })]
    expect(await payRequest(call)).toEqual({ kind: 'invalid', issues: [] })
    expect([signatures, payments()]).toEqual([0, [null]])
  })

  it('nor do terms that the page did not show', async () => {
    answers = [unpaid]
    const cheap = { ...call, terms: { ...call.terms, amount: '9999' } }
    expect(await payRequest(cheap)).toEqual({ kind: 'other_terms' })
    expect(signatures).toBe(0)
  })
})

describe('one payment, whatever the network does', () => {
  it('while it is pending, the same payment is sent again and none is signed', async () => {
    answers = [unpaid, pending, pending, paid]
    pauses.length = 0
    expect(await payRequest(call)).toMatchObject({ kind: 'answer', answer: { outcome: 'GRADED' } })
    expect(signatures).toBe(1)
    expect(new Set(payments().slice(1)).size).toBe(1)
    expect(pauses).toEqual([3, 3])
  })

  it('a connection that stays cut can be asked after again with the same payment', async () => {
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
    const payer = { ...call.payer, sign: () => Promise.reject(error) }
    expect(await payRequest({ ...call, payer })).toEqual({ kind: 'not_signed', error })
    expect(sent).toHaveLength(1)
  })
})
