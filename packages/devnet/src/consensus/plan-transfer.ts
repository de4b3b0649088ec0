// What a transfer moves: HBAR, and fungible tokens with their custom fees. One to a contract changes the contract's balance and runs
// none of its code.

import { tokenServiceAbi } from '@tallystick/contracts'
import { type Address, encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { completingKey, type Signatures } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { type AssessedFee, assessFees } from '../ledger/custom-fees.ts'
import { longZeroAddress } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { SignedAmount, SignedTransfer, Status } from '../ledger/signed-transaction.ts'
import type { Move, Plan, PlanRequest } from './plan.ts'
import { AMOUNT_MAX } from './plan-token.ts'
import { hasSigned } from './precheck-transaction.ts'
import { resolveAccount } from './resolve-account.ts'

/** A line whose account is known, or to be created as the plan is applied. */
type Line = {
  amount: bigint
  isApproval: boolean
  /** Where anvil keeps the account, or will. */
  address: Address
  find: (createdNs: bigint) => Entity
  existing: Entity | undefined
}

/** The addresses of the accounts that a transfer creates, by their aliases, in the order of their creation. */
type Newcomers = Map<string, Address>

/** How many balances a transfer may change, its custom fees included (ledger.xferBalanceChanges.maxLen). */
const CHANGES_MAX = 20

type TokenLine = Pick<Line, 'amount' | 'isApproval' | 'address'> & { token: number }

/** The plan of a transfer, or why consensus refuses it. Accounts that it funds for the first time are created as it is applied. */
export function planTransfer(
  ledger: Ledger,
  { amounts, tokens }: SignedTransfer,
  { payer, transaction: { signed } }: PlanRequest,
): Status | Plan {
  const born: Newcomers = new Map()
  const hbar = readLines(ledger, amounts, { signed, born })
  if (typeof hbar === 'string') return hbar
  const taken = hbar.filter(({ amount, isApproval }) => isApproval && amount < 0n)
  for (const { amount, existing } of taken) {
    const left = existing?.allowances.get(payer.number) ?? 0n
    if (left === 0n) return 'SPENDER_DOES_NOT_HAVE_ALLOWANCE'
    if (left < -amount) return 'AMOUNT_EXCEEDS_ALLOWANCE'
  }
  const wanted: TokenLine[] = []
  const effective: TokenLine[] = []
  const customFees: AssessedFee[] = []
  const all = [...hbar]
  for (const { number, expectedDecimals, amounts: listed } of tokens) {
    const token = ledger.tokens.byNumber(number)
    if (token === undefined) return 'INVALID_TOKEN_ID'
    if ((expectedDecimals ?? token.decimals) !== token.decimals) return 'UNEXPECTED_TOKEN_DECIMALS'
    const lines = readLines(ledger, listed, { signed, born })
    if (typeof lines === 'string') return lines
    wanted.push(...lines.map((line) => ({ ...line, token: number })))
    const assessed = assessFees(token, lines)
    if (typeof assessed === 'string') return assessed
    customFees.push(...assessed)
    effective.push(...lines.map((line) => ({ ...line, token: number })))
    all.push(...lines)
  }
  if (customFees.some(({ collector }) => collector.isDeleted)) return 'ACCOUNT_DELETED'
  for (const fee of customFees) effective.push(...feeLines(fee))
  const size = judgeSize(hbar, effective, customFees)
  if (size !== 'OK') return size
  const newcomers = all.flatMap((line) => (line.existing === undefined ? [line.address] : []))
  const call = callToMove(payer, effective)
  const withoutFees = customFees.length > 0 ? callToMove(payer, wanted) : undefined
  return {
    moves: [
      ...hbar.flatMap(({ existing, amount }): Move[] =>
        existing === undefined ? [] : [[existing.address, amount]],
      ),
      ...customFees.flatMap(hbarMoves),
    ],
    tokens: effective.length === 0 ? undefined : { call, newcomers, withoutFees },
    customFees,
    approved: taken.map(({ address, amount }) => [address, amount]),
    associations: countAssociations(ledger, effective),
    apply(createdNs) {
      for (const { existing, amount } of taken) {
        const left = existing?.allowances.get(payer.number) ?? 0n
        existing?.allowances.set(payer.number, left + amount)
      }
      for (const { existing, amount } of all) {
        if (existing !== undefined && amount < 0n) completeAccount(existing, signed)
      }
      const created = hbar.flatMap(({ existing, find, amount }): Move[] =>
        existing === undefined ? [[find(createdNs).address, amount]] : [],
      )
      for (const { find } of all) find(createdNs)
      return { moves: created }
    },
  }
}

/** `OK`, or why the network does not charge so many fees, or so much. */
function judgeSize(
  hbar: readonly Line[],
  tokens: readonly TokenLine[],
  customFees: readonly AssessedFee[],
): Status {
  if (customFees.length === 0) return 'OK'
  if (tokens.some(({ amount }) => amount > AMOUNT_MAX || amount < -AMOUNT_MAX)) {
    return 'CUSTOM_FEE_OUTSIDE_NUMERIC_RANGE'
  }
  const changes = new Set([
    ...hbar.map(({ address }) => address),
    ...customFees.flatMap(hbarMoves).map(([address]) => address),
    ...tokens.map(({ address, token }) => `${token}/${address}`),
  ])
  return changes.size > CHANGES_MAX ? 'CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS' : 'OK'
}

/** How many accounts hold a token for the first time. */
function countAssociations({ accounts, tokens }: Ledger, lines: readonly TokenLine[]): number {
  const first = lines.filter(({ address, token: number }) => {
    const [holder, token] = [accounts.byAddress(address), tokens.byNumber(number)]
    return holder === undefined || token === undefined || !tokens.relation(token, holder)
  })
  return new Set(first.map(({ address, token }) => `${token}/${address}`)).size
}

const feeSides = ({ amount, collector, payers: [payer = collector] }: AssessedFee) =>
  [
    [payer.address, -amount],
    [collector.address, amount],
  ] as const

const hbarMoves = (fee: AssessedFee): Move[] => (fee.token === undefined ? [...feeSides(fee)] : [])

/** What a fee in a token moves; a fraction of a gain has already been taken out of it. */
function feeLines(fee: AssessedFee): TokenLine[] {
  const { token } = fee
  if (token === undefined) return []
  const sides = fee.isReclaimed ? feeSides(fee).slice(1) : feeSides(fee)
  return sides.map(([address, amount]) => ({ address, amount, token, isApproval: false }))
}

function callToMove(payer: Entity, lines: readonly TokenLine[]): Hex {
  const rows = lines.map(({ address, amount, isApproval, token }) => ({
    token: longZeroAddress(token),
    account: address,
    amount,
    spender: isApproval && amount < 0n ? payer.address : zeroAddress,
  }))
  return encodeFunctionData({ abi: tokenServiceAbi, functionName: 'move', args: [rows] })
}

function readLines(
  ledger: Ledger,
  amounts: readonly SignedAmount[],
  { signed, born }: { signed: Signatures; born: Newcomers },
): Line[] | Status {
  const lines: Line[] = []
  for (const { account, amount, isApproval } of amounts) {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') return 'INVALID_ACCOUNT_ID'
    if (resolved.kind === 'new-alias' && amount < 0n) return 'INVALID_ACCOUNT_ID'
    const existing = resolved.kind === 'entity' ? resolved.entity : undefined
    if (existing?.isDeleted === true) return 'ACCOUNT_DELETED'
    if (existing !== undefined && amount < 0n && !isApproval && !hasSigned(existing, signed)) {
      return 'INVALID_SIGNATURE'
    }
    if (amount > 0n && existing?.isReceiverSigRequired && !hasSigned(existing, signed)) {
      return 'INVALID_SIGNATURE'
    }
    // The same account by its number and by its alias.
    if (
      lines.some(
        (line) => line.existing && line.existing === existing && line.isApproval === isApproval,
      )
    ) {
      return 'ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS'
    }
    const address =
      resolved.kind === 'new-alias'
        ? addressOfNewcomer(ledger, resolved, born)
        : (existing?.address ?? zeroAddress)
    lines.push({
      amount,
      isApproval,
      address,
      existing,
      find(createdNs) {
        // Another line of the same transfer may have created it.
        const now = resolveAccount(ledger.accounts, account)
        if (now.kind === 'entity') return now.entity
        const made = now.kind === 'new-alias' ? now : {}
        return ledger.accounts.create({ ...made, createdNs, maxAutoAssociations: -1 })
      },
    })
  }
  return lines
}

/** Where the account of an unused alias will be: each takes a number, and one without an address of its own gets the number's. */
function addressOfNewcomer(
  { accounts }: Ledger,
  { address, alias }: { address: Address | undefined; alias: Buffer },
  born: Newcomers,
): Address {
  const name = address ?? alias.toString('hex')
  const known = born.get(name)
  if (known !== undefined) return known
  const next = address ?? longZeroAddress(accounts.state.nextNumber + born.size)
  born.set(name, next)
  return next
}

/** Gives a hollow account the key that its alias was derived from, if that has signed. */
export function completeAccount(entity: Entity, signed: Signatures): void {
  if (entity.key === null && entity.kind === 'account') {
    entity.key = completingKey(entity.address, signed) ?? null
  }
}
