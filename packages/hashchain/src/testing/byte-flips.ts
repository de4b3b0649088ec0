/** Copies of `bytes`, each with every bit of one byte inverted, first byte to last; for tampering tests. */
export function* byteFlips(
  bytes: Uint8Array,
): Generator<{ readonly index: number; readonly flipped: Uint8Array }> {
  for (const [index, byte] of bytes.entries()) {
    const flipped = Uint8Array.from(bytes)
    flipped[index] = byte ^ 0xff
    yield { index, flipped }
  }
}
