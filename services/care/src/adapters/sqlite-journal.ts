// The two journals at opening: their leaf hashes are read once, hashed up to the signed checkpoint and compared with it.
// Afterwards a journal lives as a compact range, which the appends extend.

import type { DatabaseSync } from 'node:sqlite'
import { type CompactRange, createCompactRange, type TreeHead } from '@tallystick/hashchain'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { VERSION_TABLES } from './sqlite-record-database.ts'

/** Leaf hashes read at once. */
const LEAVES_PER_READ = 10_000

const LEAF_HASH = /^[0-9a-f]{64}$/

/** What a journal's stored leaf hashes come to. */
type JournalReading =
  | { readonly kind: 'read'; readonly tree: CompactRange }
  | { readonly kind: 'refused'; readonly reason: string }

/** Stored leaf hashes in order; stops at the first that is missing or is no hash. */
function* leafHashes(database: DatabaseSync, audience: Audience): Generator<Uint8Array> {
  const table = VERSION_TABLES[audience]
  const read = database.prepare(
    `SELECT leaf_index, leaf_hash FROM ${table} WHERE leaf_index >= ? ORDER BY leaf_index LIMIT ${LEAVES_PER_READ}`,
  )
  read.setReturnArrays(true)
  for (let next = 0; ; ) {
    const rows = read.all(next) as unknown as readonly [number, string][]
    for (const [leafIndex, leafHash] of rows) {
      if (leafIndex !== next || !LEAF_HASH.test(leafHash)) return
      yield Buffer.from(leafHash, 'hex')
      next += 1
    }
    if (rows.length < LEAVES_PER_READ) return
  }
}

const refuse = (reason: string): JournalReading => ({ kind: 'refused', reason })

/** Reads a journal and holds it against the last signed checkpoint. */
export function readJournal(options: {
  readonly database: DatabaseSync
  readonly audience: Audience
  /** Undefined where there is none: the journal must be empty then. `unchecked` takes whatever is in order. */
  readonly checkpoint: TreeHead | undefined | 'unchecked'
}): JournalReading {
  const { database, audience, checkpoint } = options
  const table = VERSION_TABLES[audience]
  const counted = database.prepare(`SELECT count(*) AS stored FROM ${table}`).get()
  const stored = Number(counted?.stored)
  const tree = createCompactRange()
  const checkpointSize = typeof checkpoint === 'object' ? checkpoint.size : undefined
  let rootAtCheckpoint = tree.rootHash()
  for (const leaf of leafHashes(database, audience)) {
    tree.append(leaf)
    if (tree.size === checkpointSize) rootAtCheckpoint = tree.rootHash()
  }
  if (checkpoint === undefined)
    return stored === 0
      ? { kind: 'read', tree }
      : refuse(`it has ${stored} entries and there is no checkpoint of it`)
  if (checkpoint !== 'unchecked' && tree.size < checkpoint.size)
    return refuse(
      `its last signed checkpoint counts ${checkpoint.size} entries, ${tree.size} of them are stored in order`,
    )
  if (checkpoint !== 'unchecked' && Buffer.compare(rootAtCheckpoint, checkpoint.rootHash) !== 0)
    return refuse(`its entries do not hash to its last signed checkpoint at ${checkpoint.size}`)
  if (tree.size !== stored)
    return refuse(`it has ${stored} entries, of which the first ${tree.size} are in order`)
  return { kind: 'read', tree }
}

/** The same, throwing RecordStoreUnavailable for a journal that is refused. */
export function openJournal(options: Parameters<typeof readJournal>[0]): CompactRange {
  const reading = readJournal(options)
  if (reading.kind === 'read') return reading.tree
  throw new RecordStoreUnavailable(
    `the ${options.audience} journal is refused: ${reading.reason}. If a backup was restored on purpose, run "care accept-backup"`,
  )
}
