// Proofs in the journals of a record store, on either engine.
import type { Journal } from '@tallystick/journal-store'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import type { RecordRows } from './record-rows.ts'
import { guarded } from './sqlite-record-database.ts'
import { isErased } from './stored-record.ts'

type Proofs = Pick<RecordStore, 'rootAt' | 'inclusionProof' | 'consistencyProof' | 'leaf'>

export const createJournalProofs = (
  rows: Pick<RecordRows, 'found' | 'versions'>,
  journals: Readonly<
    Record<Audience, Pick<Journal, 'size' | 'rootAt' | 'inclusionProof' | 'consistencyProof'>>
  >,
): Proofs => ({
  rootAt: guarded(async (audience, size) => {
    const journal = journals[audience]
    if (!(size >= 0 && size <= journal.size)) throw new RangeError('a size beyond the journal')
    return journal.rootAt(size)
  }),
  inclusionProof: guarded((audience, { index, size }) =>
    journals[audience].inclusionProof(index, size),
  ),
  consistencyProof: guarded((audience, { oldSize, size }) =>
    journals[audience].consistencyProof(oldSize, size),
  ),
  leaf: async (slot, version) => {
    const found = await rows.found(slot)
    // To readers an erased chain is not there.
    if (found === undefined || isErased(found.chain)) return undefined
    const { audience } = slot
    const [id, , , , latestVersion] = found.chain
    const upTo = version ?? latestVersion
    const of = { audience, chain: id, after: upTo - 1, upTo, limit: 1 }
    const [row] = await rows.versions(of)
    return row === undefined ? undefined : { index: row[0], hash: row[4] }
  },
})
