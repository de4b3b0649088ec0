// Fungible tokens. The token service at 0x167 holds who has how much of them, and judges what moves them, natively or in the EVM;
// here is what the mirror node knows: what a token is, and what the service's own events say of its holders.

import {
  tokenFacadeRuntimeCode,
  tokenServiceAbi,
  tokenServiceRuntimeCode,
} from '@tallystick/contracts'
import {
  type Address,
  encodeAbiParameters,
  type Hex,
  keccak256,
  numberToHex,
  parseAbiParameters,
  parseEventLogs,
} from 'viem'
import { type AnvilClient, AnvilRefused, type InnerReceipt } from '../anvil/anvil-client.ts'
import type { AccountRegistry, Entity } from './account-registry.ts'
import { longZeroAddress, longZeroNumber } from './entity-id.ts'
import { FEE_COLLECTOR } from './network.ts'
import { type Status, statusNamed, statusNumber } from './signed-transaction.ts'
import type { Token, TokenTransfer } from './token.ts'

/** An account's holding of a token. */
type TokenRelation = {
  balance: bigint
  isAutomatic: boolean
  isFrozen: boolean
  /** Whether it has the token's KYC, or needs none. */
  isGranted: boolean
  createdNs: bigint
}

/** Address of the token system contract (HIP-206). */
export const TOKEN_SERVICE_ADDRESS: Address = '0x0000000000000000000000000000000000000167'

const relationKey = (token: Token, account: Entity): string => `${token.number}/${account.number}`

export function createTokenRegistry(parts: { anvil: AnvilClient; accounts: AccountRegistry }) {
  const { anvil, accounts } = parts
  const state = { tokens: new Map<number, Token>(), relations: new Map<string, TokenRelation>() }
  const relation = (token: Token, account: Entity) =>
    state.relations.get(relationKey(token, account))

  /** Tells the service of new accounts, and of those that changed. The caller holds the queue. */
  async function tellAccounts(): Promise<void> {
    const changed = accounts.state.changed.splice(0)
    if (changed.length === 0) return
    await anvil.batch(
      changed
        .flatMap(accountSlots)
        .map((slot) => ['anvil_setStorageAt', [TOKEN_SERVICE_ADDRESS, ...slot]]),
    )
  }

  return {
    state,
    /** Places the code of the contract. */
    install: () => anvil.call('anvil_setCode', [TOKEN_SERVICE_ADDRESS, tokenServiceRuntimeCode]),
    tellAccounts,
    /** Adds a token, and the code at its address. */
    async add(token: Token): Promise<void> {
      state.tokens.set(token.number, token)
      await anvil.call('anvil_setCode', [longZeroAddress(token.number), tokenFacadeRuntimeCode])
    },
    byNumber: (number: number) => state.tokens.get(number),
    byAddress: (address: string) => state.tokens.get(longZeroNumber(address) ?? 0),
    all: (): readonly Token[] => [...state.tokens.values()],
    /** An account's holdings, the oldest token first. */
    byAccount: (account: Entity) =>
      [...state.tokens.values()].flatMap((token) => {
        const found = relation(token, account)
        return found === undefined ? [] : [{ token, relation: found }]
      }),
    relation,
    /**
     * What the service makes of a call of the network: `OK`, or why it refuses. `newcomers` are addresses by number of accounts that
     * the call's transaction will create. The caller holds the queue.
     */
    async judge(data: Hex, newcomers: readonly Address[] = []): Promise<Status> {
      await tellAccounts()
      const stateDiff = Object.fromEntries(newcomers.map((at) => accountSlot(at, at, { room: -1 })))
      const call = { from: FEE_COLLECTOR.address, to: TOKEN_SERVICE_ADDRESS, data }
      try {
        await anvil.call('eth_call', [call, 'latest', { [TOKEN_SERVICE_ADDRESS]: { stateDiff } }])
        return 'OK'
      } catch (cause) {
        if (!(cause instanceof AnvilRefused) || typeof cause.data !== 'string') throw cause
        return statusNamed(Number(cause.data))
      }
    },
    /** Reads what an execution changed, and returns who gained and lost what. */
    read(
      receipt: InnerReceipt,
      at: { createdNs: bigint; find: (address: Address) => Entity },
    ): TokenTransfer[] {
      const { createdNs, find } = at
      const own = receipt.logs.filter(({ address }) => address === TOKEN_SERVICE_ADDRESS)
      const lines = new Map<string, TokenTransfer>()
      for (const { args } of parseEventLogs({ abi: tokenServiceAbi, logs: own })) {
        const token = state.tokens.get(longZeroNumber(args.token) ?? 0)
        if (token === undefined) throw new Error(`there is no token at ${args.token}`)
        const account = find(args.account)
        const key = relationKey(token, account)
        const before = state.relations.get(key)
        const { isApproved, relation: changed } = args
        const { balance } = changed
        state.relations.set(key, { createdNs, ...before, ...changed })
        const line = lines.get(key) ?? { token: token.id, account: account.id, amount: 0n }
        const amount = line.amount + balance - (before?.balance ?? 0n)
        lines.set(key, { ...line, amount, isApproval: isApproved })
      }
      return [...lines.values()].filter(({ amount }) => amount !== 0n)
    },
  }
}

/** The slots of the service's first mapping that tell it of an account. */
function accountSlots(entity: Entity): (readonly Hex[])[] {
  const { address, key, maxAutoAssociations, number } = entity
  const byNumber = longZeroAddress(number)
  const isNumbered = byNumber === address
  // Nothing is known of a hollow account, which takes any token, nor of a contract.
  const own =
    key === null && !isNumbered
      ? []
      : [accountSlot(address, address, { room: maxAutoAssociations, refusal: findRefusal(entity) })]
  return isNumbered ? own : [...own, accountSlot(byNumber, address, { room: -2 })]
}

/** Why an account takes nothing in the EVM: a response code, or 0. */
function findRefusal({ isDeleted, isReceiverSigRequired }: Entity): number {
  if (isDeleted) return statusNumber('ACCOUNT_DELETED')
  return isReceiverSigRequired ? statusNumber('INVALID_SIGNATURE') : 0
}

/** A slot and what it holds: the address that anvil knows, the room for tokens, 0 for none known, and why it takes none. */
function accountSlot(
  at: Address,
  address: Address,
  { room, refusal = 0 }: { room: number; refusal?: number },
): readonly [Hex, Hex] {
  const slot = encodeAbiParameters(parseAbiParameters('address, uint256'), [at, 0n])
  const value = (BigInt(refusal) << 224n) | (BigInt(room + 2) << 160n) | BigInt(address)
  return [keccak256(slot), numberToHex(value, { size: 32 })]
}
