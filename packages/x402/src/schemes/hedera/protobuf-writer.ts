/** A varint field; nothing where the value is 0, as in proto3. `value` is unsigned, up to 64 bits. */
export function writeVarintField(field: number, value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array()
  return Buffer.concat([writeVarint(BigInt(field) << 3n), writeVarint(value)])
}

/** A length-delimited field: a message, a string or bytes; also where it is empty. */
export function writeBytesField(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([
    writeVarint((BigInt(field) << 3n) | 2n),
    writeVarint(BigInt(bytes.length)),
    bytes,
  ])
}

/** The zigzag form of a signed value, for a sint64 field. */
export function toZigzag(value: bigint): bigint {
  return value >= 0n ? value << 1n : (-value << 1n) - 1n
}

function writeVarint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}
