import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { keccak256, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import type { Hex } from '../domain/access-window.ts'
import { createTransactionSigner } from './contract-calls.ts'

const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((value): Hex => toHex(value))

const transactions = fc.record({
  chainId: fc.constantFrom(1, 295, 296, 999_999_999_999),
  nonce: fc.integer({ min: 0, max: 2 ** 40 }),
  gasPriceWeibar: fc.bigInt({ min: 0n, max: 2n ** 70n }),
  gas: fc.bigInt({ min: 21_000n, max: 15_000_000n }),
  to: bytes(20, 20),
  valueWeibar: fc.bigInt({ min: 0n, max: 2n ** 90n }),
  data: fc.oneof(bytes(0, 2), bytes(50, 300)),
})

test('A10: bytes, hash and address of a signed transaction are viem’s', async () => {
  const property = fc.asyncProperty(transactions, async (transaction) => {
    const privateKey = toHex(randomBytes(32))
    const account = privateKeyToAccount(privateKey)
    const signer = createTransactionSigner(privateKey)
    const { gasPriceWeibar: gasPrice, valueWeibar: value, ...same } = transaction
    const expected = await account.signTransaction({ type: 'legacy', gasPrice, value, ...same })
    expect(signer.address).toBe(account.address.toLowerCase())
    const { gasPriceWeibar, nonce } = transaction
    expect(signer.sign(transaction)).toEqual({
      nonce,
      gasPriceWeibar,
      rawTransaction: expected,
      hash: keccak256(expected),
    })
  })
  await fc.assert(property, { numRuns: 60 })
})
