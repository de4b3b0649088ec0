/**
 * The seller's side of x402's extension `offer-receipt` (X18): signs what a challenge offers, and a receipt for each paid
 * answer. receipt-verifier.ts is the buyer's side.
 */
import { hash, hkdfSync } from 'node:crypto'
import { type Clock, systemClock } from '../clock.ts'
import type { PaidResource, PaymentRequirement, Settlement } from '../payment.ts'
import {
  ANSWER_STATEMENT,
  didFromUrl,
  OFFER_RECEIPT,
  type SignedStatement,
  signStatement,
  statementKey,
} from './signed-statement.ts'

/** How long a signed offer is valid; a client has at least half of that to pay. */
const OFFER_SECONDS = 600

/** A challenge offers this. */
type OfferedTerms = {
  readonly requirements: readonly PaymentRequirement[]
  readonly resource: PaidResource
}

/** Signs a gate's offers and receipts. */
export type ReceiptIssuer = ReturnType<typeof createReceiptIssuer>

/** A key no longer used to sign: receipts are checked for years, so it stays in the document. */
type EarlierKey = { readonly keyName: string; readonly x: string }

/**
 * An issuer for one public origin. `/.well-known/did.json` there must answer `didDocument`, or nobody can check what was
 * signed. Use the key for nothing else, and a new `keyName` with each new key. Throws RangeError for a bad seed.
 */
export function createReceiptIssuer(options: {
  /** Public address of the service; its host becomes the did:web. */
  readonly baseUrl: string
  /** Ed25519 seed, 32 bytes in hex. */
  readonly privateKey: string
  readonly clock?: Pick<Clock, 'unixMs'> | undefined
  /** The key's name in the document, by default `key-1`. */
  readonly keyName?: string | undefined
  readonly earlierKeys?: readonly EarlierKey[]
}) {
  const { baseUrl, clock = systemClock, earlierKeys = [], keyName = 'key-1' } = options
  const key = statementKey(options.privateKey)
  const did = didFromUrl(baseUrl)
  const kid = `${did}#${keyName}`
  const nowSeconds = (): number => Math.floor(clock.unixMs() / 1_000)
  /** Signed offers by terms, renewed at half-time: a signature costs more than a cached challenge. */
  const cache = new WeakMap<
    OfferedTerms,
    { readonly offers: readonly SignedStatement[]; readonly untilSeconds: number }
  >()

  return {
    kid,
    /** The key's public half, base64url: an `earlierKeys` entry of the next issuer. */
    publicKey: key.x,
    /** `/.well-known/did.json` answers this. */
    didDocument: buildDidDocument(did, [{ keyName, x: key.x }, ...earlierKeys]),
    /** One offer for each requirement; the same objects until half of their time has passed. */
    offersFor(terms: OfferedTerms): readonly SignedStatement[] {
      const now = nowSeconds()
      const cached = cache.get(terms)
      if (cached !== undefined && now < cached.untilSeconds) return cached.offers
      const { url: resourceUrl } = terms.resource
      const validUntil = now + OFFER_SECONDS
      const offers = terms.requirements.map((requirement, acceptIndex) => {
        const { amount, asset, network, payTo, scheme } = requirement
        const offer = { version: 1, resourceUrl, scheme, network, asset, payTo, amount } as const
        return { ...statement(signStatement({ ...offer, validUntil }, { key, kid })), acceptIndex }
      })
      cache.set(terms, { offers, untilSeconds: now + OFFER_SECONDS / 2 })
      return offers
    },
    /** The settlement with a receipt for its payer, issued now, and a statement of the answer's hash if its text is given. */
    withReceipt(
      settlement: Settlement,
      {
        answerText,
        ...served
      }: {
        readonly payer: string
        readonly resourceUrl: string
        readonly answerText?: string | undefined
      },
    ): Settlement {
      const { network, transaction } = settlement
      const issued = {
        version: 1,
        network,
        ...served,
        issuedAt: nowSeconds(),
        transaction,
      } as const
      const receipt = statement(signStatement(issued, { key, kid }))
      const extensions = { [OFFER_RECEIPT]: { info: { receipt } } }
      if (answerText === undefined) return { ...settlement, extensions }
      const answered = { ...issued, answerSha256: hash('sha256', answerText) }
      const info = { statement: statement(signStatement(answered, { key, kid })) }
      return { ...settlement, extensions: { ...extensions, [ANSWER_STATEMENT]: { info } } }
    },
  }
}

/** A key's name in the document, derived from its public half, so that a new key has a new name. */
const receiptKeyName = (x: string): string => `receipts-${hash('sha256', x).slice(0, 8)}`

/**
 * An issuer whose seed is HKDF-SHA-256 (RFC 5869) of `secret` for `purpose`: every replica signs alike, and there is no other
 * secret to keep. When the secret changes, list the previous public keys in `earlierKeys`, so that what they signed can still
 * be checked.
 */
export function createDerivedReceiptIssuer(options: {
  readonly secret: Uint8Array
  /** Separates this key from every other use of the secret, such as `tallystick grading receipts`. */
  readonly purpose: string
  readonly baseUrl: string
  readonly clock?: Pick<Clock, 'unixMs'> | undefined
  /** Ed25519 public keys, base64url, as `/.well-known/did.json` had them. */
  readonly earlierKeys?: readonly string[] | undefined
}): ReceiptIssuer {
  const { baseUrl, clock = systemClock, earlierKeys = [], purpose, secret } = options
  const seed = hkdfSync('sha256', secret, '', purpose, 32)
  const privateKey = Buffer.from(seed).toString('hex')
  const { x: publicKey } = statementKey(privateKey)
  return createReceiptIssuer({
    baseUrl,
    privateKey,
    clock,
    keyName: receiptKeyName(publicKey),
    earlierKeys: earlierKeys
      .filter((x) => x !== publicKey)
      .map((x) => ({ keyName: receiptKeyName(x), x })),
  })
}

const statement = (jws: string): SignedStatement => ({ format: 'jws', signature: jws })

function buildDidDocument(did: string, keys: readonly EarlierKey[]) {
  const methods = keys.map(({ keyName, x }) => ({
    id: `${did}#${keyName}`,
    type: 'JsonWebKey2020',
    controller: did,
    publicKeyJwk: { kty: 'OKP', crv: 'Ed25519', x },
  }))
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id: did,
    verificationMethod: methods,
    assertionMethod: methods.map(({ id }) => id),
  }
}
