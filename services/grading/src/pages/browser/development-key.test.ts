import {
  authorizationDigest,
  domainSeparator,
  evmSigner,
  readEcdsaSignature,
  recoverSigner,
  type TransferTypedData,
} from '@tallystick/x402/evm'
import { TRANSFER_TYPES } from '@tallystick/x402/evm-client'
import { assert, asyncProperty, pre, uint8Array } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { developmentPayer, transferDigest } from './development-key.ts'

const word = uint8Array({ minLength: 32, maxLength: 32 })
const toHex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`
const toBytes = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex')

const domain = {
  name: 'USD₮0',
  version: '1',
  chainId: 196,
  verifyingContract: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
} as const
const message = {
  from: '0x00000000000000000000000000000000000a6e17',
  to: '0x1111111111111111111111111111111111111111',
  value: 10_000n,
  validAfter: 0n,
  validBefore: 1_795_226_000n,
  nonce: `0x${'ab'.repeat(32)}`,
} as const

const makeTransfer = (options: TransferTypedData['message']): TransferTypedData => ({
  domain,
  types: TRANSFER_TYPES,
  primaryType: 'TransferWithAuthorization',
  message: options,
})

function isValidKey(key: string): boolean {
  try {
    return evmSigner({ privateKey: key }) !== undefined
  } catch {
    return false
  }
}

describe('a transfer', () => {
  it('is signed over the digest that the gate checks', () => {
    const checked = authorizationDigest(domainSeparator(domain), message)
    expect(toHex(transferDigest({ domain, message }))).toBe(toHex(checked))
  })
})

describe('a development key', () => {
  it('signs so that the gate recovers its address, with a low s, for any key and transfer', async () => {
    await assert(
      asyncProperty(word, word, async (key, nonce) => {
        const hex = toHex(key)
        pre(isValidKey(hex))
        const transfer = makeTransfer({ ...message, nonce: toHex(nonce) })
        const payer = developmentPayer(hex)
        const read = readEcdsaSignature(toBytes(await payer.signTypedData(transfer)))
        if (read === undefined) throw new Error('no signature that a token takes')
        const { address } = evmSigner({ privateKey: hex })
        expect(payer.address).toBe(address)
        expect(recoverSigner(transferDigest(transfer), read)).toBe(address)
      }),
      { numRuns: 60 },
    )
  })

  it('pays from the address of its key', async () => {
    const key = `0x${'01'.repeat(32)}`
    const payer = developmentPayer(key)
    expect(developmentPayer(key.slice(2)).address).toBe(payer.address)
    expect(payer.address).toBe(evmSigner({ privateKey: key }).address)
    const signature = readEcdsaSignature(toBytes(await payer.signTypedData(makeTransfer(message))))
    if (signature === undefined) throw new Error('no signature that a token takes')
    expect(recoverSigner(transferDigest({ domain, message }), signature)).toBe(payer.address)
  })

  it.each([
    '',
    '0x',
    '0x00',
    `0x${'00'.repeat(32)}`,
    `0x${'ff'.repeat(32)}`,
    'hello',
    `0x${'01'.repeat(33)}`,
  ])('is 32 bytes in hex below the order: not %j', (key) => {
    expect(() => developmentPayer(key)).toThrow(RangeError)
  })
})
