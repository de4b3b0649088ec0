import { generateKeyPairSync, sign } from 'node:crypto'
import { deriveEvmAddress } from '@tallystick/x402/hedera'
import { secp256k1 } from '@tallystick/x402/secp256k1'
import * as fc from 'fast-check'
import Long from 'long'
import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  type AccountKey,
  completingKey,
  fromProtoKey,
  fromProtoKeys,
  isSignedBy,
  type Signatures,
  type TransactionSignature,
  toProtoKey,
} from './account-key.ts'

const BYTES = Buffer.from('what was signed')

type Signer = { key: AccountKey; publicKey: Buffer; signature: TransactionSignature }

function ed25519(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return {
    key: { kind: 'ED25519', publicKey: raw.toString('hex') },
    publicKey: raw,
    signature: {
      kind: 'ED25519',
      publicKeyPrefix: raw,
      signature: sign(null, BYTES, privateKey),
      bytes: BYTES,
    },
  }
}

function ecdsa(seed: number): Signer {
  const privateKey = Buffer.alloc(32, seed)
  const publicKey = Buffer.from(secp256k1.publicKey(privateKey))
  const { rs: signature } = secp256k1.sign(keccak256(BYTES, 'bytes'), privateKey)
  return {
    key: { kind: 'ECDSA_SECP256K1', publicKey: publicKey.toString('hex') },
    publicKey,
    signature: { kind: 'ECDSA_SECP256K1', publicKeyPrefix: publicKey, signature, bytes: BYTES },
  }
}

/** That one signature. */
function signed(signature: TransactionSignature): Signatures {
  return [signature]
}

const signers = [ed25519(), ecdsa(1), ed25519(), ecdsa(2), ecdsa(3)]

describe('signatures', () => {
  test('a key is satisfied only by its own signature, over exactly these bytes', () => {
    for (const [at, { key }] of signers.entries()) {
      for (const [by, { signature }] of signers.entries()) {
        expect(isSignedBy(key, [signature])).toBe(at === by)
      }
      const other = signers.map(({ signature }) => ({ ...signature, bytes: Buffer.from('other') }))
      expect(isSignedBy(key, other)).toBe(false)
    }
  })

  test('a prefix of the public key is enough, even an empty one; a different prefix is not', () => {
    for (const { key, publicKey, signature } of signers) {
      for (const length of [0, 5]) {
        const publicKeyPrefix = publicKey.subarray(0, length)
        expect(isSignedBy(key, [{ ...signature, publicKeyPrefix }])).toBe(true)
      }
      const otherPrefix = Buffer.from([(publicKey[0] ?? 0) ^ 1])
      const wrong = { ...signature, publicKeyPrefix: otherPrefix }
      expect(isSignedBy(key, [wrong])).toBe(false)
    }
  })

  test('a list needs all signatures, a threshold list as many as it says, nested ones too', () => {
    fc.assert(
      fc.property(
        fc.subarray([0, 1, 2, 3, 4]),
        fc.integer({ min: 1, max: 5 }),
        (who, threshold) => {
          const signatures = who.flatMap((index) => signers[index]?.signature ?? [])
          const keys = signers.map(({ key }) => key)
          expect(isSignedBy({ kind: 'KEY_LIST', keys }, signatures)).toBe(who.length === 5)
          const some: AccountKey = { kind: 'KEY_LIST', threshold, keys }
          expect(isSignedBy(some, signatures)).toBe(who.length >= threshold)
          const nested: AccountKey = { kind: 'KEY_LIST', keys: [some] }
          expect(isSignedBy(nested, signatures)).toBe(who.length >= threshold)
        },
      ),
    )
    expect(isSignedBy({ kind: 'KEY_LIST', keys: [] }, [])).toBe(false)
  })

  test('a short, empty or malleated signature does not count', () => {
    const [, signer] = signers
    if (signer === undefined) throw new Error('there are signers')
    for (const signature of [
      Buffer.alloc(0),
      Buffer.alloc(64),
      signer.signature.signature.subarray(1),
    ]) {
      expect(isSignedBy(signer.key, [{ ...signer.signature, signature }])).toBe(false)
    }
  })
})

describe('keys', () => {
  test('the protobuf form of a single key round-trips; a list is no alias', () => {
    const keys = signers.map(({ key }) => key)
    for (const key of keys) expect(fromProtoKey(toProtoKey(key))).toEqual(key)
    expect(fromProtoKey(toProtoKey({ kind: 'KEY_LIST', keys }))).toBeUndefined()
    expect(fromProtoKey({})).toBeUndefined()
    const list = { kind: 'KEY_LIST', keys: [{ kind: 'KEY_LIST', keys, threshold: 1 }] } as const
    expect(fromProtoKeys(toProtoKey(list))).toEqual(list)
  })

  test('a contract among the keys of a list is shown as it was named, and nothing is its signature', () => {
    const id = { shardNum: Long.ZERO, realmNum: Long.ZERO, contractNum: Long.fromNumber(1_030) }
    for (const named of [{ contractID: id }, { delegatableContractId: id }]) {
      const [signer] = signers
      const keys = [named, toProtoKey(signer?.key ?? { kind: 'KEY_LIST', keys: [] })]
      const key = fromProtoKeys({ thresholdKey: { threshold: 1, keys: { keys } } })
      if (key?.kind !== 'KEY_LIST') throw new Error('it is a list')
      const { thresholdKey } = toProtoKey(key)
      expect(thresholdKey?.keys?.keys?.[0]).toMatchObject(named)
      const signatures = signers.map(({ signature }) => signature)
      expect(isSignedBy(key, signatures)).toBe(true)
      expect(isSignedBy(key, signatures.slice(1))).toBe(false)
    }
  })

  test('a key has the EVM address that wallets derive', () => {
    for (const seed of [1, 2, 3]) {
      const wallet = privateKeyToAccount(`0x${Buffer.alloc(32, seed).toString('hex')}`)
      expect(deriveEvmAddress(ecdsa(seed).publicKey)).toBe(wallet.address.toLowerCase())
    }
  })

  test('a hollow account is completed by the key of its address, given in full, and by no other', () => {
    const own = ecdsa(1)
    const address = deriveEvmAddress(own.publicKey) ?? '0x'
    expect(completingKey(address, signed(own.signature))).toEqual(own.key)
    expect(completingKey(address, signed(ecdsa(2).signature))).toBeUndefined()
    const short = { ...own.signature, publicKeyPrefix: own.publicKey.subarray(0, 10) }
    expect(completingKey(address, signed(short))).toBeUndefined()
  })
})
