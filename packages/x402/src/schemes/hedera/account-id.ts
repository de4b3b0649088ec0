import { MalformedProtobuf, readMessage, toSigned, writeVarintField } from './protobuf.ts'

/** An account as a transaction names it: by number, or by alias bytes that the ledger resolves. */
export type AccountName =
  /** `accountId` is `shard.realm.num`. */
  | { readonly kind: 'number'; readonly accountId: string }
  /** 20 bytes are an EVM address; anything else is a serialised public key. */
  | { readonly kind: 'alias'; readonly alias: Uint8Array }

const ACCOUNT_ID = /^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,18})$/
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Whether a text is an account id in its only spelling, `shard.realm.num` without leading zeros. */
export function isAccountId(text: string): boolean {
  return ACCOUNT_ID.test(text)
}

/** The `0x` address of an account without an EVM alias: its number in the last 8 bytes. */
export function longZeroAddress(accountId: string): `0x${string}` {
  const [shard, realm, number] = partsOf(accountId)
  const value = (shard << 128n) | (realm << 64n) | number
  return `0x${value.toString(16).padStart(40, '0')}`
}

/** An account's name in mirror node paths: its id, its EVM address, or its key alias in base32. */
export function mirrorNameOf(name: AccountName): string {
  if (name.kind === 'number') return name.accountId
  return name.alias.length === 20
    ? `0x${Buffer.from(name.alias).toString('hex')}`
    : toBase32(name.alias)
}

/** The aliases that accounts can have: an EVM address, or a serialised Ed25519 or ECDSA key. */
const PLAIN_ALIAS = /^(?:.{40}|1220.{64}|3a21.{66})$/

/** Reads a protobuf AccountID. Throws MalformedProtobuf. */
export function readAccountName(bytes: Uint8Array): AccountName {
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
    return { kind: 'alias', alias }
  }
  const parts = [fields.varint(1), fields.varint(2), fields.varint(3)].map(toSigned)
  if (parts.some((part) => part < 0n)) throw new MalformedProtobuf('account number is negative')
  return { kind: 'number', accountId: parts.join('.') }
}

/** Writes a protobuf AccountID for `shard.realm.num`. Throws RangeError for any other text. */
export function writeAccountId(accountId: string): Uint8Array {
  return Buffer.concat(partsOf(accountId).map((part, index) => writeVarintField(index + 1, part)))
}

/** Shard, realm and number. */
function partsOf(accountId: string): [bigint, bigint, bigint] {
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
