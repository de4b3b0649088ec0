// Every entity with a number: accounts, contracts, and hollow accounts, which a transfer to an unknown EVM address
// creates. anvil keeps the balances.

import { type Address, hexToBytes } from 'viem'
import type { AccountKey } from './account-key.ts'
import { entityId, longZeroAddress, longZeroNumber, lowerAddress } from './entity-id.ts'

export type Entity = {
  number: number
  /** `0.0.<number>`. */
  id: string
  /** The one address under which anvil keeps it: its alias, a contract's own address, or the long-zero one. Lower case. */
  address: Address
  kind: 'account' | 'contract'
  /** What it was created under: its EVM address, or a key in protobuf. Contracts have none that counts. */
  alias: Uint8Array | null
  /** Null for hollow accounts and contracts, for which nothing can sign. */
  key: AccountKey | null
  memo: string
  /** A deleted account takes and pays nothing any more. */
  isDeleted: boolean
  /** Whether it takes only what it has signed for. */
  isReceiverSigRequired: boolean
  /** How many tokens a first transfer may associate it with; -1 for any number. */
  maxAutoAssociations: number
  /** How much HBAR others may take, tinybar, by their numbers. */
  allowances: Map<number, bigint>
  /** Consensus timestamp of its creation, nanoseconds. */
  createdNs: bigint
}

export type AccountRegistry = ReturnType<typeof createAccountRegistry>

/** The network reserves the numbers below. */
const FIRST_NUMBER = 1001

export function createAccountRegistry() {
  const state = {
    numbers: new Map<number, Entity>(),
    addresses: new Map<Address, Entity>(),
    nextNumber: FIRST_NUMBER,
    /** Those of which the token service has not been told, or not what changed. */
    changed: [] as Entity[],
  }

  function byAddress(address: string): Entity | undefined {
    const lower = lowerAddress(address)
    const number = longZeroNumber(lower)
    return (
      state.addresses.get(lower) ?? (number === undefined ? undefined : state.numbers.get(number))
    )
  }

  return {
    state,
    /**
     * Adds an entity, by default with the next free number.
     * @throws if its number or address is taken, or a long-zero address belongs to another entity
     */
    create(options: {
      number?: number | undefined
      address?: Address | undefined
      alias?: Uint8Array | undefined
      key?: AccountKey | null
      /** By default as many as it gets for a hollow account, and none otherwise. */
      maxAutoAssociations?: number | undefined
      createdNs: bigint
    }): Entity {
      const named = options.address === undefined ? undefined : longZeroNumber(options.address)
      const number = options.number ?? state.nextNumber
      const address = lowerAddress(options.address ?? longZeroAddress(number))
      if (named !== undefined && named !== number) {
        throw new Error(`address ${address} is that of entity ${entityId(named)} alone`)
      }
      if (state.numbers.has(number)) throw new Error(`entity ${entityId(number)} exists already`)
      if (state.addresses.has(address))
        throw new Error(`an entity with address ${address} exists already`)
      const isLongZero = longZeroNumber(address) !== undefined
      const entity: Entity = {
        number,
        id: entityId(number),
        address,
        kind: 'account',
        alias: options.alias ?? (isLongZero ? null : hexToBytes(address)),
        key: options.key ?? null,
        memo: '',
        isDeleted: false,
        isReceiverSigRequired: false,
        maxAutoAssociations: options.maxAutoAssociations ?? (options.key == null ? -1 : 0),
        allowances: new Map(),
        createdNs: options.createdNs,
      }
      state.changed.push(entity)
      state.numbers.set(number, entity)
      state.addresses.set(address, entity)
      state.nextNumber = Math.max(state.nextNumber, number + 1)
      return entity
    },
    /** The next free number, for an entity that is no account. */
    takeNumber: (): number => state.nextNumber++,
    byNumber: (number: number) => state.numbers.get(number),
    /** By any of its addresses, in any letter case. */
    byAddress,
    /** The address under which anvil keeps the entity; translates long-zero forms of aliased entities. */
    canonicalAddress: (address: string): Address =>
      byAddress(address)?.address ?? lowerAddress(address),
    /** The id of the entity at an address, or null. */
    findId: (address: string | null): string | null =>
      address === null ? null : (byAddress(address)?.id ?? null),
    all: (): readonly Entity[] => [...state.numbers.values()],
  }
}
