import { proto } from '@hiero-ledger/proto'
import { deriveEvmAddress } from '@tallystick/x402/hedera'
import { type Address, bytesToHex } from 'viem'
import { fromProtoKey, type SingleKey } from '../ledger/account-key.ts'
import type { AccountRegistry, Entity } from '../ledger/account-registry.ts'
import { longZeroNumber } from '../ledger/entity-id.ts'
import { type AccountReference, readAccount } from '../ledger/signed-transaction.ts'

/** What a reference names: an entity, an unused alias, or nothing that could be an account. */
type ResolvedAccount =
  | { kind: 'entity'; entity: Entity }
  /** Value sent here creates an account: hollow without a key, complete with one. */
  | { kind: 'new-alias'; address: Address | undefined; key: SingleKey | null; alias: Buffer }
  | { kind: 'unknown' }

/** Finds the account that a transaction names by number or by alias. */
export function resolveAccount(
  accounts: AccountRegistry,
  reference: AccountReference,
): ResolvedAccount {
  if (reference.kind === 'number') {
    const entity = accounts.byNumber(reference.number)
    return entity === undefined ? { kind: 'unknown' } : { kind: 'entity', entity }
  }
  const { alias } = reference
  if (alias.length === 20) return byAddress(accounts, bytesToHex(alias))
  return byKey(accounts, alias)
}

/** The entity that a message names, deleted ones included. */
export function findAccount(
  accounts: AccountRegistry,
  id: proto.IAccountID | null | undefined,
): Entity | undefined {
  const reference = readAccount(id)
  const found = reference && resolveAccount(accounts, reference)
  return found?.kind === 'entity' ? found.entity : undefined
}

/** The same, unless it is deleted. */
export function findLivingAccount(
  accounts: AccountRegistry,
  id: proto.IAccountID | null | undefined,
): Entity | undefined {
  const found = findAccount(accounts, id)
  return found?.isDeleted === true ? undefined : found
}

function byAddress(accounts: AccountRegistry, address: Address): ResolvedAccount {
  const entity = accounts.byAddress(address)
  if (entity !== undefined) return { kind: 'entity', entity }
  // A long-zero address is a number, and naming a number creates no account.
  return longZeroNumber(address) !== undefined
    ? { kind: 'unknown' }
    : { kind: 'new-alias', address, key: null, alias: Buffer.from(address.slice(2), 'hex') }
}

function byKey(accounts: AccountRegistry, alias: Buffer): ResolvedAccount {
  const key = decodeKey(alias)
  if (key === undefined) return { kind: 'unknown' }
  if (key.kind === 'ECDSA_SECP256K1') {
    const address = deriveEvmAddress(Buffer.from(key.publicKey, 'hex'))
    if (address === undefined) return { kind: 'unknown' }
    const entity = accounts.byAddress(address)
    return entity === undefined
      ? { kind: 'new-alias', address, key, alias }
      : { kind: 'entity', entity }
  }
  const entity = accounts
    .all()
    .find(({ key: own }) => own?.kind === 'ED25519' && own.publicKey === key.publicKey)
  return entity === undefined
    ? { kind: 'new-alias', address: undefined, key, alias }
    : { kind: 'entity', entity }
}

function decodeKey(alias: Buffer): SingleKey | undefined {
  try {
    return fromProtoKey(proto.Key.decode(alias))
  } catch {
    return undefined
  }
}
