const STANDARD_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * The bytes of standard, padded base64 (RFC 4648 §4), or undefined for anything else. Base64url, missing padding, white
 * space and non-zero trailing bits are refused, so that each value has one spelling.
 */
export function decodeStrictBase64(text: string): Buffer | undefined {
  if (!STANDARD_BASE64.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Standard, padded base64 of bytes. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
