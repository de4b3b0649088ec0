// The SQL of the record store, prepared once for a connection. Rows come as arrays, which node:sqlite builds twice as fast
// as objects; each statement's row type says what stands where.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Audience } from '../wire/records.ts'
import { VERSION_TABLES } from './sqlite-record-database.ts'

/** A query whose rows have the shape `Row`. */
export type Query<Row> = {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): readonly Row[]
}

/** [id, audience, latest_version, head_hash] */
export type ChainRow = readonly [number, Audience, number, string]
/** [leaf_index, chain, version, written_at, leaf_hash, body] */
export type VersionRow = readonly [number, number, number, string, string, unknown]
/** [id, patient, domain, audience, latest_version, head_hash] */
export type WholeChainRow = readonly [number, string, string, Audience, number, string]

export function prepareQuery<Row>(database: DatabaseSync, sql: string): Query<Row> {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return {
    get: (...values) => statement.get(...values) as unknown as Row | undefined,
    all: (...values) => statement.all(...values) as unknown as readonly Row[],
  }
}

const VERSION_COLUMNS = 'leaf_index, chain, version, written_at, leaf_hash, body'

/** Queries of one audience's versions. */
type VersionQueries = {
  readonly byVersion: Query<VersionRow>
  readonly newest: Query<VersionRow>
  readonly byLeaf: Query<VersionRow>
  /** Leaves from (inclusive) to (exclusive), in order. */
  readonly leafRange: Query<VersionRow>
  /** [bytes] of the bodies in a range of leaves. */
  readonly leafRangeBytes: Query<readonly [number | null]>
  /** [leaf_hash] of a range of leaves, in order. */
  readonly leafHashes: Query<readonly [string]>
  /** Versions of a chain above one, in order, so many. */
  readonly chainAfter: Query<VersionRow>
  /** Versions of a chain written at or after a time, in order of time, so many. */
  readonly since: Query<VersionRow>
  readonly insert: StatementSync
}

function prepareVersionQueries(database: DatabaseSync, audience: Audience): VersionQueries {
  const table = VERSION_TABLES[audience]
  const query = <Row>(where: string, columns = VERSION_COLUMNS): Query<Row> =>
    prepareQuery<Row>(database, `SELECT ${columns} FROM ${table} WHERE ${where}`)
  return {
    byVersion: query('chain = ? AND version = ?'),
    newest: query('chain = ? ORDER BY version DESC LIMIT 1'),
    byLeaf: query('leaf_index = ?'),
    leafRange: query('leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index'),
    leafRangeBytes: query('leaf_index >= ? AND leaf_index < ?', 'sum(octet_length(body))'),
    leafHashes: query('leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index', 'leaf_hash'),
    chainAfter: query('chain = ? AND version > ? ORDER BY version LIMIT ?'),
    since: query('chain = ? AND written_at >= ? ORDER BY written_at, version LIMIT ?'),
    insert: database.prepare(`INSERT INTO ${table} (${VERSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`),
  }
}

export type RecordStatements = {
  readonly versions: Readonly<Record<Audience, VersionQueries>>
  readonly chainByName: Query<ChainRow>
  readonly chainById: Query<WholeChainRow>
  /** Chains of an audience above an id, in order, so many. */
  readonly chainsAfter: Query<WholeChainRow>
  /** Chains of a patient, in order. */
  readonly chainsOfPatient: Query<WholeChainRow>
}

/** Prepares everything that reading needs. */
export function prepareStatements(database: DatabaseSync): RecordStatements {
  const whole = 'id, patient, domain, audience, latest_version, head_hash'
  return {
    versions: {
      user: prepareVersionQueries(database, 'user'),
      assistant: prepareVersionQueries(database, 'assistant'),
    },
    chainByName: prepareQuery(
      database,
      'SELECT id, audience, latest_version, head_hash FROM chains WHERE patient = ? AND domain = ?',
    ),
    chainById: prepareQuery(database, `SELECT ${whole} FROM chains WHERE id = ?`),
    chainsAfter: prepareQuery(
      database,
      `SELECT ${whole} FROM chains WHERE audience = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
    chainsOfPatient: prepareQuery(
      database,
      `SELECT ${whole} FROM chains WHERE patient = ? ORDER BY id`,
    ),
  }
}
