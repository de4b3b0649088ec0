// Who read which record: rows that are written in groups, without a disk's wait of their own, and kept for a number of days. A
// row never holds a value.
import type { Clock } from '@tallystick/service-kit'
import type { KeptReadRow, ReadRow, ReadTrail } from '../domain/read-trail.ts'
import type { SideTables } from './side-tables.ts'

/** Rows that wait in memory before they are written at once. */
const ROWS_WAITING_MAX = 512
/** Beyond this many, while the disk does not take them, the newest are dropped and reported. */
const ROWS_HELD_MAX = 20_000
/** Longest that a row waits, milliseconds: what a kill may take. */
const FLUSH_MS = 1_000
/** How often rows that are too old are taken out, milliseconds. */
const FORGET_MS = 3_600_000
const MS_PER_DAY = 86_400_000

/** Characters of a name or URI that are kept: those of records are shorter, and anybody may ask for anything. */
const TEXT_CHARS_MAX = 2_048

/** A text that every engine takes: no half character, no U+0000. */
const storable = (text: string): string =>
  text.slice(0, TEXT_CHARS_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')

/** Rows, newest first. Rejects with AuditTrailUnavailable. */
export async function readReadRows(
  tables: SideTables,
  query: Parameters<ReadTrail['read']>[0],
): Promise<readonly KeptReadRow[]> {
  const { limit, before = Number.MAX_SAFE_INTEGER, chain, actor } = query
  const where = [
    'sequence < ?',
    ...(chain === undefined ? [] : ['(uri = ? OR (uri >= ? AND uri < ?))']),
    ...(actor === undefined ? [] : ['actor = ?']),
  ]
  const values = [
    before,
    // `0` follows `/`: every URI that begins with the chain's and a slash.
    ...(chain === undefined ? [] : [chain, `${chain}/`, `${chain}0`]),
    ...(actor === undefined ? [] : [actor]),
    limit,
  ]
  const sql = `SELECT sequence, at, actor, way, outcome, uri FROM read_rows WHERE ${where.join(' AND ')} ORDER BY sequence DESC LIMIT ?`
  return (await tables.read(sql, values)) as readonly KeptReadRow[]
}

/** Opens the trail. */
export function openReadTrail(
  tables: SideTables,
  of: {
    readonly clock: Clock
    readonly keptDays: number
    readonly onProblem: (error: unknown) => void
  },
): ReadTrail {
  const { clock, keptDays, onProblem } = of
  let waiting: ReadRow[] = []
  let writing: Promise<void> = Promise.resolve()
  let cancelTimer: (() => void) | undefined
  let forgottenAtMs = Number.NEGATIVE_INFINITY

  const write = async (rows: readonly ReadRow[]): Promise<void> => {
    try {
      await tables.write(
        'INSERT INTO read_rows (at, actor, way, outcome, uri) VALUES (?, ?, ?, ?, ?)',
        rows.map(({ at, actor, way, outcome, uri }) => [at, actor, way, outcome, uri]),
      )
      const nowMs = clock.unixMs()
      if (nowMs - forgottenAtMs < FORGET_MS) return
      forgottenAtMs = nowMs
      const oldest = new Date(nowMs - keptDays * MS_PER_DAY).toISOString()
      await tables.write('DELETE FROM read_rows WHERE at < ?', [[oldest]])
    } catch (error) {
      onProblem(error)
      waiting = [...rows, ...waiting].slice(0, ROWS_HELD_MAX)
    }
  }
  const flush = (): Promise<void> => {
    cancelTimer?.()
    cancelTimer = undefined
    const rows = waiting
    waiting = []
    if (rows.length > 0) writing = writing.then(() => write(rows))
    return writing
  }
  return {
    note: (row) => {
      if (waiting.length >= ROWS_HELD_MAX) return
      waiting.push({ ...row, actor: storable(row.actor), uri: storable(row.uri) })
      if (waiting.length >= ROWS_WAITING_MAX) void flush()
      else cancelTimer ??= clock.after(FLUSH_MS, () => void flush())
    },
    read: async (query) => {
      await flush()
      return readReadRows(tables, query)
    },
    close: async () => {
      await flush()
    },
  }
}
