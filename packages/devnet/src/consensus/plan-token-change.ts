// What the keys of a token may do to it, and to who holds it: freeze, grant KYC, pause, delete.

import type { proto } from '@hiero-ledger/proto'
import { tokenServiceAbi } from '@tallystick/contracts'
import { encodeFunctionData, type Hex } from 'viem'
import { isSignedBy } from '../ledger/account-key.ts'
import { longZeroAddress } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Status, toBigInt } from '../ledger/signed-transaction.ts'
import type { Token, TokenKeyName } from '../ledger/token.ts'
import type { Plan, PlanRequest } from './plan.ts'
import { findAccount } from './resolve-account.ts'

/** A change of a token alone, or of an account's holding of it. */
type Message = { token?: proto.ITokenID | null; account?: proto.IAccountID | null }

type Planner = (ledger: Ledger, message: Message, request: PlanRequest) => Status | Plan

/** What the token service is asked to do, and what changes of the token itself. */
type Change = { call: Hex; changes?: Partial<Token> }

const abi = tokenServiceAbi

/** The plan of a TokenFreezeAccount or TokenUnfreezeAccount, or why consensus refuses it. */
export const planFreeze = (isFrozen: boolean): Planner =>
  planFor('freeze', 'TOKEN_HAS_NO_FREEZE_KEY', changeHolding('freeze', isFrozen))

/** The plan of a TokenGrantKyc or TokenRevokeKyc, or why consensus refuses it. */
export const planGrant = (isGranted: boolean): Planner =>
  planFor('kyc', 'TOKEN_HAS_NO_KYC_KEY', changeHolding('grant', isGranted))

/** The plan of a TokenPause or TokenUnpause, or why consensus refuses it. */
export const planPause = (isPaused: boolean): Planner =>
  planFor('pause', 'TOKEN_HAS_NO_PAUSE_KEY', (_ledger, _message, token) => {
    const args = [longZeroAddress(token.number), isPaused] as const
    const call = encodeFunctionData({ abi, functionName: 'pause', args })
    return { call, changes: { isPaused } }
  })

/** The plan of a TokenDelete, or why consensus refuses it. */
export const planTokenDelete: Planner = planFor(
  'admin',
  'TOKEN_IS_IMMUTABLE',
  (_ledger, _message, token) => {
    const args = [longZeroAddress(token.number)] as const
    const call = encodeFunctionData({ abi, functionName: 'remove', args })
    return { call, changes: { isDeleted: true } }
  },
)

/** Plans a change for which a key of the token signs; `missing` says that it has none. */
function planFor(
  name: TokenKeyName,
  missing: Status,
  read: (ledger: Ledger, message: Message, token: Token) => Status | Change,
): Planner {
  return (ledger, message, { transaction }) => {
    const token = ledger.tokens.byNumber(Number(toBigInt(message.token?.tokenNum)))
    if (token === undefined) return 'INVALID_TOKEN_ID'
    const key = token.keys[name]
    if (key === null) return missing
    if (!isSignedBy(key, transaction.signed)) return 'INVALID_SIGNATURE'
    const change = read(ledger, message, token)
    if (typeof change === 'string') return change
    return {
      moves: [],
      tokens: { call: change.call },
      apply() {
        Object.assign(token, change.changes)
        return { moves: [], entityId: token.id }
      },
    }
  }
}

function changeHolding(functionName: 'freeze' | 'grant', value: boolean) {
  return (ledger: Ledger, message: Message, token: Token): Status | Change => {
    const account = findAccount(ledger.accounts, message.account)
    if (account === undefined) return 'INVALID_ACCOUNT_ID'
    if (account.isDeleted) return 'ACCOUNT_DELETED'
    const args = [longZeroAddress(token.number), account.address, value] as const
    return { call: encodeFunctionData({ abi, functionName, args }) }
  }
}
