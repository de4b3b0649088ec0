// What the creation of a fungible token and the association of accounts with tokens change.

import { proto } from '@hiero-ledger/proto'
import { type AccountKey, fromProtoKeys, isSignedBy } from '../ledger/account-key.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { TOKEN_KEYS, type Token } from '../ledger/token-registry.ts'
import type { Plan, PlanRequest } from './handle-transaction.ts'
import { hasSigned, isMemoTooLong } from './precheck-transaction.ts'
import { resolveAccount } from './resolve-account.ts'
import { readAccount, type Status, toBigInt } from './signed-transaction.ts'

/** Longest name and symbol, UTF-8 bytes (tokens.maxTokenNameUtf8Bytes, maxSymbolUtf8Bytes). */
const NAME_BYTES_MAX = 100

/** Largest supply: what fits into the network's 64 bits. */
const SUPPLY_MAX = 2n ** 63n - 1n

/** The plan of a TokenCreate, or why consensus refuses it: what is not emulated is NOT_SUPPORTED, never left out. */
export function planTokenCreate(
  ledger: Ledger,
  message: proto.ITokenCreateTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const { name = '', symbol = '', decimals = 0, memo = '', treasury: reference } = message
  const isNft = (message.tokenType ?? 0) !== proto.TokenType.FUNGIBLE_COMMON
  const hasFees = (message.customFees ?? []).length > 0
  if (isNft || hasFees || message.kycKey != null || message.freezeDefault === true) {
    return 'NOT_SUPPORTED'
  }
  if (!name) return 'MISSING_TOKEN_NAME'
  if (!symbol) return 'MISSING_TOKEN_SYMBOL'
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return 'TOKEN_NAME_TOO_LONG'
  if (Buffer.byteLength(symbol) > NAME_BYTES_MAX) return 'TOKEN_SYMBOL_TOO_LONG'
  const totalSupply = toBigInt(message.initialSupply)
  const maxSupply = toBigInt(message.maxSupply)
  if (totalSupply < 0n || totalSupply > SUPPLY_MAX) return 'INVALID_TOKEN_INITIAL_SUPPLY'
  if (maxSupply > 0n && totalSupply > maxSupply) return 'INVALID_TOKEN_INITIAL_SUPPLY'
  if ((decimals ?? 0) < 0) return 'INVALID_TOKEN_DECIMALS'
  if (isMemoTooLong(memo ?? '')) return 'MEMO_TOO_LONG'
  const account = readAccount(reference)
  const found = account && resolveAccount(ledger.accounts, account)
  if (found?.kind !== 'entity') return 'INVALID_TREASURY_ACCOUNT_FOR_TOKEN'
  if (!hasSigned(found.entity, transaction.signed)) return 'INVALID_SIGNATURE'
  const keys = Object.fromEntries(
    TOKEN_KEYS.map((key) => [key, fromProtoKeys(message[`${key}Key`] ?? {}) ?? null]),
  ) as Record<(typeof TOKEN_KEYS)[number], AccountKey | null>
  if (keys.admin !== null && !isSignedBy(keys.admin, transaction.signed)) return 'INVALID_SIGNATURE'
  return {
    moves: [],
    apply(createdNs) {
      const number = ledger.accounts.takeNumber()
      const id = entityId(number)
      const facts = { number, id, name, symbol, decimals, memo, totalSupply, maxSupply, keys }
      ledger.tokens.add({ ...facts, treasury: found.entity, createdNs } as Token)
      const supply = { token: id, account: found.entity.id, amount: totalSupply }
      const tokenTransfers = totalSupply === 0n ? [] : [supply]
      return { moves: [], created: { tokenID: number }, tokenTransfers }
    },
  }
}

/** The plan of a TokenAssociate, or why consensus refuses it. */
export function planTokenAssociate(
  ledger: Ledger,
  message: proto.ITokenAssociateTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const reference = readAccount(message.account)
  const found = reference && resolveAccount(ledger.accounts, reference)
  if (found?.kind !== 'entity') return 'INVALID_ACCOUNT_ID'
  const account = found.entity
  if (!hasSigned(account, transaction.signed)) return 'INVALID_SIGNATURE'
  const numbers = (message.tokens ?? []).map(({ tokenNum }) => Number(toBigInt(tokenNum)))
  if (new Set(numbers).size < numbers.length) return 'TOKEN_ID_REPEATED_IN_TOKEN_LIST'
  const tokens: Token[] = []
  for (const number of numbers) {
    const token = ledger.tokens.byNumber(number)
    if (token === undefined) return 'INVALID_TOKEN_ID'
    if (ledger.tokens.relation(token, account)) return 'TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT'
    tokens.push(token)
  }
  return {
    moves: [],
    apply(createdNs) {
      for (const token of tokens) {
        ledger.tokens.associate(token, account, { isAutomatic: false, createdNs })
      }
      return { moves: [], entityId: account.id }
    },
  }
}
