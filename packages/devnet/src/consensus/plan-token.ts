// What the creation of a fungible token, the association of accounts with tokens, and allowances change. The token service judges
// who is associated with what (ledger/token-registry.ts).

import { proto } from '@hiero-ledger/proto'
import { tokenServiceAbi } from '@tallystick/contracts'
import { encodeFunctionData } from 'viem'
import { type AccountKey, fromProtoKeys, isSignedBy } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId, longZeroAddress } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Status, toBigInt } from '../ledger/signed-transaction.ts'
import { type CustomFee, TOKEN_KEYS } from '../ledger/token.ts'
import type { Plan, PlanRequest } from './plan.ts'
import { hasSigned, isMemoTooLong } from './precheck-transaction.ts'
import { readRenewal } from './read-renewal.ts'
import { findLivingAccount } from './resolve-account.ts'

/** Longest name and symbol, UTF-8 bytes (tokens.maxTokenNameUtf8Bytes, maxSymbolUtf8Bytes). */
const NAME_BYTES_MAX = 100

/** Longest metadata of a token (tokens.maxMetadataBytes). */
const METADATA_BYTES_MAX = 100

/** Largest supply, allowance and change of a balance: what fits into the network's 64 bits. */
export const AMOUNT_MAX = 2n ** 63n - 1n

/** Custom fees of a token, and allowances in a transaction (tokens.maxCustomFeesAllowed, hedera.allowances.maxTransactionLimit). */
const CUSTOM_FEES_MAX = 10
const ALLOWANCES_MAX = 20

/** The plan of a TokenCreate, or why consensus refuses it: what is not emulated is NOT_SUPPORTED, never left out. */
export function planTokenCreate(
  ledger: Ledger,
  message: proto.ITokenCreateTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const form = judgeForm(message)
  if (form !== 'OK') return form
  const treasury = findLivingAccount(ledger.accounts, message.treasury)
  if (treasury === undefined) return 'INVALID_TREASURY_ACCOUNT_FOR_TOKEN'
  const number = ledger.accounts.state.nextNumber
  const fees = readFees(ledger, message.customFees ?? [], number)
  if (typeof fees === 'string') return fees
  // Who is paid in the new token is associated with it, and agrees.
  const paid = fees.filter((fee) => fee.kind === 'fractional' || fee.token === number)
  const holders = [...new Set([treasury, ...paid.map(({ collector }) => collector)])]
  if (!holders.every((holder) => hasSigned(holder, transaction.signed))) return 'INVALID_SIGNATURE'
  const named = TOKEN_KEYS.map((key) => [key, message[`${key}Key`] ?? null] as const)
  const read = named.map(([name, key]) => [name, key && fromProtoKeys(key)] as const)
  if (read.some(([, key]) => key === undefined)) return 'BAD_ENCODING'
  const keys = Object.fromEntries(read) as Record<(typeof TOKEN_KEYS)[number], AccountKey | null>
  if (keys.admin !== null && !isSignedBy(keys.admin, transaction.signed)) return 'INVALID_SIGNATURE'
  const { name, symbol, memo } = message
  const text = { name: name ?? '', symbol: symbol ?? '' }
  const decimals = message.decimals ?? 0
  const totalSupply = toBigInt(message.initialSupply)
  const renewal = readRenewal(ledger, message, transaction.signed)
  if (typeof renewal === 'string') return renewal
  const startsFrozen = message.freezeDefault === true
  const flags = { startsFrozen, isPaused: false, isDeleted: false }
  const service = {
    exists: true,
    hasFees: fees.length > 0,
    needsGrant: keys.kyc !== null,
    ...flags,
  }
  const facts = { ...service, decimals, totalSupply, ...text }
  return {
    moves: [],
    tokens: {
      call: encodeFunctionData({
        abi: tokenServiceAbi,
        functionName: 'create',
        args: [longZeroAddress(number), facts, holders.map(({ address }) => address)],
      }),
    },
    async apply(createdNs) {
      ledger.accounts.takeNumber()
      const maxSupply = toBigInt(message.maxSupply)
      const metadata = message.metadata ?? new Uint8Array()
      const known = { ...text, memo: memo ?? '', metadata }
      const about = { ...known, decimals, totalSupply, maxSupply, treasury }
      const id = entityId(number)
      await ledger.tokens.add({ number, id, ...about, ...flags, keys, fees, renewal, createdNs })
      return { moves: [], created: { tokenID: number } }
    },
  }
}

function judgeForm(message: proto.ITokenCreateTransactionBody): Status {
  const { name, symbol } = message
  const isNft = (message.tokenType ?? 0) !== proto.TokenType.FUNGIBLE_COMMON
  if (isNft) return 'NOT_SUPPORTED'
  if (!name) return 'MISSING_TOKEN_NAME'
  if (!symbol) return 'MISSING_TOKEN_SYMBOL'
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return 'TOKEN_NAME_TOO_LONG'
  if (Buffer.byteLength(symbol) > NAME_BYTES_MAX) return 'TOKEN_SYMBOL_TOO_LONG'
  if (message.freezeDefault === true && message.freezeKey == null) return 'TOKEN_HAS_NO_FREEZE_KEY'
  if ((message.metadata ?? []).length > METADATA_BYTES_MAX) return 'METADATA_TOO_LONG'
  const supply = toBigInt(message.initialSupply)
  const maxSupply = toBigInt(message.maxSupply)
  if (supply < 0n || supply > AMOUNT_MAX) return 'INVALID_TOKEN_INITIAL_SUPPLY'
  // A supply without end has no limit, and any other has one.
  const isLimited = message.supplyType === proto.TokenSupplyType.FINITE
  if (isLimited !== maxSupply > 0n) return 'INVALID_TOKEN_MAX_SUPPLY'
  if (maxSupply > 0n && supply > maxSupply) return 'INVALID_TOKEN_INITIAL_SUPPLY'
  const decimals = message.decimals ?? 0
  // The facade shows them as one byte.
  if (decimals < 0 || decimals > 255) return 'INVALID_TOKEN_DECIMALS'
  return isMemoTooLong(message.memo ?? '') ? 'MEMO_TOO_LONG' : 'OK'
}

/** The fees of a token that is about to get that number, or why consensus refuses them. */
function readFees(
  ledger: Ledger,
  messages: readonly proto.ICustomFee[],
  number: number,
): CustomFee[] | Status {
  if (messages.length > CUSTOM_FEES_MAX) return 'CUSTOM_FEES_LIST_TOO_LONG'
  const fees: CustomFee[] = []
  for (const message of messages) {
    const fee = readFee(ledger, message, number)
    if (typeof fee === 'string') return fee
    fees.push(fee)
  }
  return fees
}

function readFee(ledger: Ledger, message: proto.ICustomFee, number: number): CustomFee | Status {
  const collector = findLivingAccount(ledger.accounts, message.feeCollectorAccountId)
  if (collector === undefined) return 'INVALID_CUSTOM_FEE_COLLECTOR'
  const whose = { collector, isEveryCollectorExempt: message.allCollectorsAreExempt === true }
  const { fixedFee, fractionalFee } = message
  if (fractionalFee != null) {
    const numerator = toBigInt(fractionalFee.fractionalAmount?.numerator)
    const denominator = toBigInt(fractionalFee.fractionalAmount?.denominator)
    const min = toBigInt(fractionalFee.minimumAmount)
    const max = toBigInt(fractionalFee.maximumAmount)
    if (denominator === 0n) return 'FRACTION_DIVIDES_BY_ZERO'
    if (numerator <= 0n || denominator < 0n || min < 0n || max < 0n) {
      return 'CUSTOM_FEE_MUST_BE_POSITIVE'
    }
    if (max > 0n && max < min) return 'FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT'
    const isNetOfTransfers = fractionalFee.netOfTransfers === true
    return { kind: 'fractional', ...whose, numerator, denominator, min, max, isNetOfTransfers }
  }
  if (message.royaltyFee != null) return 'CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE'
  if (fixedFee == null) return 'CUSTOM_FEE_NOT_FULLY_SPECIFIED'
  const amount = toBigInt(fixedFee.amount)
  if (amount <= 0n) return 'CUSTOM_FEE_MUST_BE_POSITIVE'
  const fixed = { kind: 'fixed', ...whose, amount } as const
  if (fixedFee.denominatingTokenId == null) return { ...fixed, token: undefined }
  // 0 stands for the token itself.
  const named = Number(toBigInt(fixedFee.denominatingTokenId.tokenNum)) || number
  if (named === number) return { ...fixed, token: number }
  const token = ledger.tokens.byNumber(named)
  if (token === undefined) return 'INVALID_TOKEN_ID_IN_CUSTOM_FEES'
  if (ledger.tokens.relation(token, collector) === undefined) {
    return 'TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR'
  }
  // The fees of a fee are assessed too.
  return token.fees.length > 0 ? 'NOT_SUPPORTED' : { ...fixed, token: named }
}

/** The plan of a TokenAssociate, or why consensus refuses it. */
export function planTokenAssociate(
  ledger: Ledger,
  message: proto.ITokenAssociateTransactionBody,
  { transaction }: PlanRequest,
): Status | Plan {
  const account = findLivingAccount(ledger.accounts, message.account)
  if (account === undefined) return 'INVALID_ACCOUNT_ID'
  if (!hasSigned(account, transaction.signed)) return 'INVALID_SIGNATURE'
  const numbers = (message.tokens ?? []).map(({ tokenNum }) => Number(toBigInt(tokenNum)))
  if (new Set(numbers).size < numbers.length) return 'TOKEN_ID_REPEATED_IN_TOKEN_LIST'
  const args = [account.address, numbers.map(longZeroAddress)] as const
  return {
    moves: [],
    tokens: { call: encodeFunctionData({ abi: tokenServiceAbi, functionName: 'associate', args }) },
    apply: () => ({ moves: [], entityId: account.id }),
  }
}

/** The plan of a CryptoApproveAllowance for HBAR and tokens, or why consensus refuses it. */
export function planAllowances(
  ledger: Ledger,
  message: proto.ICryptoApproveAllowanceTransactionBody,
  { transaction, payer }: PlanRequest,
): Status | Plan {
  const { cryptoAllowances, nftAllowances, tokenAllowances } = message
  if ((nftAllowances ?? []).length > 0) return 'NOT_SUPPORTED'
  const wanted = [...(cryptoAllowances ?? []), ...(tokenAllowances ?? [])]
  if (wanted.length === 0) return 'EMPTY_ALLOWANCES'
  if (wanted.length > ALLOWANCES_MAX) return 'MAX_ALLOWANCES_EXCEEDED'
  const ofTokens: { token: `0x${string}`; owner: Entity; spender: Entity; amount: bigint }[] = []
  const ofHbar: { owner: Entity; spender: Entity; amount: bigint }[] = []
  for (const allowance of wanted) {
    const owner =
      allowance.owner == null ? payer : findLivingAccount(ledger.accounts, allowance.owner)
    const spender = findLivingAccount(ledger.accounts, allowance.spender)
    const amount = toBigInt(allowance.amount)
    if (owner === undefined) return 'INVALID_ALLOWANCE_OWNER_ID'
    if (spender === undefined) return 'INVALID_ALLOWANCE_SPENDER_ID'
    if (!hasSigned(owner, transaction.signed)) return 'INVALID_SIGNATURE'
    if (amount < 0n) return 'NEGATIVE_ALLOWANCE_AMOUNT'
    if (owner === spender) return 'SPENDER_ACCOUNT_SAME_AS_OWNER'
    const named: proto.ITokenAllowance = allowance
    if (named.tokenId == null) {
      ofHbar.push({ owner, spender, amount })
      continue
    }
    const token = ledger.tokens.byNumber(Number(toBigInt(named.tokenId.tokenNum)))
    if (token === undefined) return 'INVALID_TOKEN_ID'
    if (token.maxSupply > 0n && amount > token.maxSupply) return 'AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY'
    ofTokens.push({ token: longZeroAddress(token.number), owner, spender, amount })
  }
  const rows = ofTokens.map(({ owner, spender, ...rest }) => ({
    ...rest,
    owner: owner.address,
    spender: spender.address,
  }))
  const functionName = 'allow'
  const call = encodeFunctionData({ abi: tokenServiceAbi, functionName, args: [rows] })
  return {
    moves: [],
    tokens: rows.length === 0 ? undefined : { call },
    apply() {
      for (const { owner, spender, amount } of ofHbar) owner.allowances.set(spender.number, amount)
      return { moves: [] }
    },
  }
}
