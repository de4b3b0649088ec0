// What a transfer moves. One to a contract changes the contract's balance and runs none of its code.

import { completingKey, type SignedBytes } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Move, Plan } from './handle-transaction.ts'
import { hasSigned } from './precheck-transaction.ts'
import { resolveAccount } from './resolve-account.ts'
import type { SignedTransfer, Status } from './signed-transaction.ts'

/** The plan of a transfer, or why consensus refuses it. Accounts that it funds for the first time are created as it is applied. */
export function planTransfer(
  ledger: Ledger,
  { amounts }: SignedTransfer,
  signed: SignedBytes,
): Status | Plan {
  const moves: Move[] = []
  const givers: Entity[] = []
  for (const { account, amountTinybar, isApproval } of amounts) {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') return 'INVALID_ACCOUNT_ID'
    if (resolved.kind === 'new-alias') {
      if (amountTinybar < 0n) return 'INVALID_ACCOUNT_ID'
      continue
    }
    if (amountTinybar < 0n && isApproval) return 'SPENDER_DOES_NOT_HAVE_ALLOWANCE'
    if (amountTinybar < 0n && !hasSigned(resolved.entity, signed)) return 'INVALID_SIGNATURE'
    if (amountTinybar < 0n) givers.push(resolved.entity)
    moves.push([resolved.entity.address, amountTinybar])
  }
  return {
    moves,
    apply: (createdNs) => {
      for (const giver of givers) completeAccount(giver, signed)
      const created = amounts.flatMap(({ account, amountTinybar }): Move[] => {
        const resolved = resolveAccount(ledger.accounts, account)
        if (resolved.kind !== 'new-alias') return []
        return [[ledger.accounts.create({ ...resolved, createdNs }).address, amountTinybar]]
      })
      return { moves: created }
    },
  }
}

/** Gives a hollow account the key that its alias was derived from, if that has signed. */
export function completeAccount(entity: Entity, signed: SignedBytes): void {
  if (entity.key === null && entity.kind === 'account') {
    entity.key = completingKey(entity.address, signed) ?? null
  }
}
