/** A truth table that an earlier version counted by other rules is counted again, once, from the ledger's own entries. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import { eventContribution } from '../domain/event-contribution.ts'
import {
  emptyTruth,
  type MutableTruth,
  TRUTH_RULES,
  TRUTH_RULES_KEY,
  writeCell,
} from '../domain/truth-table.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import { openEventEntries } from './sqlite-events.ts'
import { openPickTable } from './sqlite-ledger.ts'
import { foldEvent } from './stored-rows.ts'

/** The table as the ledger comes to it. */
function counted(database: DatabaseSync): MutableTruth {
  const entries = openEventEntries(database)
  const picks = openPickTable(database)
  const truth = emptyTruth()
  const tally = new TruthTally()
  const events = database.prepare('SELECT id, path FROM events ORDER BY id')
  for (const { id, path } of events.iterate()) {
    const state = foldEvent(entries.all(Number(id)))
    tally.add(eventContribution(state, picks.committedOn(String(path))), 1)
  }
  tally.mergeInto(truth)
  return truth
}

/** Some 100 µs an event; a ledger counted by today's rules costs one look. */
export function recountOutdated(database: DatabaseSync): void {
  const rules = prepareQuery<readonly [string]>(database, 'SELECT cell FROM truth WHERE key = ?')
  const isCurrent = (): boolean => rules.get(TRUTH_RULES_KEY)?.[0] === TRUTH_RULES
  if (isCurrent()) return
  database.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have been first.
    if (!isCurrent()) {
      const truth = counted(database)
      database.exec('DELETE FROM truth')
      const put = database.prepare('INSERT INTO truth (key, cell) VALUES (?, ?)')
      for (const [key, cell] of [...truth.bands, ...truth.lines]) put.run(key, writeCell(cell))
      put.run(TRUTH_RULES_KEY, TRUTH_RULES)
    }
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}
