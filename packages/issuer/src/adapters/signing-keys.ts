/** The ES256 keys that sign tokens, and those that sign cookies, in one private file. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { PrivateFileUnusable, readPrivateFile, writePrivateFile } from './private-file.ts'

/** The signing key, the previous one, whose tokens are still valid, and one more for a hasty rotation. */
export const KEYS_KEPT = 3
const COOKIE_KEY_BYTES = 32

const keysFile = z.object({
  /** Private keys as JWK; the first signs, all are published. */
  keys: z
    .array(
      z.looseObject({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        kid: z.string(),
        d: z.string(),
        alg: z.literal('ES256'),
      }),
    )
    .min(1),
  cookieKeys: z.array(z.string().min(32)).min(1),
})

export type SigningKeys = z.output<typeof keysFile>

export function newSigningKey(): SigningKeys['keys'][number] {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y, d = '' } = privateKey.export({ format: 'jwk' })
  const kid = randomBytes(12).toString('base64url')
  return { kty: 'EC', crv: 'P-256', x, y, d, kid, alg: 'ES256', use: 'sig' }
}

export const newCookieKey = (): string => randomBytes(COOKIE_KEY_BYTES).toString('base64url')

/** Throws zod's error, which shows keys. */
export const readSigningKeys = (value: unknown): SigningKeys => keysFile.parse(value)

function readKeys(path: string): SigningKeys | undefined {
  const text = readPrivateFile(path)
  if (text === undefined) return undefined
  try {
    return readSigningKeys(JSON.parse(text))
  } catch {
    // The cause would show keys.
    throw new PrivateFileUnusable(`${path} does not hold signing keys`)
  }
}

const save = (path: string, keys: SigningKeys): SigningKeys => {
  writePrivateFile(path, `${JSON.stringify(keys, undefined, 2)}\n`)
  return keys
}

/** The keys in the file, created if missing. Throws `PrivateFileUnusable`. */
export function openSigningKeys(path: string): SigningKeys {
  return readKeys(path) ?? save(path, { keys: [newSigningKey()], cookieKeys: [newCookieKey()] })
}

export type DroppedKey =
  | { readonly kind: 'dropped' }
  | { readonly kind: 'unknown'; readonly kids: readonly string[] }

/** Removes a key; if it signs, another one does from the next start on. Throws `PrivateFileUnusable`. */
export function dropSigningKey(path: string, kid: string): DroppedKey {
  const { keys = [], cookieKeys = [] } = readKeys(path) ?? {}
  const left = keys.filter((key) => key.kid !== kid)
  if (left.length === keys.length) return { kind: 'unknown', kids: keys.map((key) => key.kid) }
  save(path, { keys: left.length === 0 ? [newSigningKey()] : left, cookieKeys })
  return { kind: 'dropped' }
}

/** Adds a key that signs from the next start on; the previous one stays published. Throws `PrivateFileUnusable`. */
export function rotateSigningKeys(path: string): void {
  const { keys, cookieKeys } = openSigningKeys(path)
  save(path, { keys: [newSigningKey(), ...keys].slice(0, KEYS_KEPT), cookieKeys })
}
