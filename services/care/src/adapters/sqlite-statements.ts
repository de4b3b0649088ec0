// The SQL of the record store, prepared once for a connection. Rows come as arrays, which node:sqlite builds twice as fast
// as objects; each statement's row type says what stands where.
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery, type SqliteQuery } from '@tallystick/journal-store'
import type { Audience } from '../wire/records.ts'
import { VERSION_TABLES } from './sqlite-record-database.ts'

/** [id, audience, latest_version, head_hash] */
export type ChainRow = readonly [number, Audience, number, string]
/** [leaf_index, chain, version, written_at, leaf_hash, body] */
export type VersionRow = readonly [number, number, number, string, string, unknown]
/** [id, patient, domain, audience, latest_version, head_hash] */
export type WholeChainRow = readonly [number, string, string, Audience, number, string]

const VERSION_COLUMNS = 'leaf_index, chain, version, written_at, leaf_hash, body'

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
    chainAfter: query('chain = ? AND version > ? ORDER BY version LIMIT ?'),
    since: query('chain = ? AND written_at >= ? ORDER BY written_at, version LIMIT ?'),
  }
}

export type RecordStatements = ReturnType<typeof prepareStatements>

/** Prepares everything that reading needs. */
export function prepareStatements(database: DatabaseSync) {
  const whole = (where: string) =>
    prepareQuery<WholeChainRow>(
      database,
      `SELECT id, patient, domain, audience, latest_version, head_hash FROM chains WHERE ${where}`,
    )
  return {
    versions: {
      user: prepareVersionQueries(database, 'user'),
      assistant: prepareVersionQueries(database, 'assistant'),
    },
    chainByName: prepareQuery<ChainRow>(
      database,
      'SELECT id, audience, latest_version, head_hash FROM chains WHERE patient = ? AND domain = ?',
    ),
    chainById: whole('id = ?'),
    chainsAfter: whole('audience = ? AND id > ? ORDER BY id LIMIT ?'),
    chainsOfPatient: whole('patient = ? ORDER BY id'),
  }
}
