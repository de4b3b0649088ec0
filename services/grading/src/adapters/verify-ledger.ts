/**
 * Verifies the ledger on either engine: entries must hash to their leaves and be filed correctly, every committed pick must
 * open its commitment, and the truth table must equal a recount of the folded events.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CheckpointReading, headOfRow, verifyJournal } from '@tallystick/journal-store'
import { emptyTruth, readCell, sameTruth } from '../domain/calibration/truth-table.ts'
import { commitmentHash } from '../domain/closes/committed-pick.ts'
import type { LedgerVerdict } from '../domain/closes/grading-store.ts'
import type { LedgerEntry } from '../domain/closes/ledger-entry.ts'
import type { PickOpening } from '../domain/closes/pick-opening.ts'
import { countTruth, PER_SLICE } from './count-truth.ts'
import type { LedgerSource } from './ledger-sql.ts'
import type { EntryRow } from './stored-rows.ts'

type Broken = Extract<LedgerVerdict, { kind: 'broken' }>

const broken = (problem: string, seq?: number): Broken => ({ kind: 'broken', problem, seq })

function parsed(text: string): LedgerEntry | undefined {
  try {
    return JSON.parse(text) as LedgerEntry
  } catch {
    return undefined
  }
}

/** `path` names the event that the entry is filed under. */
type FiledRow = readonly [seq: number, hash: Uint8Array, text: string, path: string | null]

/** What is wrong with an entry whose text hashes to its leaf. */
function checkFiled([, , text, path]: FiledRow): string | undefined {
  const entry = parsed(text)
  if (entry === undefined) return 'its text is not JSON'
  const belongs = entry.type === 'pick' ? null : entry.event.path
  return belongs === path ? undefined : 'the index of events does not lead to it'
}

/** The first pass: checks entries in order against leaves, nodes and signed checkpoint, and each with `checkFiled`. */
function verifyEntries({ rows }: LedgerSource, checkpoint: CheckpointReading) {
  const filed = `SELECT at, text, leaf_hash, path FROM entries LEFT JOIN events ON id = event
    WHERE at >= $1 ORDER BY at LIMIT ${PER_SLICE}`
  return verifyJournal({
    checkpoint,
    rows: async (from) => {
      const found = await rows<readonly [...EntryRow, path: string | null]>(filed, [from])
      return found.map(([at, text, leaf, path]): FiledRow => [at, leaf, String(text), path])
    },
    node: async (place) => {
      const node = 'SELECT hash FROM entries_nodes WHERE place = $1'
      return (await rows<readonly [Uint8Array]>(node, [place]))[0]?.[0]
    },
    check: checkFiled,
    rowsPerSlice: PER_SLICE,
    pause: nextTurn,
  })
}

async function checkPicks({ rows }: LedgerSource): Promise<Broken | undefined> {
  const committed = `SELECT picks.seq, opening, text FROM picks LEFT JOIN entries ON entries.at = picks.seq
    WHERE picks.seq > $1 ORDER BY picks.seq LIMIT ${PER_SLICE}`
  type Row = readonly [seq: number, opening: string, text: string | Buffer | null]
  for (let last = -1; ; ) {
    const slice = await rows<Row>(committed, [last])
    for (const [seq, opening, text] of slice) {
      const found = text === null ? undefined : parsed(String(text))
      const commitment = commitmentHash(JSON.parse(opening) as PickOpening)
      if (found?.type !== 'pick' || found.commitment !== commitment)
        return broken('its pick does not open its commitment', seq)
      last = seq
    }
    if (slice.length < PER_SLICE) return undefined
    await nextTurn()
  }
}

async function checkTruth(source: LedgerSource): Promise<Broken | undefined> {
  const [counted, stored] = [await countTruth(source), emptyTruth()]
  const cells = await source.rows<readonly [key: string, cell: string]>(
    'SELECT key, cell FROM truth WHERE cell IS NOT NULL',
  )
  for (const [key, cell] of cells) readCell(stored, key, cell)
  return sameTruth(stored, counted)
    ? undefined
    : broken('the truth table is not what the ledger comes to')
}

/**
 * Verifies everything against a checkpoint read before the call, in slices between which others read and write. Names the
 * first broken entry, if one can be named. Rejects with GradingStoreUnavailable.
 */
export async function verifyLedger(
  source: LedgerSource,
  checkpoint: CheckpointReading,
): Promise<LedgerVerdict> {
  const entries = await verifyEntries(source, checkpoint)
  if (entries.kind === 'broken') return broken(entries.problem, entries.index)
  const [[size, peaks] = [0, new Uint8Array()]] = await source.rows<readonly [number, Uint8Array]>(
    source.sql.head,
  )
  const head = headOfRow(size, peaks)
  // Entries appended meanwhile were not read; the head is compared only if there are none.
  if (head.size === entries.size && Buffer.compare(head.rootHash(), entries.rootHash) !== 0)
    return broken('the entries do not hash to the stored head')
  if (head.size < entries.size) return broken('there are entries beyond the stored head', head.size)
  const problem = (await checkPicks(source)) ?? (await checkTruth(source))
  return problem ?? { kind: 'intact', entries: entries.size, rootHash: entries.rootHash }
}
