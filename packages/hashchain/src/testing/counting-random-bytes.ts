/** Bytes that count up, big-endian, in place of randomness: predictable and never repeated. For tests only. */
export function countingRandomBytes(): (size: number) => Uint8Array {
  let count = 0
  return (size) => {
    count += 1
    const bytes = Buffer.alloc(size)
    bytes.writeUIntBE(count, size - 6, 6)
    return bytes
  }
}
