import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nativeSecp256k1, SECP256K1_ORDER, secp256k1, wasmSecp256k1 } from './secp256k1.ts'

const word = (value: bigint): Buffer =>
  Buffer.from(value.toString(16).padStart(64, '0').slice(-64), 'hex')
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Published for RFC 6979 on this curve (trezor-crypto, haskoin), over SHA-256 of the text; the recovery ids are noble's. */
const VECTORS: readonly { key: Buffer; text: string; rs: string; recovery: 0 | 1 }[] = [
  {
    key: word(1n),
    text: 'Satoshi Nakamoto',
    rs: '934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d82442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
    recovery: 1,
  },
  {
    key: word(1n),
    text: 'All those moments will be lost in time, like tears in rain. Time to die...',
    rs: '8600dbd41e348fe5c9465ab92d23e3db8b98b873beecd930736488696438cb6b547fe64427496db33bf66019dacbf0039c04199abb0122918601db38a72cfc21',
    recovery: 0,
  },
  {
    key: word(SECP256K1_ORDER - 1n),
    text: 'Satoshi Nakamoto',
    rs: 'fd567d121db66e382991534ada77a6bd3106f0a1098c231e47993447cd6af2d06b39cd0eb1bc8603e159ef5c20a5c8ad685a45b06ce9bebed3f153d10d93bed5',
    recovery: 0,
  },
  {
    key: bytes('f8b8af8ce3c7cca5e300d33939540c10d45ce001b8f252bfbc57ba0342904181'),
    text: 'Alan Turing',
    rs: '7063ae83e7f62bbb171798131b4a0564b956930092b33b07b395615d9ec7e15c58dfcc1e00a35e1572f366ffe34ba0fc47db1e7189759b9fb233c5b05ab388ea',
    recovery: 0,
  },
]
/** The curve's base point: the public key of 1. */
const BASE = {
  x: '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
  y: '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8',
}

const wasm = wasmSecp256k1()
const native = secp256k1.implementation === 'native' ? nativeSecp256k1() : undefined

describe.each(native === undefined ? [wasm] : [native, wasm])(
  'secp256k1, $implementation',
  (curve) => {
    test.each(VECTORS)(
      'signs “$text” as published, with a low s, and knows the signer',
      (vector) => {
        const digest = hash('sha256', vector.text, 'buffer')
        const rs = bytes(vector.rs)
        expect(curve.sign(digest, vector.key)).toEqual({
          rs: new Uint8Array(rs),
          recovery: vector.recovery,
        })
        const publicKey = curve.publicKey(vector.key)
        expect(curve.point(publicKey)).toEqual(curve.pointOfKey(vector.key))
        expect(curve.recover(digest, { rs, recovery: vector.recovery })).toEqual(
          curve.point(publicKey),
        )
        expect(curve.verify({ digest, rs, publicKey })).toBe(true)
        expect(curve.verify({ digest: hash('sha256', 'else', 'buffer'), rs, publicKey })).toBe(
          false,
        )
      },
    )

    test('accepts the twin of a signature, which has a high s and the other recovery id', () => {
      const [vector] = VECTORS
      const digest = hash('sha256', vector?.text ?? '', 'buffer')
      const { rs, recovery } = curve.sign(digest, word(1n))
      const s = BigInt(`0x${Buffer.from(rs.subarray(32)).toString('hex')}`)
      const twin = Buffer.concat([rs.subarray(0, 32), word(SECP256K1_ORDER - s)])
      const publicKey = curve.publicKey(word(1n))
      expect(curve.verify({ digest, rs: twin, publicKey })).toBe(true)
      expect(curve.recover(digest, { rs: twin, recovery: recovery === 0 ? 1 : 0 })).toEqual(
        curve.pointOfKey(word(1n)),
      )
    })

    test('knows a key: 1 up to the order less 1', () => {
      expect(curve.publicKey(word(1n))).toEqual(new Uint8Array(bytes(`02${BASE.x}`)))
      expect(curve.pointOfKey(word(1n))).toEqual(new Uint8Array(bytes(`04${BASE.x}${BASE.y}`)))
      expect(curve.isPrivateKey(word(SECP256K1_ORDER - 1n))).toBe(true)
      for (const none of [word(0n), word(SECP256K1_ORDER), bytes('01')]) {
        expect(curve.isPrivateKey(none)).toBe(false)
        expect(() => curve.publicKey(none)).toThrow(/private/i)
        expect(() => curve.pointOfKey(none)).toThrow(/private/i)
        expect(() => curve.sign(word(1n), none)).toThrow(/private/i)
      }
    })
  },
)

/** Numbers at the borders, and any other. */
const numbers = fc.oneof(
  fc.constantFrom(
    0n,
    1n,
    SECP256K1_ORDER / 2n,
    SECP256K1_ORDER - 1n,
    SECP256K1_ORDER,
    2n ** 256n - 1n,
  ),
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
)
const publicKeys = fc.oneof(
  fc
    .tuple(fc.constantFrom(0, 2, 3, 4, 6, 7), numbers)
    .map(([prefix, x]) => Buffer.concat([Buffer.from([prefix]), word(x)])),
  fc.constantFrom(0, 1, 32, 34, 64, 65).map((length) => Buffer.alloc(length, 4)),
)

test.skipIf(native === undefined)(
  'both answer the same to whatever a stranger sends (skipped where no native library is prebuilt)',
  () => {
    const recovery = fc.constantFrom(0 as const, 1 as const)
    fc.assert(
      fc.property(
        fc.tuple(numbers, numbers, recovery),
        numbers,
        publicKeys,
        ([r, s, id], d, publicKey) => {
          const digest = word(d)
          const rs = Buffer.concat([word(r), word(s)])
          expect(wasm.isPrivateKey(digest)).toBe(native?.isPrivateKey(digest))
          expect(wasm.point(publicKey)).toEqual(native?.point(publicKey))
          const signer = native?.recover(digest, { rs, recovery: id })
          expect(wasm.recover(digest, { rs, recovery: id })).toEqual(signer)
          const signed = { digest, rs, publicKey }
          expect(wasm.verify(signed)).toBe(native?.verify(signed))
          for (const odd of [rs.subarray(1), Buffer.concat([rs, rs])]) {
            expect(wasm.recover(digest, { rs: odd, recovery: id })).toBeUndefined()
            expect(native?.recover(digest, { rs: odd, recovery: id })).toBeUndefined()
            expect(wasm.verify({ ...signed, rs: odd })).toBe(native?.verify({ ...signed, rs: odd }))
          }
        },
      ),
      { numRuns: 300 },
    )
  },
)

test('X12: on an architecture without the native library the WebAssembly signs, and says so', () => {
  const script = `
    import { secp256k1 } from '${new URL('./secp256k1.ts', import.meta.url).href}'
    const { rs } = secp256k1.sign(Buffer.from('${hash('sha256', 'Satoshi Nakamoto')}', 'hex'), Buffer.alloc(32, 1))
    console.log(secp256k1.implementation, Buffer.from(rs).toString('hex'))`
  // What the native package’s loader takes for this machine’s.
  const env = { ...process.env, npm_config_arch: 'arm64' }
  const output = execFileSync(
    process.execPath,
    ['--input-type=module-typescript', '--eval', script],
    { encoding: 'utf8', env },
  )
  const { rs } = secp256k1.sign(hash('sha256', 'Satoshi Nakamoto', 'buffer'), Buffer.alloc(32, 1))
  expect(output.trim()).toBe(`wasm ${Buffer.from(rs).toString('hex')}`)
})
