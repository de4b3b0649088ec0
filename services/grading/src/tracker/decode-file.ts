/**
 * A file's bytes as text. Spreadsheets save UTF-8, UTF-16 (with its mark or, by other programs, without) and Windows-1252;
 * bytes that are no UTF-8 are the last. It runs in browsers, too.
 */

/** Bytes looked at for UTF-16 without its mark: a header. */
const HEAD_BYTES = 512

/** The encoding of a text whose letters are mostly Latin: every other byte is zero in UTF-16. */
function encodingIn(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  const zeros = [0, 0]
  const head = bytes.subarray(0, HEAD_BYTES)
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if (Math.max(even, odd) * 4 < head.length) return 'utf-8'
  return odd > even ? 'utf-16le' : 'utf-16be'
}

export function decodeFile(bytes: Uint8Array): string {
  const encoding = encodingIn(bytes)
  if (encoding !== 'utf-8') return new TextDecoder(encoding).decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** UTF-8 that was read as Windows-1252 (`Ã¡`, `â€™`), bytes that were no UTF-8, or UTF-16 that was read as anything else. */
const BROKEN = /[\uFFFD\0]|[ÃÂ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€|^(?:ÿþ|þÿ)/u

/** Whether a text was read in another encoding than it was written in. */
export const isBrokenText = (text: string): boolean => BROKEN.test(text)

export const OTHER_ENCODING =
  'the text was read in another encoding than its own; send the file’s bytes as text/csv'
