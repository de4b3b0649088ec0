/** The private keys of accounts, in the forms that people have them in, and what a text is that is none. */
import { createPrivateKey } from 'node:crypto'
import { secp256k1 } from './secp256k1.ts'

type KeyKind = 'ecdsa' | 'ed25519'

type PrivateKeyReading =
  | {
      readonly kind: 'key'
      readonly keyKind: KeyKind
      /** 32 bytes in lower-case hex, without `0x`. */
      readonly hex: string
    }
  /** Says what the text is instead, such as `20 bytes: an address?`. Never a part of it. */
  | { readonly kind: 'not_a_key'; readonly what: string }

/** Hedera's portal prints this before the 32 bytes of an ECDSA key: DER that OpenSSL does not read. */
const PORTAL_ECDSA = '3030020100300706052b8104000a04220420'

/** RFC 8410 before a raw Ed25519 private key. */
export const ED25519_PKCS8 = '302e020100300506032b657004220420'

/** DER of public keys: Ed25519, and secp256k1 as SDKs and as OpenSSL write it. */
const PUBLIC_DER = /^(?:302a300506032b6570|302d300706052b8104000a|30[35]6301006072a8648ce3d0201)/

const KINDS: Readonly<Record<KeyKind, string>> = {
  ecdsa: 'an ECDSA key',
  ed25519: 'an Ed25519 key',
}

/**
 * Reads a private key: 32 bytes in hex, with or without `0x`, or DER in hex, which names its kind. Quotes and spaces around it
 * do not count. `only` is the kind that is needed, if it is one; `bare` is what 32 bytes are that do not say.
 */
export function readPrivateKey(
  text: string,
  { bare = 'ecdsa', only }: { readonly bare?: KeyKind; readonly only?: KeyKind } = {},
): PrivateKeyReading {
  const plain = text
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .trim()
  const digits = plain.replace(/^0x/i, '').toLowerCase()
  const isHex = /^(?:[0-9a-f]{2})+$/.test(digits)
  const key = isHex ? readHex(digits, bare) : undefined
  if (key === undefined) return { kind: 'not_a_key', what: whatIsIt(plain, digits) }
  if (only !== undefined && key.keyKind !== only)
    return { kind: 'not_a_key', what: `${KINDS[key.keyKind]}, not ${KINDS[only]}` }
  return { kind: 'key', ...key }
}

function readHex(
  digits: string,
  bare: KeyKind,
): { readonly keyKind: KeyKind; readonly hex: string } | undefined {
  const found =
    digits.length === 64
      ? { keyKind: bare, hex: digits }
      : digits.startsWith(PORTAL_ECDSA) && digits.length === PORTAL_ECDSA.length + 64
        ? ({ keyKind: 'ecdsa', hex: digits.slice(-64) } as const)
        : readDer(Buffer.from(digits, 'hex'))
  const isKey =
    found?.keyKind === 'ed25519' || secp256k1.isPrivateKey(Buffer.from(found?.hex ?? '', 'hex'))
  return isKey ? found : undefined
}

/** PKCS#8 of either kind, and SEC 1, as OpenSSL and SDKs write them. */
function readDer(der: Buffer): { readonly keyKind: KeyKind; readonly hex: string } | undefined {
  for (const type of ['pkcs8', 'sec1'] as const) {
    try {
      const { crv, d = '' } = createPrivateKey({ key: der, format: 'der', type }).export({
        format: 'jwk',
      })
      const hex = Buffer.from(d, 'base64url').toString('hex').padStart(64, '0')
      if (crv === 'secp256k1') return { keyKind: 'ecdsa', hex }
      if (crv === 'Ed25519') return { keyKind: 'ed25519', hex }
    } catch {
      // Not this form. What OpenSSL says may repeat the bytes.
    }
  }
  return undefined
}

/** The words of a recovery phrase: 12 to 24. */
const PHRASE = /^(?:[a-z]+\s+){11,23}[a-z]+$/i

function whatIsIt(plain: string, digits: string): string {
  if (plain === '') return 'empty'
  if (/^\d+\.\d+\.\d+$/.test(plain)) return 'an account id'
  if (plain.startsWith('-----BEGIN')) return 'PEM: give its DER in hex'
  if (PHRASE.test(plain)) return `${plain.split(/\s+/).length} words: a recovery phrase?`
  if (!/^[0-9a-f]+$/.test(digits)) return `${plain.length} characters, not all of them hexadecimal`
  if (digits.length % 2 === 1)
    return `${digits.length} hexadecimal digits: one is missing or too many`
  const bytes = digits.length / 2
  if (bytes === 32) return '32 bytes that are no key of secp256k1'
  if (bytes === 20) return '20 bytes: an address?'
  const isPublic =
    PUBLIC_DER.test(digits) ||
    (bytes === 33 && /^0[23]/.test(digits)) ||
    (bytes === 65 && digits.startsWith('04'))
  return isPublic ? `${bytes} bytes: a public key?` : `${bytes} bytes`
}

/** The key in 64 hexadecimal digits. Throws RangeError, which says what was given and never repeats it. */
export function neededPrivateKey(
  text: string,
  options?: Parameters<typeof readPrivateKey>[1],
): Extract<PrivateKeyReading, { kind: 'key' }> {
  const reading = readPrivateKey(text, options)
  if (reading.kind === 'key') return reading
  throw new RangeError(`privateKey: expected 32 bytes in hex, or DER in hex; it is ${reading.what}`)
}

/** 64 hexadecimal digits in a row, or the DER prefix of a key. */
const mayBeKey = (text: string): boolean =>
  /[0-9a-f]{64}/i.test(text) || /30(2e|30|54|77)0201/i.test(text)

/**
 * Why a command refuses these arguments, if one of them may be a private key. The answer never repeats it. `variable` is
 * where the key belongs.
 */
export function keyInArguments(list: readonly string[], variable: string): string | undefined {
  return list.some(mayBeKey)
    ? `One argument looks like a private key. Keys come from the environment (${variable} or ${variable}_FILE), where other users of this machine do not see them. If it is a real key, replace it: your shell may have kept this line.`
    : undefined
}
