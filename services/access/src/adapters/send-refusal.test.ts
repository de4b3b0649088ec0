import { describe, expect, test } from 'vitest'
import { RelayRefusal, RelayUnavailable } from './relay.ts'
import { expectedNonce, sendRefusal } from './send-refusal.ts'

const said = (details: string): Error => new RelayRefusal(details, undefined)

describe('what a ledger says to a transaction', () => {
  test.each([
    ['already known', 'already-known'],
    ['DUPLICATE_TRANSACTION', 'already-known'],
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
  ])('%s', (details, refusal) => {
    expect(sendRefusal(said(details))).toBe(refusal)
  })

  test('words of the client alone leave it open: the bytes may have arrived', () => {
    expect(sendRefusal(new Error('nonce too low'))).toBe('unclear')
    expect(sendRefusal(undefined)).toBe('unclear')
  })

  test('a relay that was not reached has not looked at it', () => {
    expect(sendRefusal(new RelayUnavailable('refused', { nothingSent: true }))).toBe('not-taken')
    expect(sendRefusal(new RelayUnavailable('broken off'))).toBe('unclear')
  })

  test('the nonce that it wants is read where it says one', () => {
    expect(expectedNonce(said('Nonce too low. Provided nonce: 3, current nonce: 7'))).toBe(7)
    expect(expectedNonce(said('WRONG_NONCE'))).toBeUndefined()
  })
})
