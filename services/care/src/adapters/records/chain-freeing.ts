// Freeing a topic (C47), on either engine: one transaction moves the chain that has the topic's name aside. Its
// versions, leaves and key stay as they are, under its number; the next write to the topic begins a chain under a key of its
// own. Nothing else changes, so a kill leaves the topic either closed or free.
import type { DoneBy, KeptFree } from '../../domain/record-store.ts'
import type { ChainSlot } from '../../wire/record-uri.ts'
import { findByNumber, type MarkedStore } from './chain-erasure.ts'
import { chainsById } from './journal-slices.ts'
import type { RecordSource } from './record-sql.ts'
import { namedChain, slotOfChain } from './stored-record.ts'

export type FreedChain =
  | { readonly kind: 'freed'; readonly freed: number; readonly versions: number }
  /** The topic has no chain of that audience. */
  | { readonly kind: 'absent' }

const FREE = 'UPDATE chains SET freed = $1 WHERE id = $2'
const FREES = 'SELECT chain, at, actor, reason FROM frees ORDER BY at, chain'

export const freeChainIn = (
  slot: ChainSlot,
  { at, actor, reason }: DoneBy,
  { transaction }: Pick<MarkedStore, 'transaction'>,
): Promise<FreedChain> =>
  transaction(async (source) => {
    const { ask, sql } = source
    const chain = await findByNumber(source, slot)
    if (chain === undefined) return { kind: 'absent' }
    const { patient, domain, audience } = slotOfChain(chain)
    const names = [patient, domain, audience]
    const [[last] = [0]] = await ask<readonly [number]>(sql.lastNumber, names)
    const [id, , , , versions] = chain
    const freed = last + 1
    await ask(FREE, [freed, id])
    await ask(sql.noteFree, [id, at, actor, reason])
    return { kind: 'freed', freed, versions }
  })

/** What was freed, the oldest first. */
export async function freesIn(source: RecordSource): Promise<readonly KeptFree[]> {
  type Row = readonly [chain: number, at: string, actor: string, reason: string]
  const frees = await source.ask<Row>(FREES)
  const chains = await chainsById(
    source,
    frees.map(([chain]) => chain),
  )
  return frees.flatMap(([id, at, actor, reason]) => {
    const chain = chains.get(id)
    return chain === undefined ? [] : [{ ...namedChain(chain), at, actor, reason }]
  })
}
