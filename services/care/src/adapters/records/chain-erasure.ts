// Erasing a chain (C31), on either engine: all its entries are sealed under its own key. The records note the erasure, and then
// the key is destroyed. A version leaves its place and its leaf, which cannot be guessed because of 32 random bytes. The
// chain's head hash is removed too: it would let someone guess a short sentence.
import { computeRoot, GENESIS_PREV_HASH } from '@tallystick/hashchain'
import { type DoneBy, type KeptErasure, RecordStoreUnavailable } from '../../domain/record-store.ts'
import type { NamedChain } from '../../wire/record-uri.ts'
import {
  type ChainKeys,
  type ChainKeysPlace,
  chainName,
  type ErasureRow,
  erasureOfRow,
} from '../keys/chain-keys.ts'
import { findSpelled } from './record-reads.ts'
import type { RecordSource } from './record-sql.ts'
import { type ChainRow, isErased, slotOfChain } from './stored-record.ts'

export type ErasedChain =
  | {
      readonly kind: 'erased'
      readonly versions: number
      /** When it was erased first, ISO 8601. */
      readonly at: string
    }
  /** Nothing is stored under that name in that audience. */
  | { readonly kind: 'absent' }

/** The head hash of a chain whose key was destroyed. */
export const ERASED_HEAD = GENESIS_PREV_HASH

/** The root of a chain's leaves, lower-case hex. */
const leavesRoot = (leaves: readonly (readonly [string])[]): string =>
  Buffer.from(computeRoot(leaves.map(([leaf]) => Buffer.from(leaf, 'hex')))).toString('hex')

/** The records that a chain is erased from, or moved aside in. */
export type MarkedStore = {
  readonly source: RecordSource
  /** Runs statements in one transaction, while nothing is appended. */
  readonly transaction: <Result>(run: (source: RecordSource) => Promise<Result>) => Promise<Result>
}

/** A chain that an operator names: a topic's own, or a freed one by its number. */
export const findByNumber = (
  { ask, sql }: RecordSource,
  named: NamedChain,
): Promise<ChainRow | undefined> =>
  findSpelled(named, async ({ audience, domain, freed = 0, patient }) => {
    const [chain] = await ask<ChainRow>(sql.chainByNumber, [patient, domain, audience, freed])
    return chain
  })

/** Erases a chain. Fails with RecordStoreUnavailable for records that these keys do not seal. */
export async function eraseChainIn(
  named: NamedChain,
  by: DoneBy,
  { keys, source, transaction }: MarkedStore & { readonly keys: ChainKeys },
): Promise<ErasedChain> {
  const chain = await findByNumber(source, named)
  if (chain === undefined) return { kind: 'absent' }
  const [sealed] = await source.ask<readonly [string]>('SELECT key_id FROM seal_keys')
  if (sealed?.[0] !== keys.ownKeyId)
    throw new RecordStoreUnavailable(
      'these records are in the clear, or their keys are elsewhere: nothing was erased',
    )
  const { patient, domain, turn } = slotOfChain(chain)
  const erasure = { patient, domain, turn, ...by }
  await transaction((within) => markErased(within, erasure))
  await keys.place.destroy(erasure)
  const name = chainName(erasure)
  const first = (await keys.place.erasures()).find((known) => chainName(known) === name)
  return { kind: 'erased', versions: chain[4], at: first?.at ?? by.at }
}

/** Within a transaction: notes that a chain is erased; even one that does not exist cannot come back. */
async function markErased(source: RecordSource, erasure: KeptErasure): Promise<void> {
  const { patient, domain, turn, at, actor, reason } = erasure
  const { ask, sql } = source
  const [chain] = await ask<ChainRow>(sql.chainByTurn, [patient, domain, turn])
  if (chain !== undefined && !isErased(chain)) await clearChain(source, chain)
  await ask('INSERT INTO erasures VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
    chainName(erasure),
    at,
    actor,
    reason,
  ])
}

async function clearChain({ ask, sql }: RecordSource, [id, , , audience]: ChainRow): Promise<void> {
  const { forgetRequests, hashesOfChain } = sql.of[audience]
  const leaves = await ask<readonly [string]>(hashesOfChain, [id])
  const clear = 'UPDATE chains SET erased_leaves = $1, head_hash = $2 WHERE id = $3'
  await ask(clear, [leavesRoot(leaves), ERASED_HEAD, id])
  await ask(forgetRequests, [audience, id])
}

/**
 * Reconciles records and keys before a service uses them: erased chains stay erased, whichever of the two was restored from
 * a copy.
 */
export async function reconcileErasures(
  keys: ChainKeysPlace,
  { source, transaction }: MarkedStore,
): Promise<void> {
  const noted = (await source.ask<ErasureRow>('SELECT chain, at, actor, reason FROM erasures')).map(
    erasureOfRow,
  )
  const destroyed = await keys.erasures()
  for (const erasure of missingIn(destroyed, noted)) await keys.destroy(erasure)
  for (const erasure of missingIn(noted, destroyed))
    await transaction((within) => markErased(within, erasure))
}

/** The other erasures that a list lacks. */
function missingIn(
  list: readonly KeptErasure[],
  others: readonly KeptErasure[],
): readonly KeptErasure[] {
  const known = new Set(list.map(chainName))
  return others.filter((erasure) => !known.has(chainName(erasure)))
}
