import { describe, expect, test } from 'vitest'
import { RelayRefusal, RelayUnavailable } from './relay.ts'
import { sendTransaction } from './send-transaction.ts'

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
    ['Internal error', 'unclear'],
    ['<script nonce="r4nd0m">', 'unclear'],
  ])('%s', async (details, kind) => {
    expect((await sendTo(refusal(details))).kind).toBe(kind)
  })

  test('words of the client alone leave it open: the bytes may have arrived', async () => {
    expect((await sendTo(new Error('nonce too low'))).kind).toBe('unclear')
    expect((await sendTo(undefined)).kind).toBe('unclear')
  })

  test('a relay that was not reached has not looked at it', async () => {
    const unreached = new RelayUnavailable('refused', { nothingSent: true })
    expect((await sendTo(unreached)).kind).toBe('not-taken')
    expect((await sendTo(new RelayUnavailable('broken off'))).kind).toBe('unclear')
  })

  test.each([
    ['Nonce too low. Provided nonce: 3, current nonce: 7', 7],
    ['[Request ID: 1] Nonce too high. Provided nonce: 9, current nonce: 7', 7],
    ['nonce too low', undefined],
  ])('the nonce that it wants is read where it says one: %s', async (details, nextNonce) => {
    expect(await sendTo(refusal(details))).toMatchObject({ nextNonce })
  })
})
