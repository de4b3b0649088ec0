import { describe, expect, it } from 'vitest'
import { announcedOffer, paymentHeader, readSettlement, transferFor } from './challenge.js'

const asset = '0x779Ded0c9e1022225f8E0630b35a9b54bE713736'
const offer = {
  scheme: 'exact',
  network: 'eip155:196',
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

describe('nobody signs away more than they were shown', () => {
  it('the announced offer is taken, whatever the case of its address', () => {
    expect(announcedOffer(challenge, terms)).toBe(offer)
  })

  it.each([
    ['a dearer price', { amount: '10001' }],
    ['another token', { asset: '0x2222222222222222222222222222222222222222' }],
    ['another network', { network: 'eip155:1' }],
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
  const nonce = `0x${'ab'.repeat(32)}`
  const { domain, message } = transferFor(offer, { from: '0xa', nowSeconds: 1_000.7, nonce })

  it('is one transfer of the price, valid as long as the challenge says', () => {
    expect(domain).toEqual({ name: 'USD₮0', version: '1', chainId: 196, verifyingContract: asset })
    expect(message).toEqual({
      from: '0xa',
      to: offer.payTo,
      value: '10000',
      validAfter: '0',
      validBefore: '1300',
      nonce,
    })
  })

  it('goes out as base64 of UTF-8 with the offer as it came', () => {
    const header = paymentHeader({ challenge, offer, authorization: message, signature: '0x00' })
    expect(JSON.parse(Buffer.from(header, 'base64').toString('utf8'))).toEqual({
      x402Version: 2,
      resource: { url: 'u' },
      accepted: offer,
      payload: { authorization: message, signature: '0x00' },
    })
  })

  it('comes back as a settlement', () => {
    const settled = { success: true, transaction: '0x1', note: '₮' }
    const header = Buffer.from(JSON.stringify(settled)).toString('base64')
    expect(readSettlement(header)).toEqual(settled)
    expect(readSettlement(null)).toBeUndefined()
  })
})
