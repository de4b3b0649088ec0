// What the creation and the update of an account change.

import { proto } from '@hiero-ledger/proto'
import { deriveEvmAddress } from '@tallystick/x402/hedera'
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
import { type Status, toBigInt } from '../ledger/signed-transaction.ts'
import type { Plan, PlanRequest } from './plan.ts'
import { feeTinybar, hasSigned, isMemoTooLong } from './precheck-transaction.ts'
import { findAccount } from './resolve-account.ts'

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
    // Whoever takes the address of another key shows that it is theirs (HIP-583).
    const isOwn = key.kind === 'ECDSA_SECP256K1' && address === addressOfKey(key.publicKey)
    if (!isOwn && completingKey(address, transaction.signed) === undefined)
      return 'INVALID_SIGNATURE'
  }
  const balance = toBigInt(message.initialBalance)
  if (balance < 0n) return 'INVALID_INITIAL_BALANCE'
  if (isMemoTooLong(message.memo ?? '')) return 'MEMO_TOO_LONG'
  const isReceiverSigRequired = message.receiverSigRequired === true
  if (isReceiverSigRequired && !isSignedBy(key, transaction.signed)) return 'INVALID_SIGNATURE'
  const maxAutoAssociations = message.maxAutomaticTokenAssociations ?? 0
  if (maxAutoAssociations < -1) return 'INVALID_MAX_AUTO_ASSOCIATIONS'
  return {
    moves: [[payer.address, -balance]],
    apply(createdNs) {
      const known = alias.length === 0 ? {} : { address, alias }
      const created = ledger.accounts.create({ ...known, key, createdNs, maxAutoAssociations })
      Object.assign(created, { memo: message.memo ?? '', isReceiverSigRequired })
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
  if (message.accountIDToUpdate == null) return 'ACCOUNT_ID_DOES_NOT_EXIST'
  const account = findAccount(ledger.accounts, message.accountIDToUpdate)
  if (account === undefined) return 'INVALID_ACCOUNT_ID'
  if (account.isDeleted) return 'ACCOUNT_DELETED'
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
      account.isReceiverSigRequired =
        message.receiverSigRequiredWrapper?.value ?? account.isReceiverSigRequired
      ledger.accounts.state.changed.push(account)
      return { moves: [], entityId: account.id }
    },
  }
}

/** The plan of an AccountDelete, which gives what the account has to another; or why consensus refuses it. */
export async function planAccountDelete(
  ledger: Ledger,
  message: proto.ICryptoDeleteTransactionBody,
  { transaction, payer }: PlanRequest,
): Promise<Status | Plan> {
  const { deleteAccountID, transferAccountID } = message
  if (deleteAccountID == null || transferAccountID == null) return 'ACCOUNT_ID_DOES_NOT_EXIST'
  const account = findAccount(ledger.accounts, deleteAccountID)
  const heir = findAccount(ledger.accounts, transferAccountID)
  if (account === undefined) return 'INVALID_ACCOUNT_ID'
  if (heir === undefined) return 'INVALID_TRANSFER_ACCOUNT_ID'
  if (account === heir) return 'TRANSFER_ACCOUNT_SAME_AS_DELETE_ACCOUNT'
  if (account.isDeleted || heir.isDeleted) return 'ACCOUNT_DELETED'
  const signers = heir.isReceiverSigRequired ? [account, heir] : [account]
  if (!signers.every((signer) => hasSigned(signer, transaction.signed))) return 'INVALID_SIGNATURE'
  const holdings = ledger.tokens.byAccount(account)
  if (holdings.some(({ token }) => token.treasury === account && !token.isDeleted))
    return 'ACCOUNT_IS_TREASURY'
  if (holdings.some(({ relation }) => relation.balance > 0n)) {
    return 'TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES'
  }
  const [balance = 0n] = await ledger.evm.balances([account.address])
  const rest = balance - (account === payer ? feeTinybar(ledger, transaction.content) : 0n)
  return {
    moves: [
      [account.address, -rest],
      [heir.address, rest],
    ],
    apply() {
      account.isDeleted = true
      ledger.accounts.state.changed.push(account)
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

const addressOfKey = (publicKey: string): Address | undefined =>
  deriveEvmAddress(Buffer.from(publicKey, 'hex'))

/** The address that an alias stands for: an EVM address itself, or that of the account's own ECDSA key; null for none. */
function addressOfAlias(alias: Uint8Array, key: AccountKey): Address | null {
  if (alias.length === 20) {
    const address = bytesToHex(alias)
    return longZeroNumber(address) === undefined ? address : null
  }
  const named = fromProtoKey(proto.Key.decode(alias))
  if (named?.kind !== 'ECDSA_SECP256K1' || key.kind !== named.kind) return null
  if (key.publicKey !== named.publicKey) return null
  return addressOfKey(named.publicKey) ?? null
}
