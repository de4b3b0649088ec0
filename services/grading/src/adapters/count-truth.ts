/** Recounts the truth table from the ledger's entries: to verify it, and once after an upgrade changed the rules. */
import { eventContribution } from '../domain/event-contribution.ts'
import {
  emptyTruth,
  type MutableTruth,
  TRUTH_RULES,
  TRUTH_RULES_KEY,
  writeCell,
} from '../domain/truth-table.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import type { LedgerSource, Send } from './ledger-sql.ts'
import { committedOf, type EntryRow, foldEvent, PICK_COLUMNS, type PickRow } from './stored-rows.ts'

/** Entries, events or picks in a slice: some 10 ms. */
export const PER_SLICE = 500

type Counted = Pick<LedgerSource, 'ask' | 'sql' | 'pause'>

/** The truth table that the ledger's entries add up to, counted in slices of events. */
export async function countTruth({
  ask,
  pause,
  sql: { hash, seq },
}: Counted): Promise<MutableTruth> {
  const events = `SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT ${PER_SLICE}`
  const entries = `SELECT ${seq}, text, ${hash}, event FROM entries
    WHERE event > $1 AND event <= $2 ORDER BY event, ${seq}`
  const picks = `SELECT ${PICK_COLUMNS}, events.id FROM events JOIN picks ON event_path = path
    WHERE events.id > $1 AND events.id <= $2 AND seq IS NOT NULL ORDER BY events.id, seq`
  const tally = new TruthTally()
  for (let last = 0; ; ) {
    const slice = await ask<readonly [number]>(events, [last])
    const range = [last, slice.at(-1)?.[0] ?? last]
    const [found, kept] = await Promise.all([
      ask<readonly [...EntryRow, event: number]>(entries, range),
      ask<readonly [...PickRow, event: number]>(picks, range),
    ])
    const [entriesOf, picksOf] = [
      Map.groupBy(found, (row) => row[3]),
      Map.groupBy(kept, (row) => row[6]),
    ]
    for (const [id] of slice) {
      const state = foldEvent(entriesOf.get(id) ?? [])
      const committed = committedOf(picksOf.get(id) ?? [])
      if (state !== undefined) tally.add(eventContribution(state, committed), 1)
      last = id
    }
    if (slice.length < PER_SLICE) break
    await pause()
  }
  const truth = emptyTruth()
  tally.mergeInto(truth)
  return truth
}

/** Whether the table was counted under rules other than today's. */
export async function isOutdated({ ask }: Pick<LedgerSource, 'ask'>): Promise<boolean> {
  const [rules] = await ask<readonly [string]>('SELECT cell FROM truth WHERE key = $1', [
    TRUTH_RULES_KEY,
  ])
  return rules?.[0] !== TRUTH_RULES
}

/** Counts an outdated table by today's rules, within a write, unless another process was first. Some 100 µs an event. */
export async function recount(source: Counted, size: number, send: Send): Promise<void> {
  if (!(await isOutdated(source))) return
  const truth = await countTruth(source)
  const stored = await source.ask<readonly [string]>('SELECT key FROM truth')
  const cells = new Map<string, string | null>(stored.map(([key]) => [key, null]))
  for (const [key, cell] of truth.cells) cells.set(key, writeCell(cell))
  source.sql.keepCells(send, [...cells.set(TRUTH_RULES_KEY, TRUTH_RULES)], size)
}
