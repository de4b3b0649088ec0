// What a transfer moves: HBAR, and fungible tokens. One to a contract changes the contract's balance and runs none of its code.

import { completingKey, type SignedBytes } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Token } from '../ledger/token-registry.ts'
import type { Move, Plan, PlanRequest } from './handle-transaction.ts'
import { hasSigned } from './precheck-transaction.ts'
import { resolveAccount } from './resolve-account.ts'
import type { SignedAmount, SignedTransfer, Status } from './signed-transaction.ts'

/** A line whose account is known, or to be created as the plan is applied. */
type Line = { amount: bigint; find: (createdNs: bigint) => Entity; existing: Entity | undefined }

/** The plan of a transfer, or why consensus refuses it. Accounts that it funds for the first time are created as it is applied. */
export function planTransfer(
  ledger: Ledger,
  { amounts, tokens }: SignedTransfer,
  { transaction: { signed } }: PlanRequest,
): Status | Plan {
  const hbar = readLines(ledger, amounts, signed)
  if (typeof hbar === 'string') return hbar
  const tokenLines: { token: Token; lines: Line[] }[] = []
  for (const { number, expectedDecimals, amounts: asked } of tokens) {
    const token = ledger.tokens.byNumber(number)
    if (token === undefined) return 'INVALID_TOKEN_ID'
    if ((expectedDecimals ?? token.decimals) !== token.decimals) return 'UNEXPECTED_TOKEN_DECIMALS'
    const lines = readLines(ledger, asked, signed)
    if (typeof lines === 'string') return lines
    const refused = lines.map((line) => judgeTokenLine(ledger, token, line)).find((s) => s !== 'OK')
    if (refused !== undefined) return refused
    tokenLines.push({ token, lines })
  }
  return {
    moves: hbar.flatMap(({ existing, amount }): Move[] =>
      existing === undefined ? [] : [[existing.address, amount]],
    ),
    apply(createdNs) {
      const created = hbar.flatMap(({ existing, find, amount }): Move[] =>
        existing === undefined ? [[find(createdNs).address, amount]] : [],
      )
      const tokenTransfers = tokenLines.flatMap(({ token, lines }) =>
        lines.map(({ amount, find }) => {
          const account = find(createdNs)
          ledger.tokens.move(token, account, { amount, createdNs })
          return { token: token.id, account: account.id, amount }
        }),
      )
      for (const { existing, amount } of [hbar, ...tokenLines.map(({ lines }) => lines)].flat()) {
        if (existing !== undefined && amount < 0n) completeAccount(existing, signed)
      }
      return { moves: created, tokenTransfers }
    },
  }
}

function readLines(
  ledger: Ledger,
  amounts: readonly SignedAmount[],
  signed: SignedBytes,
): Line[] | Status {
  const lines: Line[] = []
  for (const { account, amount, isApproval } of amounts) {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') return 'INVALID_ACCOUNT_ID'
    if (resolved.kind === 'new-alias' && amount < 0n) return 'INVALID_ACCOUNT_ID'
    const existing = resolved.kind === 'entity' ? resolved.entity : undefined
    if (existing?.isDeleted === true) return 'ACCOUNT_DELETED'
    if (existing !== undefined && amount < 0n) {
      if (isApproval) return 'SPENDER_DOES_NOT_HAVE_ALLOWANCE'
      if (!hasSigned(existing, signed)) return 'INVALID_SIGNATURE'
    }
    lines.push({
      amount,
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

function judgeTokenLine(ledger: Ledger, token: Token, { existing, amount }: Line): Status {
  // A new account takes any token.
  if (existing === undefined) return 'OK'
  const relation = ledger.tokens.relation(token, existing)
  if (relation !== undefined) {
    return relation.balance + amount < 0n ? 'INSUFFICIENT_TOKEN_BALANCE' : 'OK'
  }
  if (amount < 0n || existing.maxAutoAssociations === 0) return 'TOKEN_NOT_ASSOCIATED_TO_ACCOUNT'
  return ledger.tokens.hasRoom(existing) ? 'OK' : 'NO_REMAINING_AUTOMATIC_ASSOCIATIONS'
}

/** Gives a hollow account the key that its alias was derived from, if that has signed. */
export function completeAccount(entity: Entity, signed: SignedBytes): void {
  if (entity.key === null && entity.kind === 'account') {
    entity.key = completingKey(entity.address, signed) ?? null
  }
}
