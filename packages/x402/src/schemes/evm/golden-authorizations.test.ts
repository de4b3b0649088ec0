/** What we sign and recover, against vectors made with viem and against viem itself for arbitrary authorizations. */
import { readFileSync } from 'node:fs'
import {
  assert as assertProperty,
  asyncProperty,
  bigInt,
  string as fcString,
  integer,
  property,
  record,
  uint8Array,
} from 'fast-check'
import {
  domainSeparator as domainSeparatorOfViem,
  hashTypedData,
  recoverAddress,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  authorizationDigest,
  domainSeparator,
  evmSigner,
  readEcdsaSignature,
  recoverSigner,
} from './authorization.ts'
import { bytesOfHex, type Hex, hexOfBytes } from './evm-words.ts'
import {
  type SigningDomain,
  TRANSFER_TYPES,
  type TransferAuthorization,
} from './transfer-typed-data.ts'

type Vector = {
  readonly title: string
  readonly domain: SigningDomain
  readonly privateKey: Hex
  readonly message: Record<'from' | 'to' | 'nonce', Hex> &
    Record<'value' | 'validAfter' | 'validBefore', string>
  readonly domainSeparator: Hex
  readonly digest: Hex
  readonly signature: Hex
}

const file = new URL('../../../vectors/evm-authorization.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: readonly Vector[] }

function readMessage({ message }: Vector): TransferAuthorization {
  const { validAfter, validBefore, value } = message
  return {
    ...message,
    value: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
  }
}

describe.each(vectors)('golden: $title', (vector) => {
  test('the domain separator is the contract’s', () => {
    expect(hexOfBytes(domainSeparator(vector.domain))).toBe(vector.domainSeparator)
  })

  test('the digest is the one wallets sign', () => {
    const digest = authorizationDigest(domainSeparator(vector.domain), readMessage(vector))
    expect(hexOfBytes(digest)).toBe(vector.digest)
  })

  test('our signer gives the same signature, and it recovers to the payer', async () => {
    const signer = evmSigner(vector)
    const typedData = {
      domain: vector.domain,
      types: TRANSFER_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: readMessage(vector),
    } as const
    expect(await signer.signTypedData(typedData)).toBe(vector.signature)
    const signature = readEcdsaSignature(bytesOfHex(vector.signature))
    if (signature === undefined) throw new Error('the vector has no signature')
    expect(recoverSigner(bytesOfHex(vector.digest), signature)).toBe(signer.address)
    expect(signer.address).toBe(vector.message.from.toLowerCase())
  })
})

const randomBytes = (length: number) =>
  uint8Array({ minLength: length, maxLength: length }).map(hexOfBytes)
const uint = bigInt({ min: 0n, max: 2n ** 256n - 1n })
const authorizations = record({
  from: randomBytes(20),
  to: randomBytes(20),
  value: uint,
  validAfter: uint,
  validBefore: uint,
  nonce: randomBytes(32),
})
const domains = record({
  name: fcString({ unit: 'grapheme' }),
  // viem leaves out an empty version, as if the contract had none.
  version: fcString({ minLength: 1 }),
  chainId: integer({ min: 1, max: 2 ** 32 }),
  verifyingContract: randomBytes(20),
})

describe('for every domain and authorization', () => {
  test('the digest is viem’s', () => {
    assertProperty(
      property(domains, authorizations, (signingDomain, message) => {
        const ours = authorizationDigest(domainSeparator(signingDomain), message)
        const primaryType = 'TransferWithAuthorization'
        const theirs = hashTypedData({
          domain: signingDomain,
          types: TRANSFER_TYPES,
          primaryType,
          message,
        })
        expect(hexOfBytes(ours)).toBe(theirs)
        expect(hexOfBytes(domainSeparator(signingDomain))).toBe(
          domainSeparatorOfViem({ domain: signingDomain }),
        )
      }),
      { numRuns: 200 },
    )
  })

  test('we recover whatever viem recovers from a signature', async () => {
    const account = privateKeyToAccount(toHex(1n, { size: 32 }))
    await assertProperty(
      asyncProperty(randomBytes(32), async (digest) => {
        const signature = await account.sign({ hash: digest })
        const read = readEcdsaSignature(bytesOfHex(signature))
        if (read === undefined) throw new Error('viem signs with a low s')
        const theirs = await recoverAddress({ hash: digest, signature })
        expect(recoverSigner(bytesOfHex(digest), read)).toBe(theirs.toLowerCase())
      }),
      { numRuns: 30 },
    )
  })

  test('arbitrary bytes never throw', () => {
    assertProperty(
      property(uint8Array({ maxLength: 70 }), randomBytes(32), (signature, digest) => {
        const read = readEcdsaSignature(signature)
        if (read === undefined) return
        const found = recoverSigner(bytesOfHex(digest), read)
        expect(found === undefined || /^0x[0-9a-f]{40}$/.test(found)).toBe(true)
      }),
    )
  })
})
