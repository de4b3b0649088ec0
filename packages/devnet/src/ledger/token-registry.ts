// Fungible tokens and who holds them. An account holds a token only once it is associated with it: by itself, or by a first
// transfer, as far as its automatic associations reach (HIP-23, HIP-904).

import type { AccountKey } from './account-key.ts'
import type { Entity } from './account-registry.ts'

export type Token = {
  number: number
  /** `0.0.<number>`. */
  id: string
  name: string
  symbol: string
  decimals: number
  /** In the token's smallest unit, as all amounts. Nothing mints or burns. */
  totalSupply: bigint
  /** 0 for an infinite supply. */
  maxSupply: bigint
  treasury: Entity
  memo: string
  keys: Readonly<Record<TokenKeyName, AccountKey | null>>
  /** Consensus timestamp of its creation, nanoseconds. */
  createdNs: bigint
}

export const TOKEN_KEYS = ['admin', 'freeze', 'pause', 'supply', 'wipe'] as const
type TokenKeyName = (typeof TOKEN_KEYS)[number]

/** An account's holding of a token. */
type TokenRelation = { balance: bigint; isAutomatic: boolean; createdNs: bigint }

/** One line of a record's token transfers. */
export type TokenTransfer = { token: string; account: string; amount: bigint }

export function createTokenRegistry() {
  const state = { tokens: new Map<number, Token>(), relations: new Map<string, TokenRelation>() }
  const keyOf = (token: Token, account: Entity): string => `${token.number}/${account.number}`
  const relation = (token: Token, account: Entity) => state.relations.get(keyOf(token, account))
  const byAccount = (account: Entity) =>
    [...state.tokens.values()].flatMap((token) => {
      const found = relation(token, account)
      return found === undefined ? [] : [{ token, relation: found }]
    })

  function associate(
    token: Token,
    account: Entity,
    more: { isAutomatic: boolean; createdNs: bigint },
  ): void {
    state.relations.set(keyOf(token, account), { balance: 0n, ...more })
  }

  return {
    state,
    /** Adds a token, whose whole supply its treasury holds. */
    add(token: Token): void {
      state.tokens.set(token.number, token)
      const { createdNs, totalSupply: balance } = token
      state.relations.set(keyOf(token, token.treasury), { balance, isAutomatic: false, createdNs })
    },
    byNumber: (number: number) => state.tokens.get(number),
    all: (): readonly Token[] => [...state.tokens.values()],
    /** An account's holdings, the oldest token first. */
    byAccount,
    relation,
    associate,
    /** Whether a first transfer may associate an account. */
    hasRoom: (account: Entity): boolean => {
      const used = byAccount(account).filter((held) => held.relation.isAutomatic).length
      return account.maxAutoAssociations < 0 || used < account.maxAutoAssociations
    },
    /** Gives or, below 0, takes; associates an account that has none of the token yet. */
    move(token: Token, account: Entity, line: { amount: bigint; createdNs: bigint }): void {
      if (relation(token, account) === undefined) {
        associate(token, account, { isAutomatic: true, createdNs: line.createdNs })
      }
      const found = relation(token, account)
      if (found !== undefined) found.balance += line.amount
    },
  }
}
