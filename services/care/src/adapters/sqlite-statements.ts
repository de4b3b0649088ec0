// The SQL of the record store, prepared once for a connection. Rows come as arrays, which node:sqlite builds twice as fast
// as objects; each statement's row type says what stands where.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { prepareQuery, type SqliteQuery } from '@tallystick/journal-store'
import type { Audience } from '../wire/records.ts'
import type { RecordRows } from './record-rows.ts'
import { VERSION_TABLES } from './sqlite-record-database.ts'
import type { ChainRow, VersionRow, WholeChainRow } from './stored-record.ts'

const VERSION_COLUMNS = 'leaf_index, chain, version, written_at, leaf_hash, body'
const CHAIN_COLUMNS = 'id, patient, domain, audience, latest_version, head_hash, erased_leaves'

/** A chain as lists show it, with its newest stored version or nulls. */
type ListedRow = readonly [...WholeChainRow, ...(VersionRow | readonly null[])]

/** Queries of one audience's versions. */
function prepareVersionQueries(database: DatabaseSync, audience: Audience) {
  const table = VERSION_TABLES[audience]
  const query = <Row = VersionRow>(where: string, columns = VERSION_COLUMNS): SqliteQuery<Row> =>
    prepareQuery<Row>(database, `SELECT ${columns} FROM ${table} WHERE ${where}`)
  return {
    byVersion: query('chain = ? AND version = ?'),
    newest: query('chain = ? ORDER BY version DESC LIMIT 1'),
    byLeaf: query('leaf_index = ?'),
    leafRange: query('leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index'),
    leafRangeBytes: query<readonly [number | null]>(
      'leaf_index >= ? AND leaf_index < ?',
      'sum(octet_length(body))',
    ),
    leafHashes: query<readonly [string]>(
      'leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index',
      'leaf_hash',
    ),
    chainAfter: query('chain = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?'),
    firstSince: query<readonly [number | null]>('chain = ? AND written_at >= ?', 'min(version)'),
    written: prepareWritten(database, `${table} v CROSS JOIN chains c ON c.id = v.chain WHERE`),
    writtenOfPatient: prepareWritten(
      database,
      `chains c CROSS JOIN ${table} v ON v.chain = c.id
       WHERE c.audience = '${audience}' AND c.patient = ? AND`,
    ),
    listedAfter: prepareListed(database, table, 'c.audience = ?'),
    listedOfPatient: prepareListed(database, table, 'c.audience = ? AND c.patient = ?'),
  }
}

/** Versions behind a leaf: leaf index, patient, domain, version, leaf hash. The join's order is as written. */
const prepareWritten = (database: DatabaseSync, from: string) =>
  prepareQuery<readonly [number, string, string, number, string]>(
    database,
    `SELECT v.leaf_index, c.patient, c.domain, v.version, v.leaf_hash FROM ${from}
     v.leaf_index > ? AND c.erased_leaves IS NULL ORDER BY v.leaf_index LIMIT ?`,
  )

/** Chains after one and their newest versions, without those that were erased: one statement for a whole page. */
function prepareListed(database: DatabaseSync, versions: string, where: string) {
  const columns = [
    ...CHAIN_COLUMNS.split(', ').map((column) => `c.${column}`),
    ...VERSION_COLUMNS.split(', ').map((column) => `v.${column}`),
  ]
  const query = prepareQuery<ListedRow>(
    database,
    `SELECT ${columns.join(', ')} FROM chains c LEFT JOIN ${versions} v
     ON v.chain = c.id AND v.version = (SELECT max(version) FROM ${versions} WHERE chain = c.id)
     WHERE ${where} AND c.id > ? AND c.erased_leaves IS NULL ORDER BY c.id LIMIT ?`,
  )
  return (...values: readonly SQLInputValue[]) =>
    query.all(...values).map((row) => ({
      chain: row.slice(0, 7) as unknown as WholeChainRow,
      newest: row[7] === null ? undefined : (row.slice(7) as unknown as VersionRow),
    }))
}

export type RecordStatements = ReturnType<typeof prepareStatements>

/** Prepares everything that reading needs. */
export function prepareStatements(database: DatabaseSync) {
  const whole = (where: string) =>
    prepareQuery<WholeChainRow>(database, `SELECT ${CHAIN_COLUMNS} FROM chains WHERE ${where}`)
  // The least name from one on, and the least after one: each is a step in an index, however many chains share a name.
  const names = (where: string, name: string) => {
    const least = (from: '>=' | '>') =>
      prepareQuery<readonly [string | null]>(
        database,
        `SELECT min(${name}) FROM chains WHERE ${where} AND ${name} ${from} ? AND erased_leaves IS NULL`,
      )
    return { from: least('>='), after: least('>') }
  }
  return {
    versions: {
      user: prepareVersionQueries(database, 'user'),
      assistant: prepareVersionQueries(database, 'assistant'),
    },
    /** Whatever its audience: for a write, which a chain of the other audience refuses. */
    chainByName: prepareQuery<ChainRow>(
      database,
      'SELECT id, audience, latest_version, head_hash, erased_leaves FROM chains WHERE patient = ? AND domain = ?',
    ),
    /** Finds no trace of a chain of the other audience, and takes no longer over it than over none (C30). */
    chainBySlot: prepareQuery<ChainRow>(
      database,
      'SELECT id, audience, latest_version, head_hash, erased_leaves FROM chains INDEXED BY chains_by_slot WHERE audience = ? AND patient = ? AND domain = ?',
    ),
    chainById: whole('id = ?'),
    chainsAfter: whole('audience = ? AND id > ? ORDER BY id LIMIT ?'),
    /** As lists show them: without those that were erased. */
    listedAfter: whole('audience = ? AND id > ? AND erased_leaves IS NULL ORDER BY id LIMIT ?'),
    chainsOfPatient: whole(
      'audience = ? AND patient = ? AND id > ? AND erased_leaves IS NULL ORDER BY id LIMIT ?',
    ),
    names: {
      patient: names('audience = ?', 'patient'),
      domain: names('audience = ?', 'domain'),
      domainOfPatient: names('audience = ? AND patient = ?', 'domain'),
    },
    hasPatient: prepareQuery<readonly [number]>(
      database,
      'SELECT 1 FROM chains WHERE audience = ? AND patient = ? AND erased_leaves IS NULL LIMIT 1',
    ),
    erased: prepareQuery<readonly [string]>(database, 'SELECT chain FROM erasures'),
    erasureOf: prepareQuery<readonly [string]>(
      database,
      'SELECT chain FROM erasures WHERE chain = ?',
    ),
  }
}

/** What each key has, for those that have something. */
function foundOf<Key, Row>(
  keys: readonly Key[],
  find: (key: Key) => Row | undefined,
): ReadonlyMap<Key, Row> {
  const found = new Map<Key, Row>()
  for (const key of keys) {
    const row = find(key)
    if (row !== undefined) found.set(key, row)
  }
  return found
}

/** What verification and export read. */
export function sqliteRows(statements: RecordStatements): RecordRows {
  const { chainById, chainBySlot, chainsAfter, versions } = statements
  return {
    leaves: ({ audience, from, to }) => versions[audience].leafRange.all(from, to),
    leafBytes: ({ audience, from, to }) =>
      versions[audience].leafRangeBytes.get(from, to)?.[0] ?? 0,
    leafHashes: ({ audience, from, to }) =>
      versions[audience].leafHashes.all(from, to).map(([leafHash]) => leafHash),
    versions: ({ audience, chain, after, upTo, limit }) =>
      versions[audience].chainAfter.all(chain, after, upTo, limit),
    newest: (audience, chains) => foundOf(chains, (id) => versions[audience].newest.get(id)),
    chains: (ids) => foundOf(ids, (id) => chainById.get(id)),
    chainOf: ({ audience, domain, patient }) => chainBySlot.get(audience, patient, domain),
    chainsAfter: (audience, { after, limit }) => chainsAfter.all(audience, after, limit),
  }
}
