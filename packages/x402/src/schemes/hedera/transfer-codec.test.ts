import proto from '@hiero-ledger/proto'
import * as fc from 'fast-check'
import Long from 'long'
import { describe, expect, test } from 'vitest'
import { HBAR_ASSET } from './hbar.ts'
import { readHederaKey } from './hedera-key.ts'
import { MalformedProtobuf } from './protobuf.ts'
import { readTransfer } from './read-transfer.ts'
import { canonicalTransactionId } from './transaction-id.ts'
import {
  splitTransactionList,
  type TransferDraft,
  writeTransactionList,
  writeTransferBody,
} from './write-transfer.ts'

const { proto: hedera } = proto

const accountNumber = fc.bigInt(1n, 2n ** 63n - 1n)
const account = accountNumber.map((number) => `0.0.${number}`)

const draft: fc.Arbitrary<TransferDraft> = fc.record({
  transactionId: fc.record({
    accountId: account,
    validStartSeconds: fc.bigInt(1n, 2n ** 62n),
    validStartNanos: fc.integer({ min: 0, max: 999_999_999 }),
  }),
  payer: account,
  payTo: account,
  asset: fc.oneof(fc.constant(HBAR_ASSET), account),
  amount: fc.bigInt(1n, 2n ** 62n),
  feeMaxTinybar: fc.bigInt(0n, 2n ** 63n - 1n),
  validDurationSeconds: fc.integer({ min: 0, max: 1_000 }),
  memo: fc.string({ unit: 'grapheme', maxLength: 30 }),
})

const nodes = fc.uniqueArray(fc.integer({ min: 3, max: 40 }), { minLength: 1, maxLength: 10 })

const long = (value: bigint): Long => Long.fromString(value.toString())
const readNumber = (accountId: string): bigint => BigInt(accountId.slice(4))

describe('our writer, read by @hiero-ledger/proto', () => {
  test('a body means what the draft says', () => {
    fc.assert(
      fc.property(draft, (drawn) => {
        const body = hedera.TransactionBody.decode(writeTransferBody(drawn, '0.0.3'))
        expect(String(body.transactionID?.accountID?.accountNum)).toBe(
          readNumber(drawn.transactionId.accountId).toString(),
        )
        expect(String(body.transactionID?.transactionValidStart?.seconds)).toBe(
          drawn.transactionId.validStartSeconds.toString(),
        )
        expect(body.transactionID?.transactionValidStart?.nanos ?? 0).toBe(
          drawn.transactionId.validStartNanos,
        )
        expect(String(body.nodeAccountID?.accountNum)).toBe('3')
        expect(String(body.transactionFee)).toBe(drawn.feeMaxTinybar.toString())
        expect(Number(body.transactionValidDuration?.seconds ?? 0)).toBe(drawn.validDurationSeconds)
        expect(body.memo).toBe(drawn.memo)
        const { tokenTransfers, transfers } = body.cryptoTransfer ?? {}
        const isHbar = drawn.asset === HBAR_ASSET
        const tokens = (tokenTransfers ?? []).map(({ token }) => String(token?.tokenNum))
        expect(tokens).toEqual(isHbar ? [] : [drawn.asset.slice(4)])
        const lines = isHbar ? transfers?.accountAmounts : tokenTransfers?.[0]?.transfers
        expect(
          lines?.map((line) => [String(line.accountID?.accountNum), String(line.amount)]),
        ).toEqual([
          [readNumber(drawn.payer).toString(), (-drawn.amount).toString()],
          [readNumber(drawn.payTo).toString(), drawn.amount.toString()],
        ])
      }),
    )
  })

  test('a list carries each body and signature unchanged', () => {
    fc.assert(
      fc.property(
        draft,
        nodes,
        fc.uint8Array({ minLength: 64, maxLength: 64 }),
        (drawn, list, signature) => {
          const publicKey = Buffer.alloc(33, 2)
          const entries = list.map((node) => ({
            bodyBytes: writeTransferBody(drawn, `0.0.${node}`),
            kind: 'ecdsa' as const,
            publicKey,
            signature,
          }))
          const decoded = hedera.TransactionList.decode(writeTransactionList(entries))
          expect(decoded.transactionList).toHaveLength(list.length)
          for (const [index, transaction] of decoded.transactionList.entries()) {
            const signed = hedera.SignedTransaction.decode(
              transaction.signedTransactionBytes ?? new Uint8Array(),
            )
            expect(
              Buffer.from(signed.bodyBytes ?? []).equals(
                Buffer.from(entries[index]?.bodyBytes ?? []),
              ),
            ).toBe(true)
            const [pair] = signed.sigMap?.sigPair ?? []
            expect(Buffer.from(pair?.ECDSASecp256k1 ?? []).equals(Buffer.from(signature))).toBe(
              true,
            )
            expect(Buffer.from(pair?.pubKeyPrefix ?? []).equals(publicKey)).toBe(true)
          }
        },
      ),
    )
  })
})

describe('our reader', () => {
  test('reads what our writer wrote', () => {
    fc.assert(
      fc.property(draft, nodes, (drawn, list) => {
        const bytes = writeTransactionList(
          list.map((node) => ({
            bodyBytes: writeTransferBody(drawn, `0.0.${node}`),
            kind: 'ecdsa',
            publicKey: Buffer.alloc(33, 2),
            signature: Buffer.alloc(64, 1),
          })),
        )
        const reading = readTransfer(bytes)
        if (reading.kind === 'refused') throw new Error(reading.reason)
        const { transfer } = reading
        expect(canonicalTransactionId(transfer.transactionId)).toBe(
          canonicalTransactionId(drawn.transactionId),
        )
        expect(transfer.memo).toBe(drawn.memo)
        expect(transfer.feeMaxTinybar).toBe(drawn.feeMaxTinybar)
        expect(transfer.validDurationSeconds).toBe(BigInt(drawn.validDurationSeconds))
        expect(transfer.bodies.map(({ nodeAccountId }) => nodeAccountId)).toEqual(
          list.map((node) => `0.0.${node}`),
        )
        expect(transfer.lines).toEqual([
          { asset: drawn.asset, account: drawn.payer, amount: -drawn.amount },
          { asset: drawn.asset, account: drawn.payTo, amount: drawn.amount },
        ])
      }),
    )
  })

  test('reads what @hiero-ledger/proto wrote, explicit defaults included', () => {
    fc.assert(
      fc.property(draft, (drawn) => {
        const id = (accountId: string) => ({
          shardNum: Long.ZERO,
          realmNum: Long.ZERO,
          accountNum: long(readNumber(accountId)),
        })
        const bodyBytes = hedera.TransactionBody.encode({
          transactionID: {
            accountID: id(drawn.transactionId.accountId),
            transactionValidStart: {
              seconds: long(drawn.transactionId.validStartSeconds),
              nanos: drawn.transactionId.validStartNanos,
            },
            scheduled: false,
            nonce: 0,
          },
          nodeAccountID: id('0.0.3'),
          transactionFee: long(drawn.feeMaxTinybar),
          transactionValidDuration: { seconds: Long.fromNumber(drawn.validDurationSeconds) },
          memo: drawn.memo,
          cryptoTransfer: {
            transfers: {
              accountAmounts: [
                {
                  accountID: id(drawn.payer),
                  amount: long(-drawn.amount),
                  isApproval: false,
                },
                {
                  accountID: id(drawn.payTo),
                  amount: long(drawn.amount),
                  isApproval: false,
                },
              ],
            },
            tokenTransfers: [],
          },
        }).finish()
        const signedTransactionBytes = hedera.SignedTransaction.encode({
          bodyBytes,
          sigMap: {
            sigPair: [{ pubKeyPrefix: Buffer.alloc(32, 1), ed25519: Buffer.alloc(64, 2) }],
          },
        }).finish()
        const reading = readTransfer(
          hedera.TransactionList.encode({ transactionList: [{ signedTransactionBytes }] }).finish(),
        )
        if (reading.kind === 'refused') throw new Error(reading.reason)
        expect(canonicalTransactionId(reading.transfer.transactionId)).toBe(
          canonicalTransactionId(drawn.transactionId),
        )
        expect(reading.transfer.memo).toBe(drawn.memo)
        expect(reading.transfer.lines.map(({ amount }) => amount)).toEqual([
          -drawn.amount,
          drawn.amount,
        ])
        expect(reading.transfer.bodies[0]?.signatures).toMatchObject([{ kind: 'ed25519' }])
      }),
    )
  })

  test('any bytes are a transfer or a refusal, never an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(['transfer', 'refused']).toContain(readTransfer(bytes).kind)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('keys, as @hiero-ledger/proto writes them', () => {
  const ed25519 = { ed25519: Buffer.alloc(32, 7) }
  const ecdsa = { ECDSASecp256k1: Buffer.alloc(33, 2) }

  test('a single key of each kind', () => {
    expect(readHederaKey(encodeKey(ed25519)).kind).toBe('ed25519')
    expect(readHederaKey(encodeKey(ecdsa)).kind).toBe('ecdsa')
  })

  test('a key list requires all of its keys', () => {
    expect(readHederaKey(encodeKey({ keyList: { keys: [ed25519, ecdsa] } }))).toMatchObject({
      kind: 'threshold',
      threshold: 2,
      keys: [{ kind: 'ed25519' }, { kind: 'ecdsa' }],
    })
  })

  test.each([
    [0, 1],
    [2, 2],
    [9, 2],
  ])('a threshold of %i of two keys requires %i', (threshold, required) => {
    const key = encodeKey({ thresholdKey: { threshold, keys: { keys: [ed25519, ecdsa] } } })
    expect(readHederaKey(key)).toMatchObject({ kind: 'threshold', threshold: required })
  })

  test('what no payment can sign for is unsupported: contracts, RSA, empty lists', () => {
    for (const key of [
      { contractID: { contractNum: Long.fromNumber(5) } },
      { RSA_3072: Buffer.alloc(384) },
      { keyList: { keys: [] } },
      { thresholdKey: { threshold: 1, keys: { keys: [] } } },
      {},
    ]) {
      expect(readHederaKey(encodeKey(key))).toEqual({ kind: 'unsupported' })
    }
  })

  test('nesting beyond the network’s own depth is unsupported, not a crash', () => {
    let key: object = ed25519
    for (let depth = 0; depth < 200; depth += 1) key = { keyList: { keys: [key] } }
    let read = readHederaKey(encodeKey(key))
    let depth = 0
    for (; read.kind === 'threshold' && read.keys[0] !== undefined; depth += 1) read = read.keys[0]
    expect([read, depth]).toEqual([{ kind: 'unsupported' }, 16])
  })
})

function encodeKey(key: object): Uint8Array {
  return hedera.Key.encode(key).finish()
}

describe('splitTransactionList', () => {
  const varint = (value: number): number[] =>
    value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)]

  test('cuts a list into its entries unchanged', () => {
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
          if (!(error instanceof MalformedProtobuf)) throw error
        }
      }),
    )
  })
})
