// The SQL of the records that both engines accept; a dialect has the parts that differ. Tables have no schema, `$1` stands for
// a value, and rows come as arrays: the caller of a statement gives the type of its rows.
import { bodyOfBytes, POSTGRES_IMPORTS, type Rows, SQLITE_IMPORTS } from '@tallystick/journal-store'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import { VERSION_TABLES } from '../schemas/sqlite-record-database.ts'
import type { ChainRow, FoundChain, VersionRow } from './stored-record.ts'

type SqlType = 'text' | 'bigint'

/** Where the engines' SQL for records differs. */
type Dialect = {
  /** Rows to insert, from the one value that `list` makes of them; on PostgreSQL a value for each column. */
  readonly unnestRows: (...types: readonly SqlType[]) => string
  /** Whether columns of these types are those of one of the rows of `list`. */
  readonly isAmong: (columns: Readonly<Record<string, SqlType>>) => string
  /** The values of a statement over rows, of which there is at least one. */
  readonly list: (rows: readonly (readonly unknown[])[]) => readonly unknown[]
  /** Leaf hashes of a row in lower-case hex. */
  readonly leafHash: (row: string) => string
  readonly imports: typeof SQLITE_IMPORTS | typeof POSTGRES_IMPORTS
  /** Finds no trace of a chain of the other audience, in the same time as for no chain (C30). */
  readonly bySlot: string
  /** Versions of each chain `c` from place $1 to before place $2, never past those of others. */
  readonly ofEachBehind: (table: string) => string
  /** Versions of topics in a range of places, each topic's in an order; see behindSql. */
  readonly ofTopicsBehind: (table: string, order: string) => string
}

const jsonCells = (count: number): string =>
  Array.from({ length: count }, (_, at) => `value ->> ${at}`).join(', ')

const SQLITE: Dialect = {
  unnestRows: (...types) => `SELECT ${jsonCells(types.length)} FROM json_each($1) WHERE true`,
  isAmong: (columns) => {
    const names = Object.keys(columns)
    return `(${names.join(', ')}) IN (SELECT ${jsonCells(names.length)} FROM json_each($1))`
  },
  list: (rows) => [JSON.stringify(rows)],
  leafHash: (row) => `lower(hex(${row}.leaf_hash))`,
  imports: SQLITE_IMPORTS,
  bySlot: 'INDEXED BY chains_by_slot',
  ofEachBehind: (table) => table,
  ofTopicsBehind: (table, order) =>
    `json_each($1) asked CROSS JOIN chains c CROSS JOIN ${table} v ON v.at IN
      (SELECT at FROM ${table} WHERE chain = c.id AND place >= asked.value ->> 2 AND place < asked.value ->> 3 ${order} LIMIT $2)
      WHERE c.patient = asked.value ->> 0 AND c.domain = asked.value ->> 1`,
}

const unnested = (types: readonly SqlType[]): string =>
  `SELECT * FROM unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')})`

const POSTGRES: Dialect = {
  unnestRows: (...types) => unnested(types),
  isAmong: (columns) =>
    `(${Object.keys(columns).join(', ')}) IN (${unnested(Object.values(columns))})`,
  list: ([first = [], ...others]) =>
    first.map((cell, column) => [cell, ...others.map((row) => row[column])]),
  leafHash: (row) => `encode(${row}.leaf_hash, 'hex')`,
  imports: POSTGRES_IMPORTS,
  bySlot: '',
  ofEachBehind: (table) =>
    `LATERAL (SELECT * FROM ${table} WHERE chain = c.id AND place >= $1 AND place < $2 OFFSET 0)`,
  ofTopicsBehind: (table, order) =>
    `unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS asked (patient, domain, since, until)
      JOIN chains c ON c.patient = asked.patient AND c.domain = asked.domain
      CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE chain = c.id AND place >= since AND place < until ${order} LIMIT $5) v
      WHERE true`,
}

const CHAIN =
  'c.id, c.patient, c.domain, c.audience, c.latest_version, c.head_hash, c.erased_leaves, c.turn, c.freed, c.withdrawn'

/** A version with its chain, and the one before it. */
export type RevisionRow = readonly [...ChainRow, ...VersionRow, ...(VersionRow | readonly null[])]

/** A chain and one of its versions, or nulls. */
export type FoundRow = readonly [...ChainRow, ...(VersionRow | readonly null[])]

/** Cells of a chain, and of a version. */
export const [CHAIN_CELLS, VERSION_CELLS] = [10, 6]

/** The chains of rows in their order, each with its versions, the newest first. */
export function foundChains(rows: readonly FoundRow[]): readonly FoundChain[] {
  const found: { readonly chain: ChainRow; readonly versions: VersionRow[] }[] = []
  for (const row of rows) {
    let last = found.at(-1)
    if (last?.chain[0] !== row[0])
      found.push((last = { chain: row.slice(0, CHAIN_CELLS) as unknown as ChainRow, versions: [] }))
    if (row[CHAIN_CELLS] !== null)
      last.versions.push(row.slice(CHAIN_CELLS) as unknown as VersionRow)
  }
  for (const { versions } of found) versions.sort((left, right) => right[2] - left[2])
  return found
}

const TURNS = 'SELECT patient, domain, count(*) FROM chains WHERE freed > 0'

/** Chains that exist for readers: neither erased nor freed. */
const IS_READ = 'erased_leaves IS NULL AND freed = 0'
/** Of them, those that lists and completion show (C40). */
const IS_LISTED = `${IS_READ} AND withdrawn = 0`

/** The columns of a version's row. */
const versionCells = (row: string, { leafHash }: Dialect): string =>
  `${row}.at, ${row}.chain, ${row}.version, ${row}.written_at, ${leafHash(row)}, ${row}.body`

/** The statements over one audience's versions. */
function versionSql(dialect: Dialect, audience: Audience) {
  const { bySlot, isAmong } = dialect
  const leafHash = dialect.leafHash('v')
  const table = VERSION_TABLES[audience]
  const version = versionCells('v', dialect)
  const newest = `(SELECT max(version) FROM ${table} WHERE chain = c.id)`
  const chainOfSlot = `chains c ${bySlot}`
  const isTopic = 'c.audience = $1 AND c.patient = $2 AND c.domain = $3'
  // $4 is the number of a freed chain, 0 for the topic's own.
  const isSlot = `${isTopic} AND c.freed = $4`
  const versions = `SELECT ${version} FROM ${table} v WHERE`
  const found = (from: string, which: string) =>
    `SELECT ${CHAIN}, ${version} FROM ${from} LEFT JOIN ${table} v ON v.chain = c.id AND v.version ${which} WHERE`
  const firstSince = `(SELECT min(version) FROM ${table} WHERE chain = c.id AND written_at >= $4)`
  // $1 is the audience, $2 the chain behind which to go on, $3 how many, and the last one the patient.
  const listed = (patient: string) => ({
    heads: `${found('chains c', `= ${newest}`)} c.audience = $1 AND c.id > $2 AND ${IS_LISTED}
      ${patient === '' ? '' : `AND c.patient = $4`} ORDER BY c.id LIMIT $3`,
    changed: `SELECT * FROM (
        SELECT ${CHAIN}, ${firstSince} AS first_since FROM chains c
        WHERE c.audience = $1 AND c.id > $2 AND ${IS_READ} ${patient === '' ? '' : 'AND c.patient = $5'}
      ) changed WHERE first_since IS NOT NULL ORDER BY id LIMIT $3`,
  })
  return {
    /** A chain and its three newest versions: the newest one, what it corrects, and what that is linked to. */
    newest: `${found(chainOfSlot, `>= ${newest} - 2`)} ${isSlot}`,
    /** A chain, and a version with the two before it. */
    version: `${found(chainOfSlot, 'BETWEEN CAST($5 AS bigint) - 2 AND $5')} ${isSlot}`,
    /** Chains by names, whatever their audience, and the newest version of those of this one. */
    tails: `${found('chains c', `= ${newest}`)} c.freed = 0 AND ${isAmong({ 'c.patient': 'text', 'c.domain': 'text' })}`,
    /** Each with its chain's turn. */
    chainVersions: `SELECT ${version}, (SELECT turn FROM chains WHERE id = v.chain) FROM ${table} v WHERE v.chain = (SELECT c.id FROM ${chainOfSlot} WHERE ${isTopic} AND ${IS_READ})
      AND v.version > $4 ORDER BY v.version LIMIT $5`,
    all: listed(''),
    ofPatient: listed('c.patient'),
    /** Versions by their leaves, each with its chain and the version before it, or nulls. */
    revisions: `SELECT ${CHAIN}, ${version}, ${versionCells('b', dialect)} FROM ${table} v JOIN chains c ON c.id = v.chain
      LEFT JOIN ${table} b ON b.chain = v.chain AND b.version = v.version - 1 WHERE ${isAmong({ 'v.at': 'bigint' })}`,
    /** By their numbers; the last one has the patient, if one is named. */
    numbered: `SELECT ${CHAIN} FROM chains c WHERE c.audience = $1 AND c.id >= $2 AND c.id < $3 ORDER BY c.id`,
    named: `SELECT ${CHAIN} FROM chains c WHERE c.audience = $1 AND c.id > $2 ORDER BY c.id LIMIT $3`,
    namedOfPatient: `SELECT ${CHAIN} FROM chains c WHERE c.audience = $1 AND c.id > $2 AND c.patient = $4 ORDER BY c.id LIMIT $3`,
    lastChain: `SELECT coalesce(max(id), 0) FROM chains WHERE audience = $1`,
    /** Chain by chain, behind a version, before a chain. */
    ofChains: `${versions} (v.chain, v.version) > ($1, $2) AND v.chain < $3 ORDER BY v.chain, v.version LIMIT $4`,
    byLeaf: `SELECT ${CHAIN}, ${version} FROM ${table} v JOIN chains c ON c.id = v.chain WHERE v.at = $1`,
    leaves: `${versions} v.at >= $1 AND v.at < $2 ORDER BY v.at`,
    // The plus keeps SQLite from reading the whole chain for each part of its journal.
    leavesOfChain: `${versions} v.at >= $1 AND v.at < $2 AND +v.chain = $3 ORDER BY v.at`,
    leafBytes: `SELECT coalesce(sum(octet_length(body)), 0) FROM ${table} WHERE at >= $1 AND at < $2`,
    leafHashes: `SELECT ${leafHash} FROM ${table} v WHERE at >= $1 AND at < $2 ORDER BY at`,
    versions: `${versions} v.chain = $1 AND v.version > $2 AND v.version <= $3 ORDER BY v.version LIMIT $4`,
    leafAt: `SELECT v.place, ${leafHash} FROM ${table} v WHERE v.at = $1`,
    hashesOfChain: `SELECT ${leafHash} FROM ${table} v WHERE chain = $1 ORDER BY version`,
    forgetRequests: `DELETE FROM requests WHERE audience = $1
      AND leaf_index IN (SELECT at FROM ${table} WHERE chain = $2)`,
    behind: behindSql(dialect, audience),
  }
}

/** The statements over one audience's versions in the order of all commits. */
function behindSql({ ofEachBehind, ofTopicsBehind }: Dialect, audience: Audience) {
  const table = VERSION_TABLES[audience]
  const placed = `SELECT v.place, v.at, c.patient, c.domain, v.version, v.changes_list FROM`
  const inOrder = 'ORDER BY v.place LIMIT $4'
  const newest = 'ORDER BY v.place DESC LIMIT $4'
  const where = `c.id = v.chain AND v.place >= $1 AND v.place < $2 AND v.written_at >= $3 AND ${IS_READ}`
  const ofPatient = `${placed} chains c CROSS JOIN ${ofEachBehind(table)} v
    WHERE ${where} AND c.audience = '${audience}' AND c.patient = $5`
  const listChanges = (order: string) => ({
    all: `${placed} ${table} v CROSS JOIN chains c WHERE ${where} AND v.changes_list = 1 ${order}`,
    ofPatient: `${placed} chains c CROSS JOIN ${table} v
      WHERE ${where} AND v.changes_list = 1 AND c.audience = '${audience}' AND c.patient = $5 ${order}`,
  })
  const ofTopics = (order: string) =>
    `${placed} ${ofTopicsBehind(table, order)} AND c.audience = '${audience}' AND ${IS_READ}`
  return {
    /** From place $1 to before place $2, not written before the time $3, at most $4; of the patient $5, of its topic $6. */
    written: {
      all: `${placed} ${table} v CROSS JOIN chains c WHERE ${where} ${inOrder}`,
      ofPatient: `${ofPatient} ${inOrder}`,
      ofTopic: `${ofPatient} AND c.domain = $6 ${inOrder}`,
    },
    /** The same of versions by which lists changed, and the newest of these. */
    listChanges: listChanges(inOrder),
    newestListChanges: listChanges(newest),
    /** By rows: of a patient and a topic from a place to before another one, the first ones, or the newest; behind it, how many. */
    ofTopics: ofTopics('ORDER BY place'),
    newestOfTopics: ofTopics('ORDER BY place DESC'),
  }
}

/** The least name from a text on, then the least after each: one index step per returned name. */
function namesSql(name: 'patient' | 'domain', where: string): string {
  const least = `SELECT min(${name}) FROM chains WHERE ${IS_LISTED} AND audience = $1${where} AND ${name}`
  const begins = 'substr(name, 1, length($2)) = $2'
  return `WITH RECURSIVE step (name) AS (
      ${least} >= $2 UNION ALL SELECT (${least} > step.name) FROM step WHERE ${begins}
    ) SELECT name FROM step WHERE ${begins} LIMIT $3`
}

/** Within an audience, and of a patient of it. */
const listNames = (name: 'patient' | 'domain') => ({
  all: namesSql(name, ''),
  ofPatient: namesSql(name, ' AND patient = $4'),
})

/** The first and the newest body of a chain that is not erased, whatever its audience, and which of its topic's it is. */
export const ENDS_OF_CHAIN = AUDIENCES.map((audience) => {
  const table = VERSION_TABLES[audience]
  return `SELECT v.body AS body, c.audience AS audience, c.freed AS freed FROM chains c JOIN ${table} v ON v.chain = c.id
    AND v.version IN (1, (SELECT max(version) FROM ${table} WHERE chain = c.id))
    WHERE c.patient = $1 AND c.domain = $2 AND c.turn = $3 AND c.erased_leaves IS NULL`
}).join(' UNION ALL ')

function recordSql(dialect: Dialect) {
  const { isAmong: isAmongFor, unnestRows } = dialect
  return {
    imports: dialect.imports,
    of: { user: versionSql(dialect, 'user'), assistant: versionSql(dialect, 'assistant') },
    names: { patient: listNames('patient'), domain: listNames('domain') },
    /** Known requests, the leaves they made, and how many sessions heard of each. */
    requests: `SELECT mac_hash, audience, leaf_index, subscribers FROM requests WHERE ${isAmongFor({ mac_hash: 'text' })}`,
    erased: `SELECT chain FROM erasures WHERE ${isAmongFor({ chain: 'text' })}`,
    /** Chains that are new, or have new versions. */
    keepChains: `INSERT INTO chains (id, patient, domain, audience, turn, latest_version, head_hash, withdrawn)
      ${unnestRows('bigint', 'text', 'text', 'text', 'bigint', 'bigint', 'text', 'bigint')}
      ON CONFLICT (id) DO UPDATE SET latest_version = excluded.latest_version, head_hash = excluded.head_hash, withdrawn = excluded.withdrawn`,
    keepRequests: `INSERT INTO requests (mac_hash, expires_at_ms, audience, leaf_index, subscribers)
      ${unnestRows('text', 'bigint', 'text', 'bigint', 'bigint')}`,
    chainByTurn: `SELECT ${CHAIN} FROM chains c WHERE c.patient = $1 AND c.domain = $2 AND c.turn = $3`,
    /** The topic's own chain, or a freed one by its number, in an audience. */
    chainByNumber: `SELECT ${CHAIN} FROM chains c
      WHERE c.patient = $1 AND c.domain = $2 AND c.audience = $3 AND c.freed = $4`,
    /** Numbers go by audience: one that stands in public tells nothing of internal chains (C30). */
    lastNumber: `SELECT coalesce(max(freed), 0) FROM chains WHERE patient = $1 AND domain = $2 AND audience = $3`,
    /** How many chains of a topic were freed, in both audiences. */
    freedOf: `${TURNS} AND ${isAmongFor({ patient: 'text', domain: 'text' })} GROUP BY patient, domain`,
    turns: `${TURNS} GROUP BY patient, domain`,
    /** Freed chains of topics that have no chain now. */
    lastFreed: `SELECT ${CHAIN} FROM chains c WHERE c.freed > 0 AND NOT EXISTS
      (SELECT 1 FROM chains own WHERE own.patient = c.patient AND own.domain = c.domain AND own.freed = 0)`,
    /** Under the lock of the heads: streams tell of it before the next version. */
    noteFree: `INSERT INTO frees (chain, number, user_size, assistant_size, at, actor, reason)
      SELECT CAST($1 AS bigint), (SELECT count(*) FROM frees), ${AUDIENCES.map((audience) => `(SELECT coalesce(max(at) + 1, 0) FROM ${VERSION_TABLES[audience]})`).join(', ')}, $2, $3, $4`,
    /** Topics freed at places from $1 to $2, in their order. */
    freesBehind: `SELECT f.user_size, f.assistant_size, c.patient, c.domain, c.audience, c.erased_leaves FROM frees f JOIN chains c ON c.id = f.chain
      WHERE f.user_size + f.assistant_size >= $1 AND f.user_size + f.assistant_size <= $2 ORDER BY f.number`,
    // A cross join keeps SQLite from beginning with all chains.
    countFrees: `SELECT count(*) FROM frees f CROSS JOIN chains c WHERE c.id = f.chain AND c.audience = $1`,
    chains: `SELECT ${CHAIN} FROM chains c WHERE ${isAmongFor({ 'c.id': 'bigint' })}`,
    list: dialect.list,
  }
}

/** Where records are read: statements, and the function that runs them. */
export type RecordSource = {
  readonly ask: Rows
  readonly sql: ReturnType<typeof recordSql>
}

const SQLITE_SQL = recordSql(SQLITE)
const POSTGRES_SQL = recordSql(POSTGRES)

export const sqliteSource = (rows: Rows): RecordSource => ({ ask: rows, sql: SQLITE_SQL })

const readCell = (cell: unknown): unknown => (Buffer.isBuffer(cell) ? bodyOfBytes(cell) : cell)

/** Bodies are the only bytes. */
export const postgresSource = (rows: Rows): RecordSource => ({
  ask: async <Row extends readonly unknown[]>(text: string, values?: readonly unknown[]) =>
    (await rows(text, values)).map((row) => row.map(readCell) as unknown as Row),
  sql: POSTGRES_SQL,
})
