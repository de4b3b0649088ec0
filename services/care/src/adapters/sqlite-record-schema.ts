// How records lie in SQLite. A version is one row of its audience's table, and that table in order of `leaf_index` is the
// journal: the partition between audiences reaches down to the pages. A row's body is the journal entry and nothing else
// says what the record is, so that one text is hashed for the leaf and, cut, for the version.
import { DatabaseSync } from 'node:sqlite'
import type { Audience } from '../wire/records.ts'

/** The table of an audience's versions. */
export const VERSION_TABLES: Readonly<Record<Audience, string>> = {
  user: 'user_versions',
  assistant: 'assistant_versions',
}

/** "Taly" in ASCII, so that another program's database is not taken for a store. */
export const APPLICATION_ID = 0x54616c79

const versionTable = (table: string): string => `
CREATE TABLE ${table} (
  leaf_index INTEGER PRIMARY KEY, -- in the journal, from 0
  chain INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at TEXT NOT NULL, -- as in the entry, for queries by time
  leaf_hash TEXT NOT NULL, -- RFC 9162, hex
  body ANY NOT NULL -- the journal entry: text in the clear, blob sealed
) STRICT;
CREATE UNIQUE INDEX ${table}_by_chain ON ${table} (chain, version);`

/** Each string takes the schema one version further; `user_version` counts those that were applied. */
export const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE chains (
  id INTEGER PRIMARY KEY,
  patient TEXT NOT NULL,
  domain TEXT NOT NULL,
  audience TEXT NOT NULL CHECK (audience IN ('user', 'assistant')),
  latest_version INTEGER NOT NULL CHECK (latest_version BETWEEN 1 AND 1000000000000),
  head_hash TEXT NOT NULL -- hash of the newest version, hex
) STRICT;
CREATE UNIQUE INDEX chains_by_name ON chains (patient, domain);
CREATE INDEX chains_by_audience ON chains (audience, id);
${versionTable(VERSION_TABLES.user)}
${versionTable(VERSION_TABLES.assistant)}
CREATE TABLE requests (
  mac_hash TEXT NOT NULL, -- SHA-256 of the signed write's MAC, hex
  expires_at_ms INTEGER NOT NULL,
  audience TEXT NOT NULL,
  leaf_index INTEGER NOT NULL,
  subscribers INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX requests_by_mac ON requests (mac_hash);
-- Holds every column, so that the integrity check at opening compares each with its copy.
CREATE INDEX requests_whole ON requests (expires_at_ms, mac_hash, audience, leaf_index, subscribers);
CREATE TABLE seal_keys (
  key_id TEXT PRIMARY KEY, -- every key that some body may be sealed under
  proof BLOB NOT NULL -- a known text sealed under it: tells a wrong key at once
) STRICT;`,
]

/** Everything that `sqlite_schema` says, in one text: a damaged definition differs from a fresh one. */
export function schemaText(database: DatabaseSync): string {
  const rows = database
    .prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name')
    .all()
  return JSON.stringify(rows)
}

/** What `schemaText` says of a store that was just made. */
export function freshSchemaText(): string {
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of MIGRATIONS) database.exec(migration)
    return schemaText(database)
  } finally {
    database.close()
  }
}
