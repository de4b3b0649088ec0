/**
 * Protobuf's wire format: a writer of fields, and a strict reader. A shape says what a message may contain; anything else
 * is refused: unknown fields, wrong wire types, a singular field twice, an overlong varint, leftover bytes. Lenient
 * readers disagree about such input, and a payment must mean the same to us and to the network.
 */

/** The bytes are not a message of the given shape. */
export class MalformedProtobuf extends Error {
  override readonly name = 'MalformedProtobuf'
}

/** Field number to its form. `varint` and `bytes` may occur once; `repeated` means bytes that may occur many times. */
type MessageShape = Readonly<Record<number, 'varint' | 'bytes' | 'repeated'>>

const WIRE_VARINT = 0
const WIRE_BYTES = 2

/** Longest varint of 64 bits. */
const VARINT_BYTES_MAX = 10

/** Reads one message; its fields are found by number. Throws MalformedProtobuf. */
export function readMessage(bytes: Uint8Array, shape: MessageShape) {
  const varints = new Map<number, bigint>()
  const chunks = new Map<number, Uint8Array[]>()
  let at = 0
  const varint = (): bigint => {
    const read = readVarint(bytes, at)
    at = read.next
    return read.value
  }
  while (at < bytes.length) {
    const tag = varint()
    const field = Number(tag >> 3n)
    const form = shape[field]
    if (form === undefined) throw new MalformedProtobuf(`unknown field ${field}`)
    const wire = Number(tag & 7n)
    if (wire !== (form === 'varint' ? WIRE_VARINT : WIRE_BYTES)) {
      throw new MalformedProtobuf(`field ${field} has wire type ${wire}`)
    }
    if (form !== 'repeated' && (varints.has(field) || chunks.has(field))) {
      throw new MalformedProtobuf(`field ${field} occurs twice`)
    }
    if (form === 'varint') {
      varints.set(field, varint())
      continue
    }
    const length = varint()
    if (length > BigInt(bytes.length - at)) throw new MalformedProtobuf(`field ${field} is cut off`)
    const chunk = bytes.subarray(at, at + Number(length))
    at += Number(length)
    const earlier = chunks.get(field)
    if (earlier === undefined) chunks.set(field, [chunk])
    else earlier.push(chunk)
  }
  return {
    fields: (): readonly number[] => [...varints.keys(), ...chunks.keys()],
    has: (field: number): boolean => varints.has(field) || chunks.has(field),
    /** Unsigned 64-bit value; 0 if absent, as in proto3. */
    varint: (field: number): bigint => varints.get(field) ?? 0n,
    bytes: (field: number): Uint8Array | undefined => chunks.get(field)?.[0],
    repeated: (field: number): readonly Uint8Array[] => chunks.get(field) ?? [],
  }
}

function readVarint(bytes: Uint8Array, from: number): { value: bigint; next: number } {
  let value = 0n
  for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
    const byte = bytes[from + index]
    if (byte === undefined) throw new MalformedProtobuf('varint is cut off')
    value |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) {
      if (byte === 0 && index > 0) throw new MalformedProtobuf('varint is overlong')
      if (value >= 1n << 64n) throw new MalformedProtobuf('varint exceeds 64 bits')
      return { value, next: from + index + 1 }
    }
  }
  throw new MalformedProtobuf('varint is longer than ten bytes')
}

/** An int64 or int32 of the wire: two's complement in 64 bits. */
export function toSigned(value: bigint): bigint {
  return BigInt.asIntN(64, value)
}

/** A sint64 of the wire: zigzag. */
export function fromZigzag(value: bigint): bigint {
  return (value >> 1n) ^ -(value & 1n)
}

/** Parts in a row. Pages write messages, too, and have no Buffer. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/** A varint field; nothing for 0, as in proto3. `value` is unsigned, up to 64 bits. */
export function writeVarintField(field: number, value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array()
  return joinBytes([writeVarint(BigInt(field) << 3n), writeVarint(value)])
}

/** A length-delimited field: a message, a string or bytes; written even if empty. */
export function writeBytesField(field: number, bytes: Uint8Array): Uint8Array {
  return joinBytes([
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
