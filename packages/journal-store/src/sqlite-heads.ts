/** Heads of journals at opening and closing, compared with the last signed checkpoints. */
import type { DatabaseSync } from 'node:sqlite'
import { type CheckpointFile, type CheckpointReading, isContinued } from './checkpoint-file.ts'
import type { Journal } from './journal-store.ts'
import { whenAnswered } from './sql-dialect.ts'
import { type JournalHead, readLeaves, readStoredHead } from './sqlite-journal.ts'
import type { SqliteStoreKind } from './sqlite-store-kind.ts'
import { eachJournal } from './store-kind.ts'

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

/** Signs a journal's head. A checkpoint that the journal does not continue from stays: it proves what was lost. */
export function keepCheckpoint(
  file: CheckpointFile,
  journal: Pick<Journal, 'size' | 'rootAt' | 'rootHash'>,
): void {
  if (journal.size === 0) return
  const last = file.read()
  if (last.kind === 'refused') return
  void whenAnswered(
    [last.kind === 'absent' || isContinued(journal, last.checkpoint)],
    ([isFollowing]) => {
      if (isFollowing) file.write(journal)
    },
  )
}
