/** The parts of the Hedera side that need no ledger: parsers, codes, the judgement of a record. */
import { PrivateKey, Status } from '@hiero-ledger/sdk'
import type { VerifiedPayment } from '@tallystick/x402'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settleResponse } from '../settlement-end.ts'
import { parseConsensusNodes } from './consensus-nodes.ts'
import { parsePrivateKey } from './fee-payer-key.ts'
import { judgeRecord } from './judge-record.ts'
import { judgePrecheck } from './precheck-status.ts'
import { MalformedTransactionList, splitTransactionList } from './split-transaction-list.ts'

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

  test('anything else is no key', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('0', 'a', '3') }))
    fc.assert(
      fc.property(
        text.filter((one) => one.length !== 64 && one.length !== 66),
        (one) => {
          expect(parsePrivateKey(one)).toBeUndefined()
        },
      ),
    )
    expect(parsePrivateKey('0'.repeat(64))).toBeUndefined()
    expect(parsePrivateKey('f'.repeat(64))).toBeUndefined()
  })
})

describe('splitTransactionList', () => {
  const varint = (value: number): number[] =>
    value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)]

  test('cuts a list into its entries, whole', () => {
    const entries = fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 10 })
    fc.assert(
      fc.property(entries, (bodies) => {
        const parts = bodies.map((body) => Uint8Array.from([0x0a, ...varint(body.length), ...body]))
        const split = splitTransactionList(Buffer.concat(parts))
        expect(split.map((part) => [...part])).toEqual(parts.map((part) => [...part]))
      }),
    )
  })

  test('throws one named error for any other bytes, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), (bytes) => {
        try {
          expect(Buffer.concat(splitTransactionList(bytes)).equals(bytes)).toBe(true)
        } catch (error) {
          if (!(error instanceof MalformedTransactionList)) throw error
        }
      }),
    )
  })
})

describe('judgePrecheck', () => {
  test('every code has a meaning, and only busy nodes are followed by another', () => {
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
  const transactionHash = Uint8Array.of(1, 2, 3)
  const record = (changes: { status?: string; hash?: Uint8Array; credit?: bigint } = {}) => ({
    kind: 'recorded' as const,
    status: changes.status ?? 'SUCCESS',
    hash: changes.hash ?? transactionHash,
    netTinybar: new Map([['0.0.7', changes.credit ?? 100n]]),
  })
  const judge = (changes?: Parameters<typeof record>[0]) =>
    judgeRecord(record(changes), { payment, transactionHash })

  test('our transaction with the whole amount is settled', () => {
    expect(settleResponse(payment, judge())).toEqual({
      success: true,
      transaction: payment.nonce,
      network: 'hedera:testnet',
      payer: '0.0.9',
      amount: '100',
    })
  })

  test('another transaction under the same id is a duplicate, whatever its receipt says', () => {
    expect(judge({ hash: Uint8Array.of(9) })).toMatchObject({ reason: 'DUPLICATE_TRANSACTION' })
  })

  test.each([99n, 101n, 0n])('a net credit of %d instead of 100 is a mismatch', (credit) => {
    expect(judge({ credit }).reason).toBe('settlement_transfer_amount_mismatch')
  })

  test('a failure on the ledger keeps the network’s word', () => {
    expect(settleResponse(payment, judge({ status: 'INVALID_SIGNATURE' }))).toMatchObject({
      success: false,
      errorReason: 'transaction_failed',
      errorMessage: 'INVALID_SIGNATURE',
      transaction: payment.nonce,
    })
  })
})
