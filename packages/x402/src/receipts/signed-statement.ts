/**
 * The statements of x402's extension `offer-receipt`, version 1, as compact JWS (RFC 7515) signed with Ed25519, and the
 * did:web document that names the key: https://w3c-ccg.github.io/did-method-web/. What is signed or hashed has one JSON text.
 */
import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { z } from 'zod'

/** The extension's key. */
export const OFFER_RECEIPT = 'offer-receipt'

const common = { version: z.literal(1), resourceUrl: z.string(), network: z.string() }

/** A seller asks this until `validUntil`, Unix seconds. */
export const offerSchema = z.object({
  ...common,
  scheme: z.string(),
  asset: z.string(),
  payTo: z.string(),
  /** Base units. */
  amount: z.string(),
  validUntil: z.number().optional(),
})

/** A payer was served at `issuedAt`, Unix seconds. It says nothing about the amount or the answer. */
export const receiptSchema = z.object({
  ...common,
  payer: z.string(),
  issuedAt: z.number(),
  transaction: z.string().optional(),
})

/** The key of our own statement beside the receipt; x402 has no such statement. */
export const ANSWER_STATEMENT = 'tallystick-answer'

/** A receipt that also says which answer was given: the SHA-256, hex, of its text as UTF-8. */
export const answerSchema = receiptSchema.extend({
  answerSha256: z.string().regex(/^[0-9a-f]{64}$/),
})

export type AnswerStatement = Readonly<z.infer<typeof answerSchema>>
export type OfferStatement = Readonly<z.infer<typeof offerSchema>>
export type ReceiptStatement = Readonly<z.infer<typeof receiptSchema>>

/** A statement as the extension carries it. */
export type SignedStatement = {
  readonly format: 'jws'
  readonly signature: string
  /** An offer's place in `accepts`. Unsigned, so only a hint. */
  readonly acceptIndex?: number
}

/** An Ed25519 key: `x` is the 32 bytes of the public key, base64url. */
type StatementKey = { readonly privateKey: KeyObject; readonly x: string }

const PKCS8_OF_SEED = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key of a seed of 32 bytes in hex. Throws RangeError for anything else; the message never contains it. */
export function statementKey(seedHex: string): StatementKey {
  const hex = seedHex.trim().replace(/^0x/i, '')
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new RangeError('not an Ed25519 seed of 32 bytes in hex')
  const der = Buffer.concat([PKCS8_OF_SEED, Buffer.from(hex, 'hex')])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = privateKey.export({
    format: 'jwk',
  })
  return { privateKey, x }
}

const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

/** A compact JWS of a statement's canonical JSON. Takes about 50 µs. */
export function signStatement(
  statement: OfferStatement | ReceiptStatement | AnswerStatement,
  { key, kid }: { readonly key: StatementKey; readonly kid: string },
): string {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', kid }))
  const signed = `${header}.${base64url(canonicalJson(statement))}`
  return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}`
}

const headerSchema = z.object({ alg: z.string(), kid: z.string() })

/** A parsed JWS, nothing verified. */
type ReadStatement = {
  readonly kid: string
  readonly alg: string
  readonly statement: unknown
  readonly signed: Buffer
  readonly signature: Buffer
}

const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())

/** Parses a compact JWS; undefined if it is not one. */
export function readStatement(jws: string): ReadStatement | undefined {
  const [header = '', payload = '', signature = '', ...rest] = jws.split('.')
  if (signature === '' || rest.length > 0) return undefined
  try {
    const { alg, kid } = headerSchema.parse(decode(header))
    const signed = Buffer.from(`${header}.${payload}`)
    return {
      kid,
      alg,
      statement: decode(payload),
      signed,
      signature: Buffer.from(signature, 'base64url'),
    }
  } catch {
    return undefined
  }
}

/** A public key as did:web documents give it. */
export const statementJwk = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
})

/** Whether a key signed a statement. False for an invalid key, too. */
export function isSignedBy(read: ReadStatement, jwk: z.infer<typeof statementJwk>): boolean {
  try {
    const input: JsonWebKeyInput = { key: jwk, format: 'jwk' }
    return verify(null, read.signed, createPublicKey(input), read.signature)
  } catch {
    return false
  }
}

/** The did:web of an origin; a port is written `%3A`. */
export function didFromUrl(baseUrl: string): string {
  return `did:web:${new URL(baseUrl).host.replace(':', '%3A')}`
}

/** Where the document of an origin's did:web is; plain http only on the loopback. */
export function didDocumentUrl(resourceUrl: string): string {
  const { host, hostname } = new URL(resourceUrl)
  const isLoopback = hostname === 'localhost' || hostname === '127.0.0.1'
  return `${isLoopback ? 'http' : 'https'}://${host}/.well-known/did.json`
}

/**
 * The one JSON text of a value (RFC 8785), for what is signed or hashed: members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them, no white space. @tallystick/hashchain has its own, and e2e holds both to one text: this
 * package imports no workspace package, so that a seller installs it alone.
 */

/** Deeper values are refused: a caller's arguments must not exhaust the stack. */
const DEPTH_MAX = 64

/**
 * The canonical text. Members that are undefined are left out. Throws RangeError for what JSON cannot hold (NaN, a lone
 * surrogate, a hole, a bigint, a function, a date) and for more than 64 levels.
 *
 * @example
 * canonicalJson({ b: [1.0, 'é'], a: null }) // '{"a":null,"b":[1,"é"]}'
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > DEPTH_MAX) throw new RangeError(`over ${DEPTH_MAX} levels of JSON`)
  if (typeof value === 'string' && !value.isWellFormed())
    throw new RangeError('a lone surrogate is no text')
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return JSON.stringify(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (Array.isArray(value))
    return `[${Array.from(value, (item) => canonicalJson(item, depth + 1)).join(',')}]`
  if (typeof value !== 'object') throw new RangeError(`JSON holds no ${typeof value}`)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    throw new RangeError('JSON holds no object with a class of its own')
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member, depth + 1)}`)
  return `{${members.join(',')}}`
}
