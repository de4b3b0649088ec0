// What the creation and the update of an account change.

import { proto } from '@hiero-ledger/proto'
import { evmAddressOf } from '@tallystick/x402/hedera'
import { type Address, bytesToHex } from 'viem'
import {
  type AccountKey,
  completingKey,
  fromProtoKey,
  fromProtoKeys,
  isSignedBy,
} from '../ledger/account-key.ts'
import { longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Plan, PlanRequest } from './handle-transaction.ts'
import { hasSigned, isMemoTooLong } from './precheck-transaction.ts'
import { resolveAccount } from './resolve-account.ts'
import { readAccount, type Status, toBigInt } from './signed-transaction.ts'

/** The plan of an AccountCreate, or why consensus refuses it. */
export function planAccountCreate(
  ledger: Ledger,
  message: proto.ICryptoCreateTransactionBody,
  { transaction, payer }: PlanRequest,
): Status | Plan {
  const key = readKey(message.key)
  if (typeof key === 'string') return key
  const alias = message.alias ?? new Uint8Array()
  const address = alias.length === 0 ? undefined : addressOfAlias(alias, key)
  if (address === null) return 'INVALID_ALIAS_KEY'
  if (address !== undefined) {
    if (ledger.accounts.byAddress(address) !== undefined) return 'ALIAS_ALREADY_ASSIGNED'
    // Whoever takes an address shows that its key is theirs.
    if (completingKey(address, transaction.signed) === undefined) return 'INVALID_SIGNATURE'
  }
  const balance = toBigInt(message.initialBalance)
  if (balance < 0n) return 'INVALID_INITIAL_BALANCE'
  if (isMemoTooLong(message.memo ?? '')) return 'MEMO_TOO_LONG'
  if (message.receiverSigRequired === true) return 'NOT_SUPPORTED'
  const maxAutoAssociations = message.maxAutomaticTokenAssociations ?? 0
  if (maxAutoAssociations < -1) return 'INVALID_MAX_AUTO_ASSOCIATIONS'
  return {
    moves: [[payer.address, -balance]],
    apply(createdNs) {
      const known = alias.length === 0 ? {} : { address, alias }
      const created = ledger.accounts.create({ ...known, key, createdNs, maxAutoAssociations })
      created.memo = message.memo ?? ''
      return { moves: [[created.address, balance]], created: { accountID: created.number } }
    },
  }
}

/** The plan of an AccountUpdate of key, memo and automatic associations, or why consensus refuses it. */
export function planAccountUpdate(
  ledger: Ledger,
  message: proto.ICryptoUpdateTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const reference = readAccount(message.accountIDToUpdate)
  const found = reference && resolveAccount(ledger.accounts, reference)
  if (found?.kind !== 'entity') return 'INVALID_ACCOUNT_ID'
  const account = found.entity
  const key = message.key == null ? undefined : readKey(message.key)
  if (typeof key === 'string') return key
  const isSigned = key === undefined || isSignedBy(key, transaction.signed)
  if (!isSigned || !hasSigned(account, transaction.signed)) return 'INVALID_SIGNATURE'
  if (isMemoTooLong(message.memo?.value ?? '')) return 'MEMO_TOO_LONG'
  return {
    moves: [],
    apply() {
      account.key = key ?? account.key
      account.memo = message.memo?.value ?? account.memo
      const max = message.maxAutomaticTokenAssociations?.value
      account.maxAutoAssociations = max ?? account.maxAutoAssociations
      return { moves: [], entityId: account.id }
    },
  }
}

function readKey(key: proto.IKey | null | undefined): AccountKey | Status {
  if (key == null) return 'KEY_REQUIRED'
  const read = fromProtoKeys(key)
  if (read === undefined) return 'BAD_ENCODING'
  return read.kind === 'KEY_LIST' && read.keys.length === 0 ? 'KEY_REQUIRED' : read
}

/** The address that an alias stands for: an EVM address itself, or that of the account's own ECDSA key; null for none. */
function addressOfAlias(alias: Uint8Array, key: AccountKey): Address | null {
  if (alias.length === 20) {
    const address = bytesToHex(alias)
    return longZeroNumber(address) === undefined ? address : null
  }
  const named = fromProtoKey(proto.Key.decode(alias))
  if (named?.kind !== 'ECDSA_SECP256K1' || key.kind !== named.kind) return null
  if (key.publicKey !== named.publicKey) return null
  return evmAddressOf(Buffer.from(named.publicKey, 'hex')) ?? null
}
