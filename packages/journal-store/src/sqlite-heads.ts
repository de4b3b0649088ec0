/** Heads of journals at opening, held against the last signed checkpoints, and at closing. */
import type { DatabaseSync } from 'node:sqlite'
import type { TreeHead } from '@tallystick/hashchain'
import { type CheckpointFile, type CheckpointReading, refuseJournal } from './checkpoint-file.ts'
import {
  type JournalHead,
  readLeaves,
  readStoredHead,
  type SqliteJournal,
  type SqliteJournalTable,
} from './sqlite-journal.ts'
import { eachJournal, type SqliteStoreKind } from './sqlite-store-kind.ts'

/** The heads of a store's journals, compared with their last signed checkpoints. */
export function openHeads<Name extends string>(
  database: DatabaseSync,
  {
    kind,
    readings,
    files,
  }: {
    readonly kind: SqliteStoreKind<Name>
    /** Read before the heads: another process may append and sign in between. */
    readonly readings: Readonly<Record<Name, CheckpointReading>>
    readonly files: Readonly<Record<Name, CheckpointFile>>
  },
): Readonly<Record<Name, JournalHead>> {
  return eachJournal(kind, (table, name) => {
    if (table.head === 'stored') return { range: readStoredHead(database), nodes: [] }
    const last = readings[name]
    if (last.kind === 'refused')
      throw new kind.Unavailable(
        `${files[name].path} is not signed by this store’s checkpoint key, or was altered; if that is intended, run "${kind.acceptCommand}"`,
      )
    const checkpoint = last.kind === 'checkpoint' ? last.checkpoint : undefined
    const reading = readLeaves(database, table, checkpoint)
    if (reading.kind === 'read') return reading
    throw new kind.Unavailable(
      `${table.noun} is refused: ${reading.reason}. If a backup was restored on purpose, run "${kind.acceptCommand}"`,
    )
  })
}

/** Whether a journal has all that a checkpoint signed, as it signed it. */
const isContinued = (
  journal: Pick<SqliteJournal, 'size' | 'rootAt'>,
  { rootHash, size }: TreeHead,
): boolean => size <= journal.size && Buffer.compare(journal.rootAt(size), rootHash) === 0

/** Throws the service's error for a journal that does not go on from its last checkpoint. */
export function requireContinued(
  {
    journal,
    last,
    table,
  }: {
    readonly table: SqliteJournalTable
    readonly journal: SqliteJournal
    readonly last: CheckpointReading
  },
  kind: Pick<SqliteStoreKind<string>, 'Unavailable' | 'acceptCommand'>,
): void {
  if (last.kind === 'absent') return
  if (last.kind === 'checkpoint' && isContinued(journal, last.checkpoint)) return
  refuseJournal(last, { noun: table.noun, size: journal.size }, kind)
}

/** Signs a journal's head. A checkpoint that the journal does not go on from stays: it is the proof of what was lost. */
export function keepCheckpoint(file: CheckpointFile, journal: SqliteJournal): void {
  if (journal.size === 0) return
  const last = file.read()
  if (
    last.kind === 'absent' ||
    (last.kind === 'checkpoint' && isContinued(journal, last.checkpoint))
  )
    file.write(journal)
}
