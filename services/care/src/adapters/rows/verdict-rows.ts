// Verdicts on pages of chains as rows that several processes share (C32). Whoever may write to the database may write such a row,
// so a row counts by its MAC alone, and its age is what it says itself.
import { SEAL_ALGORITHM } from '@tallystick/hashchain'
import type { ReplayedPage, SharedVerdicts } from '../../domain/kept-verdict.ts'
import type { ChainFinding } from '../../domain/record-store.ts'
import type { Audience } from '../../wire/audience.ts'
import type { RowMac } from '../keys/row-mac.ts'
import type { SideRows } from './side-rows.ts'

/** Rows that are read at once: some 300 KB. */
const PAGES_PER_READ = 64
/** A row of a later time than any process may have is no row of theirs, and is in nobody's way, milliseconds. */
const AHEAD_MS_MAX = 1_000

const READ = `SELECT page, at_ms AS "atMs", leaves, is_last AS "isLast", found, mac FROM verdicts
  WHERE audience = $1 AND at_ms > $2 AND page > $3 ORDER BY page LIMIT ${PAGES_PER_READ}`
/** Whoever slept during its replay changes nothing. */
const KEEP = `INSERT INTO verdicts AS old (audience, page, at_ms, leaves, is_last, found, mac) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (audience, page) DO UPDATE
    SET at_ms = excluded.at_ms, leaves = excluded.leaves, is_last = excluded.is_last, found = excluded.found, mac = excluded.mac
    WHERE old.at_ms < excluded.at_ms OR old.at_ms > $8`

type Row = Omit<ReplayedPage, 'found' | 'isLast'> & {
  readonly isLast: number
  readonly found: string
  readonly mac: Uint8Array
}

/** How a chain's newest version is stored: the id of its key, sealed without one that is known, or in the clear. */
type StoredAs = string | boolean
/** A chain, or a version that belongs to none. */
type Cells = readonly [
  number: number | undefined,
  versions: number,
  brokenAt: number,
  isErased: boolean,
  storedAs: StoredAs,
  stray?: { readonly strayOf: number | undefined; readonly uri: string },
]

function toCells({
  brokenAt = 0,
  erased,
  number,
  receipt,
  strayOf,
  versions,
}: ChainFinding): Cells {
  const storedAs = receipt.encrypted ? (receipt.keyId ?? true) : false
  const cells = [number, versions, brokenAt, erased !== undefined, storedAs] as const
  return number === undefined ? [...cells, { strayOf, uri: receipt.uri }] : cells
}

function findingIn([number, versions, brokenAt, isErased, storedAs, stray]: Cells): ChainFinding {
  const isSealed = storedAs !== false
  return {
    number: number ?? undefined,
    versions,
    intact: brokenAt === 0,
    ...(brokenAt > 0 && { brokenAt }),
    ...(isErased && { erased: versions }),
    ...(stray?.strayOf !== undefined && { strayOf: stray.strayOf }),
    receipt: {
      uri: stray?.uri ?? '',
      encrypted: isSealed,
      algorithm: isSealed ? SEAL_ALGORITHM : 'none',
      ...(typeof storedAs === 'string' && { keyId: storedAs }),
    },
  }
}

/** What stands in the database is not what a process of this service found. */
class AlteredVerdict extends Error {
  override readonly name = 'AlteredVerdict'
}

/** What the MAC covers. */
const cellsIn = (audience: Audience, row: Omit<Row, 'mac'>): readonly unknown[] => {
  const { atMs, found, isLast, leaves, page } = row
  return [audience, page, atMs, leaves, isLast, found]
}

export function openVerdictRows(
  side: SideRows,
  mac: RowMac,
  on: { readonly unixMs: () => number; readonly onProblem: (error: unknown) => void },
): SharedVerdicts {
  /** The last that was reported: a row is read until it is replaced. */
  let reported: string | undefined
  const isOwn = (audience: Audience, row: Row): boolean => {
    if (mac.isOwn(cellsIn(audience, row), row.mac)) return true
    const name = `${audience} ${row.page} ${row.atMs}`
    if (reported !== name)
      on.onProblem(new AlteredVerdict(`a verdict in the database was altered: page ${name}`))
    reported = name
    return false
  }
  return {
    async *read(audience, afterMs) {
      for (let page = -1; ; ) {
        const rows = await side.read<Row>(READ, [audience, afterMs, page])
        for (const row of rows)
          if (isOwn(audience, row)) {
            const found = (JSON.parse(row.found) as readonly Cells[]).map(findingIn)
            yield { ...row, isLast: row.isLast === 1, found }
          }
        if (rows.length < PAGES_PER_READ) return
        page = rows.at(-1)?.page ?? Number.MAX_SAFE_INTEGER
      }
    },
    keep: async (audience, { atMs, found, isLast, leaves, page }) => {
      const row = {
        page,
        atMs,
        leaves,
        isLast: Number(isLast),
        found: JSON.stringify(found.map(toCells)),
      }
      const cells = cellsIn(audience, row)
      const values = [...cells, mac.write(cells), on.unixMs() + AHEAD_MS_MAX]
      // The verdict holds without its row: others replay that page themselves.
      await side.transaction((query) => query(KEEP, values), 'relaxed').catch(on.onProblem)
    },
  }
}
