import * as fc from 'fast-check'
import { keccak256, numberToHex, type TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { parseRawTransaction } from './parse-raw-transaction.ts'

const privateKey = fc
  .bigInt({ min: 1n, max: 2n ** 255n })
  .map((number) => numberToHex(number, { size: 32 }))
const call = fc.record({
  nonce: fc.nat(),
  gas: fc.bigInt({ min: 21_000n, max: 15_000_000n }),
  value: fc.bigInt({ min: 0n, max: 10n ** 30n }),
  data: fc
    .uint8Array({ maxLength: 40 })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const),
})
const fees = fc.oneof(
  fc.record({
    type: fc.constant('legacy' as const),
    gasPrice: fc.bigInt({ min: 1n, max: 10n ** 15n }),
  }),
  fc.record({
    type: fc.constant('eip1559' as const),
    maxFeePerGas: fc.bigInt({ min: 1n, max: 10n ** 15n }),
    maxPriorityFeePerGas: fc.constant(0n),
  }),
)

describe('parseRawTransaction', () => {
  test('finds signer, hash and fields of whatever a wallet signed', async () => {
    await fc.assert(
      fc.asyncProperty(privateKey, call, fees, async (key, fields, price) => {
        const account = privateKeyToAccount(key)
        const transaction = { chainId: 296, ...fields, ...price } as TransactionSerializable
        const raw = await account.signTransaction(transaction)
        const parsed = parseRawTransaction(raw)
        expect(parsed.from).toBe(account.address.toLowerCase())
        expect(parsed.hash).toBe(keccak256(raw))
        expect(parsed.envelope).toMatchObject({
          chainId: 296,
          nonce: fields.nonce,
          gas: fields.gas,
          valueWeibar: fields.value,
          data: fields.data,
          to: null,
        })
      }),
      { numRuns: 60 },
    )
  })
})
