/** Entries as they are stored, one or in order. */
import type { DatabaseSync } from 'node:sqlite'
import type { StoredEntry } from '../domain/grading-store.ts'
import type { LedgerEntry } from '../domain/ledger-entry.ts'
import { prepareQuery, reading } from './sqlite-grading-database.ts'

/** Entries read at once. */
const ENTRIES_PER_READ = 1_000

/** [seq, text, hash] */
type EntryRow = readonly [number, string, Uint8Array]

const entryOf = ([seq, text, hash]: EntryRow): StoredEntry => ({
  seq,
  text,
  hash: Buffer.from(hash).toString('hex'),
  entry: JSON.parse(text) as LedgerEntry,
})

/** The entries of one connection. */
export type EntryReader = {
  one(seq: number): StoredEntry | undefined
  /** From (inclusive) to (exclusive), in order. Throws GradingStoreUnavailable. */
  range(range: { readonly from: number; readonly to: number }): AsyncGenerator<StoredEntry>
}

/** Opens the entries of a connection. */
export function openEntryReader(database: DatabaseSync): EntryReader {
  const columns = 'SELECT seq, text, hash FROM entries'
  const one = prepareQuery<EntryRow>(database, `${columns} WHERE seq = ?`)
  const range = prepareQuery<EntryRow>(
    database,
    `${columns} WHERE seq >= ? AND seq < ? ORDER BY seq`,
  )
  return {
    one: (seq) => {
      const row = one.get(seq)
      return row === undefined ? undefined : entryOf(row)
    },
    range: async function* ({ from, to }) {
      for (let first = from; first < to; first += ENTRIES_PER_READ) {
        const end = Math.min(first + ENTRIES_PER_READ, to)
        const rows = reading(() => range.all(first, end))
        if (rows.length === 0) return
        yield* rows.map(entryOf)
      }
    },
  }
}
