/** Counts the truth table again from the ledger's entries, to verify it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventContribution } from '../domain/calibration/event-contribution.ts'
import { emptyTruth, type MutableTruth } from '../domain/calibration/truth-table.ts'
import { TruthTally } from '../domain/calibration/truth-tally.ts'
import type { LedgerSource } from './ledger-sql.ts'
import {
  type EntryRow,
  foldEvent,
  PICK_COLUMNS,
  type PickRow,
  readCommitted,
} from './stored-rows.ts'

/** Entries, events or picks in a slice: some 10 ms. */
export const PER_SLICE = 500

/** The truth table that the ledger's entries add up to, counted in slices of events. */
export async function countTruth({ rows }: Pick<LedgerSource, 'rows'>): Promise<MutableTruth> {
  const events = `SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT ${PER_SLICE}`
  const entries = `SELECT at, text, leaf_hash, event FROM entries
    WHERE event > $1 AND event <= $2 ORDER BY event, at`
  const picks = `SELECT ${PICK_COLUMNS}, events.id FROM events JOIN picks ON event_path = path
    WHERE events.id > $1 AND events.id <= $2 AND seq IS NOT NULL ORDER BY events.id, seq`
  const tally = new TruthTally()
  for (let last = 0; ; ) {
    const slice = await rows<readonly [number]>(events, [last])
    const range = [last, slice.at(-1)?.[0] ?? last]
    const [foundEntries, foundPicks] = await Promise.all([
      rows<readonly [...EntryRow, event: number]>(entries, range),
      rows<readonly [...PickRow, event: number]>(picks, range),
    ])
    const [eventEntries, eventPicks] = [
      Map.groupBy(foundEntries, (row) => row[3]),
      Map.groupBy(foundPicks, (row) => row[6]),
    ]
    for (const [id] of slice) {
      const state = foldEvent(eventEntries.get(id) ?? [])
      const committed = readCommitted(eventPicks.get(id) ?? [])
      if (state !== undefined) tally.add(eventContribution(state, committed), 1)
      last = id
    }
    if (slice.length < PER_SLICE) break
    await nextTurn()
  }
  const truth = emptyTruth()
  tally.mergeInto(truth)
  return truth
}
