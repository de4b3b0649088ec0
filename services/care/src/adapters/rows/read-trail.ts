// Who read which record: rows written in groups, without waiting for the disk, and kept for some days. A row never holds
// a value.
import { sharedRuns } from '@tallystick/journal-store'
import { type Clock, DAY_MS, isoNow } from '@tallystick/service-kit'
import type { KeptReadRow, ReadRow } from '../../domain/care-record.ts'
import type { Audience } from '../../wire/audience.ts'
import { chainUri } from '../../wire/record-uri.ts'
import type { SideRows } from './side-rows.ts'

/** Rows that may wait in memory; at this many they are written at once. */
const ROWS_WAITING_MAX = 512
/** Beyond this many, while the disk does not take them, the newest are dropped and reported. */
const ROWS_HELD_MAX = 20_000
/** Longest that a row waits, milliseconds: a kill may lose this much. */
const FLUSH_MS = 1_000

/** Characters kept of a name or URI: those of records are shorter, but anybody may ask for anything. */
const TEXT_CHARS_MAX = 2_048

/** A text that every engine accepts: no lone surrogate, no U+0000. */
const storable = (text: string): string =>
  text.slice(0, TEXT_CHARS_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')

/**
 * Rows, newest first, of those with a sequence below `before`, of one chain or one reader where they are named. Rejects with
 * RecordStoreUnavailable.
 */
export async function readReadRows(
  rows: SideRows,
  query: {
    readonly limit: number
    readonly before?: number | undefined
    readonly chain?: string | undefined
    readonly actor?: string | undefined
  },
): Promise<readonly KeptReadRow[]> {
  const { limit, before = Number.MAX_SAFE_INTEGER, chain, actor } = query
  const values: (string | number)[] = []
  const value = (cell: string | number): string => `$${values.push(cell)}`
  const where = [`sequence < ${value(before)}`]
  // `0` follows `/`: every URI that begins with the chain's and a slash.
  if (chain !== undefined)
    where.push(
      `(uri = ${value(chain)} OR (uri >= ${value(`${chain}/`)} AND uri < ${value(`${chain}0`)}))`,
    )
  if (actor !== undefined) where.push(`actor = ${value(actor)}`)
  return rows.read<KeptReadRow>(
    `SELECT sequence, at, actor, way, outcome, uri FROM read_rows
      WHERE ${where.join(' AND ')} ORDER BY sequence DESC LIMIT ${value(limit)}`,
    values,
  )
}

/** What rows of one patient begin with, and rows of all of an audience. */
function prefixesFor(patient: string, audiences: readonly Audience[]): readonly string[] {
  return audiences.flatMap((audience) => {
    const [scheme = '', name = ''] = chainUri({ patient, domain: '-', audience }).split('//')
    return [`${scheme}//`, `${scheme}//${name.slice(0, name.indexOf('/') + 1)}`]
  })
}

/**
 * Rows of a patient's records, newest first, of those with a sequence below `before`; also where all of an audience was taken.
 * However many there are, an index finds the first. Rejects with RecordStoreUnavailable.
 */
export async function readPatientRows(
  rows: SideRows,
  query: {
    readonly patient: string
    readonly audiences: readonly Audience[]
    readonly limit: number
    readonly before?: number | undefined
  },
): Promise<readonly KeptReadRow[]> {
  const { audiences, before = Number.MAX_SAFE_INTEGER, limit, patient } = query
  const prefixes = prefixesFor(patient, audiences)
  const parts = prefixes.map(
    (_, at) =>
      `SELECT * FROM (SELECT sequence, at, actor, way, outcome, uri FROM read_rows
        WHERE whose = $${at + 3} AND sequence < $1
        ORDER BY sequence DESC LIMIT $2) AS part${at}`,
  )
  return rows.read<KeptReadRow>(`${parts.join(' UNION ALL ')} ORDER BY sequence DESC LIMIT $2`, [
    before,
    limit,
    ...prefixes,
  ])
}

const ADD = 'INSERT INTO read_rows (at, actor, way, outcome, uri) VALUES ($1, $2, $3, $4, $5)'
/** Old rows that one group deletes, twice what it adds at most: no transaction gets long. */
const FORGOTTEN_PER_GROUP = 1_024
const FORGET = `DELETE FROM read_rows WHERE sequence IN
  (SELECT sequence FROM read_rows WHERE at < $1 ORDER BY at LIMIT ${FORGOTTEN_PER_GROUP})`

export function openReadTrail(
  rows: SideRows,
  {
    clock,
    keptDays,
    onProblem,
  }: {
    readonly clock: Clock
    readonly keptDays: number
    readonly onProblem: (error: unknown) => void
  },
) {
  let waiting: Omit<KeptReadRow, 'sequence'>[] = []
  let cancelTimer: (() => void) | undefined

  const write = async (noted: typeof waiting): Promise<void> => {
    const oldest = new Date(clock.unixMs() - keptDays * DAY_MS).toISOString()
    try {
      await rows.transaction((query) => {
        const added = noted.map(({ at, actor, way, outcome, uri }) =>
          query(ADD, [at, actor, way, outcome, uri]),
        )
        return Promise.all([...added, query(FORGET, [oldest])])
      }, 'relaxed')
    } catch (error) {
      onProblem(error)
      waiting = [...noted, ...waiting].slice(0, ROWS_HELD_MAX)
    }
  }
  const flush = sharedRuns(async () => {
    cancelTimer?.()
    cancelTimer = undefined
    const noted = waiting
    waiting = []
    if (noted.length > 0) await write(noted)
  })
  return {
    /** Rows are written in groups: a kill may lose those of the last second. */
    noteRead: ({ actor, outcome, uri, way }: ReadRow): void => {
      if (waiting.length >= ROWS_HELD_MAX) return
      const at = isoNow(clock)
      waiting.push({ at, actor: storable(actor), way, outcome, uri: storable(uri) })
      if (waiting.length >= ROWS_WAITING_MAX) void flush()
      else cancelTimer ??= clock.after(FLUSH_MS, () => void flush())
    },
    close: flush,
  }
}
