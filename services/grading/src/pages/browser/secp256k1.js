/**
 * Signing on secp256k1, for development keys alone: its time depends on the key, which matters where somebody can measure
 * it and the key is worth something. Wallets sign for everybody else. Formulas: SEC 1 v2.0 §4.1.3, and the doubling and
 * addition of Jacobian points for a = 0.
 */
import { joinBytes, wordOf } from './hex.js'
import { keccak256 } from './keccak.js'

const FIELD = (1n << 256n) - (1n << 32n) - 977n
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** @typedef {{ x: bigint, y: bigint, z: bigint }} Point Jacobian; z is 0 at infinity. */

/** @type {Point} */
const BASE = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
  z: 1n,
}
/** @type {Point} */
const INFINITY = { x: 1n, y: 1n, z: 0n }

/**
 * @param {bigint} value
 * @param {bigint} modulus
 */
const mod = (value, modulus) => ((value % modulus) + modulus) % modulus
/** @param {bigint} value */
const field = (value) => mod(value, FIELD)

/**
 * Extended Euclid; the value is not 0.
 *
 * @param {bigint} value
 * @param {bigint} modulus
 */
function inverse(value, modulus) {
  let [left, right] = [mod(value, modulus), modulus]
  let [kept, other] = [1n, 0n]
  while (right !== 0n) {
    const quotient = left / right
    ;[left, right] = [right, left - quotient * right]
    ;[kept, other] = [other, kept - quotient * other]
  }
  return mod(kept, modulus)
}

/**
 * @param {Point} point
 * @returns {Point}
 */
function double({ x, y, z }) {
  const yy = field(y * y)
  const s = field(4n * x * yy)
  const m = field(3n * x * x)
  const newX = field(m * m - 2n * s)
  return { x: newX, y: field(m * (s - newX) - 8n * yy * yy), z: field(2n * y * z) }
}

/**
 * @param {Point} one
 * @param {Point} other
 * @returns {Point}
 */
function add(one, other) {
  if (one.z === 0n) return other
  if (other.z === 0n) return one
  const [zz1, zz2] = [field(one.z * one.z), field(other.z * other.z)]
  const [u1, u2] = [field(one.x * zz2), field(other.x * zz1)]
  const [s1, s2] = [field(one.y * other.z * zz2), field(other.y * one.z * zz1)]
  if (u1 === u2) return s1 === s2 ? double(one) : INFINITY
  const [h, r] = [field(u2 - u1), field(s2 - s1)]
  const hh = field(h * h)
  const hhh = field(h * hh)
  const v = field(u1 * hh)
  const x = field(r * r - hhh - 2n * v)
  return { x, y: field(r * (v - x) - s1 * hhh), z: field(h * one.z * other.z) }
}

/**
 * A multiple of the base point, affine. The factor is between 1 and the order.
 *
 * @param {bigint} factor
 */
function multiply(factor) {
  let [sum, addend] = [INFINITY, BASE]
  for (let rest = factor; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) sum = add(sum, addend)
    addend = double(addend)
  }
  const inverted = inverse(sum.z, FIELD)
  const squared = field(inverted * inverted)
  return { x: field(sum.x * squared), y: field(sum.y * squared * inverted) }
}

/** @param {Uint8Array} bytes */
const numberOf = (bytes) => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

/**
 * Whether 32 bytes are a private key.
 *
 * @param {Uint8Array} key
 */
export function isPrivateKey(key) {
  const secret = numberOf(key)
  return key.length === 32 && secret > 0n && secret < ORDER
}

/**
 * The uncompressed public key without its leading byte, 64 bytes.
 *
 * @param {Uint8Array} key
 */
export function publicKeyOf(key) {
  const { x, y } = multiply(numberOf(key))
  return joinBytes(wordOf(x), wordOf(y))
}

/**
 * Signs a digest of 32 bytes: `r ‖ s ‖ v`, 65 bytes, with a low s (EIP-2) and v 27 or 28. The nonce is a hash of key,
 * digest and the given 32 random bytes, so that weak randomness alone does not give the key away.
 *
 * @param {Uint8Array} digest
 * @param {{ key: Uint8Array, random: Uint8Array }} options
 */
export function signDigest(digest, { key, random }) {
  const secret = numberOf(key)
  for (let attempt = 0; ; attempt += 1) {
    const seed = keccak256(joinBytes(key, digest, random, Uint8Array.of(attempt)))
    const nonce = mod(numberOf(seed), ORDER)
    if (nonce === 0n) continue
    const { x, y } = multiply(nonce)
    const r = mod(x, ORDER)
    const s = mod(inverse(nonce, ORDER) * (numberOf(digest) + r * secret), ORDER)
    // Each of the three happens once in 2^127 or less: x beyond the order would need a v that tokens refuse.
    if (r === 0n || s === 0n || x >= ORDER) continue
    const isHigh = s > ORDER / 2n
    const isOdd = (y & 1n) === 1n
    const v = 27 + (isOdd === isHigh ? 0 : 1)
    return joinBytes(wordOf(r), wordOf(isHigh ? ORDER - s : s), Uint8Array.of(v))
  }
}
