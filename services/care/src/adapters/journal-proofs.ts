// Proofs in the journals of a record store, on either engine.
import type { Journal } from '@tallystick/journal-store'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import type { RecordRows } from './record-rows.ts'
import { isErased } from './stored-record.ts'

type Proofs = Pick<RecordStore, 'rootAt' | 'inclusionProof' | 'consistencyProof' | 'leaf'>

/** The proving part of the store. */
export const createJournalProofs = (
  rows: Pick<RecordRows, 'chainOf' | 'versions'>,
  journals: Readonly<
    Record<Audience, Pick<Journal, 'size' | 'rootAt' | 'inclusionProof' | 'consistencyProof'>>
  >,
): Proofs => ({
  rootAt: async (audience, size) => {
    const journal = journals[audience]
    if (!(size >= 0 && size <= journal.size)) throw new RangeError('a size beyond the journal')
    return journal.rootAt(size)
  },
  inclusionProof: async (audience, { index, size }) =>
    journals[audience].inclusionProof(index, size),
  consistencyProof: async (audience, { oldSize, size }) =>
    journals[audience].consistencyProof(oldSize, size),
  leaf: async (slot, version) => {
    const chain = await rows.chainOf(slot)
    // To readers an erased chain is not there.
    if (chain === undefined || isErased(chain)) return undefined
    const { audience } = slot
    const upTo = version ?? chain[2]
    const of = { audience, chain: chain[0], after: upTo - 1, upTo, limit: 1 }
    const [row] = await rows.versions(of)
    return row === undefined ? undefined : { index: row[0], hash: row[4] }
  },
})
