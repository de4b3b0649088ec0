import {
  joinBytes,
  MalformedProtobuf,
  readMessage,
  toSigned,
  writeVarintField,
} from './protobuf.ts'

const ACCOUNT_ID = /^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,18})$/
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Whether a text is an account id in its only spelling, `shard.realm.num` without leading zeros. */
export function isAccountId(text: string): boolean {
  return ACCOUNT_ID.test(text)
}

/**
 * The `0x` address of an account without an EVM alias: its number in the last 8 bytes.
 *
 * @example longZeroAddress('0.0.1234') // '0x00000000000000000000000000000000000004d2'
 */
export function longZeroAddress(accountId: string): `0x${string}` {
  const [shard, realm, number] = splitAccountId(accountId)
  const value = (shard << 128n) | (realm << 64n) | number
  return `0x${value.toString(16).padStart(40, '0')}`
}

/** The aliases that accounts can have: an EVM address, or a serialised Ed25519 or ECDSA key. */
const PLAIN_ALIAS = /^(?:.{40}|1220.{64}|3a21.{66})$/

/**
 * Reads a protobuf AccountID: the account's name in mirror node paths, which is its id or, for an alias that the ledger
 * resolves, an EVM address or a key in base32. Throws MalformedProtobuf.
 */
export function readAccountName(bytes: Uint8Array): string {
  const fields = readMessage(bytes, { 1: 'varint', 2: 'varint', 3: 'varint', 4: 'bytes' })
  const alias = fields.bytes(4)
  if (alias !== undefined) {
    if (fields.has(3)) throw new MalformedProtobuf('account has a number and an alias')
    if (
      fields.varint(1) !== 0n ||
      fields.varint(2) !== 0n ||
      !PLAIN_ALIAS.test(Buffer.from(alias).toString('hex'))
    ) {
      throw new MalformedProtobuf('account alias is not plain')
    }
    return alias.length === 20 ? `0x${Buffer.from(alias).toString('hex')}` : toBase32(alias)
  }
  return joinParts([fields.varint(1), fields.varint(2), fields.varint(3)])
}

/** Reads a protobuf TokenID as `shard.realm.num`. Throws MalformedProtobuf. */
export function readTokenId(bytes: Uint8Array): string {
  const fields = readMessage(bytes, { 1: 'varint', 2: 'varint', 3: 'varint' })
  return joinParts([fields.varint(1), fields.varint(2), fields.varint(3)])
}

function joinParts(varints: readonly bigint[]): string {
  const parts = varints.map(toSigned)
  if (parts.some((part) => part < 0n)) throw new MalformedProtobuf('entity number is negative')
  return parts.join('.')
}

/** Whether the name of an account is an alias. */
export const isAlias = (name: string): boolean => !name.includes('.')

/** Writes a protobuf AccountID, or TokenID, for `shard.realm.num`. Throws RangeError for any other text. */
export function writeEntityId(accountId: string): Uint8Array {
  return joinBytes(
    splitAccountId(accountId).map((part, index) => writeVarintField(index + 1, part)),
  )
}

/** Shard, realm and number. */
function splitAccountId(accountId: string): [bigint, bigint, bigint] {
  const match = ACCOUNT_ID.exec(accountId)
  if (match === null) throw new RangeError(`not an account id: ${accountId.slice(0, 64)}`)
  const [, shard = '0', realm = '0', number = '0'] = match
  return [BigInt(shard), BigInt(realm), BigInt(number)]
}

/** RFC 4648 base32 without padding, as mirror nodes spell key aliases. */
export function toBase32(bytes: Uint8Array): string {
  let bits = 0
  let value = 0
  let text = ''
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += BASE32[(value >> bits) & 31]
    }
  }
  return bits === 0 ? text : text + BASE32[(value << (5 - bits)) & 31]
}
