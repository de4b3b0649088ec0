/** @typedef {{ readonly body: string, readonly timestamp: string, readonly signature: string }} SignedWrite */

const encoder = new TextEncoder()

/** Whether this page may sign: browsers offer WebCrypto on https and on this machine's own address only. */
export const canSign = () => globalThis.crypto?.subtle !== undefined

/**
 * Signs a write: lower-case hex of HMAC-SHA256 over the bytes `<timestamp>.<raw body>`, the key being the UTF-8 bytes
 * of the write secret (care.md, POST /write; S3).
 *
 * @param {{ secret: string, body: string, timestamp: string }} write
 * @returns {Promise<SignedWrite>}
 */
export async function signWrite({ secret, body, timestamp }) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, [
    'sign',
  ])
  const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(`${timestamp}.${body}`))
  const signature = Array.from(new Uint8Array(mac), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
  return { body, timestamp, signature }
}
