import type { DatabaseSync } from 'node:sqlite'
import { emptyTruth, type MutableTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

/** The truth table of one connection: kept in memory, written with every commit. */
export type TruthShelf = {
  readonly truth: MutableTruth
  /** Writes the cells of these keys as they are now, within the caller's transaction. */
  save(keys: ReadonlySet<string>): void
  /** Goes back to what is stored. */
  reload(): void
}

/** Opens the truth table of a connection; `size` is the number of entries that it counts. */
export function openTruthShelf(database: DatabaseSync, size: () => number): TruthShelf {
  const all = prepareQuery<readonly [string, string]>(database, 'SELECT key, cell FROM truth')
  const put = database.prepare(
    'INSERT INTO truth (key, cell) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET cell = excluded.cell',
  )
  const remove = database.prepare('DELETE FROM truth WHERE key = ?')
  const truth = emptyTruth()
  const reload = (): void => {
    truth.bands.clear()
    truth.lines.clear()
    for (const [key, cell] of all.all()) readCell(truth, key, cell)
    truth.asOfSeq = size()
  }
  reload()
  return {
    truth,
    save: (keys) => {
      for (const key of keys) {
        const cell = truth.bands.get(key) ?? truth.lines.get(key)
        if (cell === undefined) remove.run(key)
        else put.run(key, writeCell(cell))
      }
      truth.asOfSeq = size()
    },
    reload,
  }
}
