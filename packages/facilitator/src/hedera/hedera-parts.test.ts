/** The parts of the Hedera side that need no ledger: parsers, codes, and how a record is judged. */
import { PrivateKey, Status } from '@hiero-ledger/sdk'
import type { VerifiedPayment } from '@tallystick/x402'
import {
  ExactHederaClient,
  hederaRequirement,
  hederaSigner,
  longZeroAddress,
} from '@tallystick/x402/hedera'
import type { PaymentRequirements } from '@x402/core/types'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settleResponse } from '../settlement.ts'
import { parseConsensusNodes } from './consensus-client.ts'
import { createExactHedera, judgeRecord } from './exact-hedera.ts'
import { parsePrivateKey } from './hedera-facilitator.ts'
import { judgePrecheck } from './submit-payment.ts'

describe('parseConsensusNodes', () => {
  test('reads host:port=account pairs', () => {
    expect(parseConsensusNodes('127.0.0.1:50211=0.0.3, node.example:50212=0.0.4')).toEqual([
      { address: '127.0.0.1:50211', accountId: '0.0.3' },
      { address: 'node.example:50212', accountId: '0.0.4' },
    ])
  })

  test.each([
    '',
    '127.0.0.1=0.0.3',
    '127.0.0.1:0=0.0.3',
    '[::1]:50211=0.0.3',
    'a:1=3',
    'a:1=0.0.3,',
  ])('refuses %j', (text) => {
    expect(parseConsensusNodes(text)).toBeUndefined()
  })
})

describe('parsePrivateKey', () => {
  test('bare hex is an ECDSA key; DER names its kind', () => {
    const ecdsa = PrivateKey.generateECDSA()
    const ed25519 = PrivateKey.generateED25519()
    for (const [key, text] of [
      [ecdsa, ecdsa.toStringRaw()],
      [ecdsa, `0x${ecdsa.toStringRaw()}`],
      [ecdsa, ecdsa.toStringDer()],
      [ed25519, ed25519.toStringDer()],
    ] as const)
      expect(parsePrivateKey(text)?.publicKey.toStringRaw()).toBe(key.publicKey.toStringRaw())
  })

  test('anything else is not a key', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('0', 'a', '3') }))
    fc.assert(
      fc.property(
        text.filter((hex) => hex.length !== 64 && hex.length !== 66),
        (hex) => {
          expect(parsePrivateKey(hex)).toBeUndefined()
        },
      ),
    )
    expect(parsePrivateKey('0'.repeat(64))).toBeUndefined()
    expect(parsePrivateKey('f'.repeat(64))).toBeUndefined()
  })
})

describe('judgePrecheck', () => {
  test('every code has a meaning, and only a busy node is followed by another', () => {
    const names = Object.values(Status)
      .filter((status) => status instanceof Status)
      .map(String)
    expect(names.length).toBeGreaterThan(300)
    expect(names.filter((name) => judgePrecheck(name).kind === 'busy').toSorted()).toEqual([
      'BUSY',
      'INVALID_NODE_ACCOUNT',
      'PLATFORM_NOT_ACTIVE',
      'PLATFORM_TRANSACTION_NOT_CREATED',
    ])
  })

  test('the fee payer’s faults are not the payment’s', () => {
    expect(judgePrecheck('INSUFFICIENT_PAYER_BALANCE')).toEqual({
      kind: 'ours',
      problem: 'fee_payer_balance_too_low',
    })
  })
})

const payment: VerifiedPayment = {
  id: 'hedera:testnet/0.0.5@1700000000.000000001',
  network: 'hedera:testnet',
  asset: '0.0.0',
  amount: 100n,
  payTo: '0.0.7',
  payer: '0.0.9',
  payerEvmAddress: '0x0000000000000000000000000000000000000009',
  nonce: '0.0.5@1700000000.000000001',
  memo: '',
  validFromSeconds: 1_700_000_000,
  validUntilSeconds: 1_700_000_180,
}

describe('judgeRecord', () => {
  const hash = '010203'
  const record = (changes: { status?: string; hash?: string; credit?: bigint } = {}) => ({
    status: changes.status ?? 'SUCCESS',
    hash: changes.hash ?? hash,
    net: new Map([
      ['0.0.0', new Map([['0.0.7', changes.credit ?? 100n]])],
      ['0.0.6001', new Map([['0.0.7', 90n]])],
    ]),
  })
  const judge = (changes?: Parameters<typeof record>[0]) =>
    judgeRecord(record(changes), { payment, hashes: new Set([hash]) })

  test('our transaction with the full amount is settled', () => {
    expect(settleResponse(payment, judge())).toEqual({
      success: true,
      transaction: payment.nonce,
      network: 'hedera:testnet',
      payer: '0.0.9',
      amount: '100',
    })
  })

  test('another transaction under the same id is a duplicate, whatever its receipt says', () => {
    expect(judge({ hash: '09' })).toMatchObject({ reason: 'DUPLICATE_TRANSACTION' })
  })

  test.each([99n, 101n, 0n])('a net credit of %d instead of 100 is a mismatch', (credit) => {
    expect(judge({ credit }).reason).toBe('settlement_transfer_amount_mismatch')
  })

  test('X25: in a token the credit after custom fees decides, not what was sent', () => {
    const reasons = [90n, 100n].map((amount) => {
      const inToken = { ...payment, asset: '0.0.6001', amount }
      return judgeRecord(record(), { payment: inToken, hashes: new Set([hash]) }).reason
    })
    expect(reasons).toEqual(['', 'settlement_transfer_amount_mismatch'])
  })

  test('a failure on the ledger keeps the network’s status code', () => {
    expect(settleResponse(payment, judge({ status: 'INVALID_SIGNATURE' }))).toMatchObject({
      success: false,
      errorReason: 'transaction_failed',
      errorMessage: 'INVALID_SIGNATURE',
      transaction: payment.nonce,
    })
  })
})

function unused(): never {
  throw new Error('nothing else is asked')
}

test.each([
  [undefined, { isValid: true }],
  [true, { isValid: false, invalidReason: 'invalid_exact_hedera_payload_preflight_failed' }],
])('X14: a payTo that must sign what it receives: %s', async (mustSign, answer) => {
  const signer = hederaSigner({ accountId: '0.0.9', privateKey: '11'.repeat(32) })
  const named = { evmAddress: longZeroAddress('0.0.9'), isDeleted: false } as const
  const key = { kind: 'ecdsa', publicKey: signer.publicKey } as const
  const find = async (accountId: string) =>
    accountId === '0.0.7'
      ? { ...named, accountId, key: null, ...(mustSign && { mustSign }) }
      : { ...named, accountId, key }
  const scheme = createExactHedera({
    network: 'hedera:testnet',
    feePayer: '0.0.5',
    consensus: { submit: unused, outcome: unused, isReachable: unused, close: unused },
    accounts: { account: find, refresh: find },
    balances: async () => 100n,
    mirror: { account: unused, holdings: unused, token: unused },
    clock: { unixMs: () => Date.now() },
  })
  const terms = { network: 'hedera:testnet', payTo: '0.0.7', feePayer: '0.0.5' }
  const accepted = hederaRequirement({ ...terms, amountTinybar: 100n }) as PaymentRequirements
  const { payload } = await new ExactHederaClient({ signer }).createPaymentPayload(2, accepted)
  const verified = await scheme.verify({ x402Version: 2, payload, accepted }, accepted)
  expect(verified).toMatchObject(answer)
})
