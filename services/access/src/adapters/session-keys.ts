import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { SessionKeys } from '../domain/agent-guard.ts'

/** 128 bits, in hex: what EIP-4361 takes as a nonce. */
const NONCE_CHARS = 32

/** `v1.`, the agent, the second at which the token ends, and 43 characters of HMAC. */
const TOKEN = /^v1\.0x[0-9a-f]{40}\.([1-9]\d{0,11})\.[\w-]{43}$/

/** Whether a text from outside equals that ASCII text; takes the same time for every text of its length. */
function isSame(presented: string, expected: string): boolean {
  const bytes = Buffer.from(presented)
  return bytes.length === expected.length && timingSafeEqual(bytes, Buffer.from(expected))
}

/**
 * Nonces and tokens of guarded agents, each an HMAC-SHA256 that any process with the key can compute again, so nothing is
 * stored. `key` is deriveSessionKey's; nonces and tokens begin differently, so neither passes for the other.
 */
export function createSessionKeys(key: Uint8Array): SessionKeys {
  const secret = createSecretKey(key)
  const makeHmac = (text: string) => createHmac('sha256', secret).update(text)
  const makeNonce = (agent: string, issuedAt: string): string =>
    makeHmac(`nonce.${agent}.${issuedAt}`).digest('hex').slice(0, NONCE_CHARS)
  const makeToken = (agent: string, expiresAtSeconds: number): string => {
    const text = `v1.${agent}.${expiresAtSeconds}`
    return `${text}.${makeHmac(text).digest('base64url')}`
  }
  return {
    makeNonce,
    isNonce: ({ agent, issuedAt, nonce }) => isSame(nonce, makeNonce(agent, issuedAt)),
    makeToken,
    judgeToken({ agent, nowSeconds, token }) {
      const expiresAtSeconds = Number(TOKEN.exec(token)?.[1] ?? Number.NaN)
      if (Number.isNaN(expiresAtSeconds)) return 'invalid'
      if (!isSame(token, makeToken(agent, expiresAtSeconds))) return 'invalid'
      return expiresAtSeconds > nowSeconds ? 'valid' : 'expired'
    },
  }
}

/** The key of one deployment: a nonce or a token made for another base URL is worthless, whoever shares the secret. */
export function deriveSessionKey(secret: Uint8Array, baseUrl: string): Buffer {
  return createHmac('sha256', secret).update(`tallystick access session\n${baseUrl}`).digest()
}
