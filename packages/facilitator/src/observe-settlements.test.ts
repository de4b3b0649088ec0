import { createLogger, Registry } from '@tallystick/service-kit'
import type { VerifiedPayment } from '@tallystick/x402'
import { HttpRequestError } from 'viem'
import { describe, expect, test } from 'vitest'
import { observeSettlements } from './observe-settlements.ts'

const payment: VerifiedPayment = {
  id: 'eip155:196/0x01/0x02/0x03',
  network: 'eip155:196',
  asset: '0x01',
  amount: 10_000n,
  payTo: '0x04',
  payer: '0x02',
  payerEvmAddress: '0x02',
  nonce: '0x03',
  memo: '',
  validFromSeconds: 0,
  validUntilSeconds: 300,
}
const hederaPayment = {
  ...payment,
  network: 'hedera:testnet',
  asset: '0.0.0',
  nonce: '0.0.5@1.000000001',
}

function observed() {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const logger = createLogger({ name: 'facilitator', level: 'info', destination })
  const registry = new Registry()
  return {
    observer: observeSettlements(registry, logger),
    registry,
    lastLine: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>,
  }
}

describe('a settlement’s log line', () => {
  test('names the transaction’s hash on an EVM chain, and separately the authorization’s nonce', () => {
    const { lastLine, observer } = observed()
    observer.onEnd(payment, { outcome: 'settled', reason: '', transaction: '0xfeed' })
    expect(lastLine()).toMatchObject({
      msg: 'settlement ended',
      outcome: 'settled',
      transaction: '0xfeed',
      nonce: '0x03',
      amountBaseUnits: '10000',
    })
  })

  test('X25: names a token beside its base units, also on Hedera', () => {
    const { lastLine, observer } = observed()
    const inToken = { ...hederaPayment, asset: '0.0.6001' }
    observer.onEnd(inToken, { outcome: 'settled', reason: '', transaction: inToken.nonce })
    expect(lastLine()).toMatchObject({ asset: '0.0.6001', amountBaseUnits: '10000' })
    expect(lastLine()).not.toHaveProperty('amountTinybar')
  })

  test('names no transaction if nothing was submitted', () => {
    const { lastLine, observer } = observed()
    observer.onEnd(hederaPayment, { outcome: 'refused', reason: 'insufficient_funds' })
    expect(lastLine()).toMatchObject({ nonce: '0.0.5@1.000000001', amountTinybar: '10000' })
    expect(lastLine()).not.toHaveProperty('transaction')
  })
})

describe('a submission in doubt', () => {
  test('is logged as a warning with its cause, separately from its end', () => {
    const { lastLine, observer } = observed()
    const cause = new Error('the node cut the call off', { cause: new Error('read ECONNRESET') })
    observer.onDoubt(hederaPayment, { transaction: '0.0.5@1.000000001', cause })
    expect(lastLine()).toMatchObject({
      level: 'warn',
      msg: 'submission in doubt',
      transaction: '0.0.5@1.000000001',
      payer: '0x02',
      cause: 'Error: the node cut the call off < Error: read ECONNRESET',
    })
  })

  test('never includes what was submitted, though a client library’s error repeats it', () => {
    const { lastLine, observer } = observed()
    const raw = `0x${'f8'.repeat(200)}`
    const causes = [
      new HttpRequestError({
        url: 'https://rpc.example/v2/api-key',
        body: { method: 'eth_sendRawTransaction', params: [raw] },
      }),
      new Error(`not taken: ${raw}`),
      `not taken: ${raw}`,
    ]
    const texts = causes.map((cause) => {
      observer.onDoubt(payment, { transaction: '0xfeed', cause })
      return lastLine()['cause']
    })
    expect(texts).toEqual([
      'HttpRequestError: HTTP request failed.',
      'Error: not taken: …',
      'not taken: …',
    ])
  })
})

test('settlements are counted by outcome', async () => {
  const { observer, registry } = observed()
  observer.onEnd(payment, { outcome: 'settled', reason: '' })
  observer.onEnd(payment, { outcome: 'settled', reason: '' })
  observer.onEnd(payment, { outcome: 'failed', reason: 'transaction_failed' })
  expect([observer.count('settled'), observer.count('refused')]).toEqual([2, 0])
  expect(await registry.metrics()).toContain(
    'facilitator_settlements_total{outcome="failed",reason="transaction_failed"} 1',
  )
})
