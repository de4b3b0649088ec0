// Erasing a chain (C31), on either engine: all its entries are sealed under its own key. The records note the erasure, and then
// the key is destroyed. A version leaves its place and its leaf, which cannot be guessed because of 32 random bytes. The
// chain's head hash is removed too: it would let someone guess a short sentence.
import { GENESIS_PREV_HASH, rootOf } from '@tallystick/hashchain'
import { type Awaitable, whenAnswered } from '@tallystick/journal-store'
import { type DoneBy, type KeptErasure, RecordStoreUnavailable } from '../domain/record-store.ts'
import type { NamedChain } from '../wire/record-uri.ts'
import {
  type ChainKeys,
  type ChainKeysPlace,
  chainName,
  type ErasureRow,
  erasureOfRow,
} from './chain-keys.ts'
import type { RecordSource } from './record-sql.ts'
import { type ChainRow, isErased } from './stored-record.ts'

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
  Buffer.from(rootOf(leaves.map(([leaf]) => Buffer.from(leaf, 'hex')))).toString('hex')

/** The records that a chain is erased from, or moved aside in. */
export type MarkedStore = {
  readonly source: RecordSource
  /** Runs statements in one transaction, while nothing is appended. */
  readonly atOnce: (run: (source: RecordSource) => Awaitable<unknown>) => Awaitable<unknown>
}

/** Erases a chain. Fails with RecordStoreUnavailable for records that these keys do not seal. */
export async function eraseChainOf(
  { audience, domain, freed = 0, patient }: NamedChain,
  by: DoneBy,
  { atOnce, keys, source }: MarkedStore & { readonly keys: ChainKeys },
): Promise<ErasedChain> {
  const values = [patient, domain, audience, freed]
  const [chain] = await source.ask<ChainRow>(source.sql.chainByNumber, values)
  if (chain === undefined) return { kind: 'absent' }
  const [named] = await source.ask<readonly [string]>('SELECT key_id FROM seal_keys')
  if (named?.[0] !== keys.ownKeyId)
    throw new RecordStoreUnavailable(
      'these records are in the clear, or their keys are elsewhere: nothing was erased',
    )
  const erasure = { patient, domain, turn: chain[7], ...by }
  await atOnce((within) => markErased(within, erasure))
  await keys.place.destroy(erasure)
  const name = chainName(erasure)
  const first = (await keys.place.erasures()).find((known) => chainName(known) === name)
  return { kind: 'erased', versions: chain[4], at: first?.at ?? by.at }
}

/** Within a transaction: notes that a chain is erased; even one that does not exist cannot come back. */
function markErased(source: RecordSource, erasure: KeptErasure): Awaitable<unknown> {
  const { patient, domain, turn, at, actor, reason } = erasure
  const { ask, sql } = source
  return whenAnswered([ask<ChainRow>(sql.chainByTurn, [patient, domain, turn])], ([[chain]]) => {
    const cleared = chain === undefined || isErased(chain) ? [] : clearChain(source, chain)
    return whenAnswered([cleared], () =>
      ask('INSERT INTO erasures VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
        chainName(erasure),
        at,
        actor,
        reason,
      ]),
    )
  })
}

function clearChain({ ask, sql }: RecordSource, [id, , , audience]: ChainRow): Awaitable<unknown> {
  const { forgetRequests, hashesOfChain } = sql.of[audience]
  return whenAnswered([ask<readonly [string]>(hashesOfChain, [id])], ([leaves]) => {
    const clear = 'UPDATE chains SET erased_leaves = $1, head_hash = $2 WHERE id = $3'
    const cleared = ask(clear, [leavesRoot(leaves), ERASED_HEAD, id])
    return whenAnswered([cleared, ask(forgetRequests, [audience, id])], () => undefined)
  })
}

/**
 * Reconciles records and keys before a service uses them: erased chains stay erased, whichever of the two was restored from
 * a copy.
 */
export function reconcileErasures(
  keys: ChainKeysPlace,
  { atOnce, source }: MarkedStore,
): Awaitable<unknown> {
  const kept = source.ask<ErasureRow>('SELECT chain, at, actor, reason FROM erasures')
  return whenAnswered([kept, keys.erasures()], ([rows, destroyed]) => {
    const noted = rows.map(erasureOfRow)
    return whenAnswered(
      [
        ...missingIn(destroyed, noted).map((erasure) => keys.destroy(erasure)),
        ...missingIn(noted, destroyed).map((erasure) =>
          atOnce((within) => markErased(within, erasure)),
        ),
      ],
      () => undefined,
    )
  })
}

/** The other erasures that a list lacks. */
function missingIn(
  list: readonly KeptErasure[],
  others: readonly KeptErasure[],
): readonly KeptErasure[] {
  const known = new Set(list.map(chainName))
  return others.filter((erasure) => !known.has(chainName(erasure)))
}
