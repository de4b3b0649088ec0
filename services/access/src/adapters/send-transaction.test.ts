import { describe, expect, test } from 'vitest'
import { RelayRefusal, RelayUnavailable, sendTransaction } from './relay.ts'

const refusal = (details: string): Error => new RelayRefusal(details, undefined)

const sendTo = (failure: unknown) =>
  sendTransaction({ send: () => Promise.reject(failure) }, { rawTransaction: '0x' })

describe('what a ledger says to a transaction', () => {
  test.each([
    ['already known', 'accepted'],
    ['DUPLICATE_TRANSACTION', 'accepted'],
    ['Nonce too low. Provided nonce: 3, current nonce: 7', 'nonce-too-low'],
    ['Nonce too high. Provided nonce: 9, current nonce: 7', 'nonce-too-high'],
    ['WRONG_NONCE', 'wrong-nonce'],
    ["Gas price '1' is below configured minimum gas price '109'", 'gas-price-too-low'],
    ['INSUFFICIENT_TX_FEE', 'gas-price-too-low'],
    ['transaction underpriced', 'gas-price-too-low'],
    ['Insufficient funds for transfer', 'insufficient-funds'],
    ['INSUFFICIENT_PAYER_BALANCE', 'insufficient-funds'],
    ['IP Rate limit exceeded on eth_sendRawTransaction', 'not-taken'],
  ])('%s', async (details, kind) => {
    expect((await sendTo(refusal(details))).kind).toBe(kind)
  })

  test.each([
    refusal('Internal error'),
    refusal('<script nonce="r4nd0m">'),
    new Error('nonce too low'),
    undefined,
  ])(
    'other words, and those of the client, leave it open: the bytes may have arrived (%s)',
    async (failure) => {
      await expect(sendTo(failure)).rejects.toBe(failure)
    },
  )

  test('a relay that was not reached has not looked at it', async () => {
    const unreached = new RelayUnavailable('refused', { nothingSent: true })
    expect((await sendTo(unreached)).kind).toBe('not-taken')
    const broken = new RelayUnavailable('broken off')
    await expect(sendTo(broken)).rejects.toBe(broken)
  })

  test.each([
    ['Nonce too low. Provided nonce: 3, current nonce: 7', 7],
    ['[Request ID: 1] Nonce too high. Provided nonce: 9, current nonce: 7', 7],
    ['nonce too low', undefined],
  ])('the nonce that it wants is read where it says one: %s', async (details, nextNonce) => {
    expect(await sendTo(refusal(details))).toMatchObject({ nextNonce })
  })
})
