// The file that holds the records: its schema, its journals, and what its failures become. A version is one row of its
// audience's table, and that table in order of `leaf_index` is the journal: audiences are separate down to the pages. A
// row's body is the journal entry; nothing else stores the record's content.
import {
  besideDatabase,
  guardsOf,
  type SqliteJournalTable,
  type SqliteStoreKind,
} from '@tallystick/journal-store'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'

/** Where the keys of chains are, unless CHAIN_KEYS_PATH says otherwise; in memory too. */
export const chainKeysPath = (databasePath: string): string =>
  besideDatabase(databasePath, '.chain-keys') ?? databasePath

/** The table of an audience's versions. */
export const VERSION_TABLES: Readonly<Record<Audience, string>> = {
  user: 'user_versions',
  assistant: 'assistant_versions',
}

/** Sessions, frames and audit rows of a store: in a second file, or in memory too. */
export const sessionsPath = (databasePath: string): string =>
  besideDatabase(databasePath, '.sessions') ?? databasePath

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

/** How many versions of both audiences are before one, and where a chain, or new chains, go on behind a place. */
const placeOfVersions = (table: string): string => `
ALTER TABLE ${table} ADD COLUMN place INTEGER NOT NULL DEFAULT -1;
CREATE INDEX ${table}_of_chain_by_place ON ${table} (chain, place);
CREATE INDEX ${table}_first_by_place ON ${table} (place) WHERE version = 1;`

/** Each string takes the schema one version further; `user_version` counts those that were applied. */
const MIGRATIONS: readonly string[] = [
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
  key_id TEXT PRIMARY KEY, -- of the place that has the keys of chains
  proof BLOB NOT NULL -- a known text sealed under it: tells a wrong key at once
) STRICT;`,
  // A read that a person waits for uses an index, and never passes chains of the other audience.
  `
CREATE INDEX chains_by_slot ON chains (audience, patient, domain);
CREATE INDEX chains_by_patient ON chains (audience, patient, id);
CREATE INDEX chains_by_domain ON chains (audience, domain);
CREATE INDEX user_versions_by_time ON user_versions (chain, written_at, version);
CREATE INDEX assistant_versions_by_time ON assistant_versions (chain, written_at, version);`,
  `
-- RFC 9162 root over the leaf hashes of a chain whose key was destroyed (C31), hex.
ALTER TABLE chains ADD COLUMN erased_leaves TEXT;
CREATE TABLE erasures (
  chain TEXT PRIMARY KEY, -- patient|domain, also where a backup does not hold that chain
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;`,
  // A version's place in the order of all commits. Versions from before it was kept have the other audience's behind them.
  `
${placeOfVersions(VERSION_TABLES.user)}
${placeOfVersions(VERSION_TABLES.assistant)}
UPDATE user_versions SET place = leaf_index;
UPDATE assistant_versions SET place = leaf_index + (SELECT count(*) FROM user_versions);
CREATE UNIQUE INDEX user_versions_by_place ON user_versions (place);
CREATE UNIQUE INDEX assistant_versions_by_place ON assistant_versions (place);`,
  // A freed chain keeps its versions, its leaves and its key; a topic's own chain is the one with 0 (C47).
  `
ALTER TABLE chains ADD COLUMN turn INTEGER NOT NULL DEFAULT 0; -- chains of its topic that had been freed when it began
ALTER TABLE chains ADD COLUMN freed INTEGER NOT NULL DEFAULT 0; -- its number among those of its audience, from 1
DROP INDEX chains_by_name;
CREATE UNIQUE INDEX chains_by_name ON chains (patient, domain) WHERE freed = 0;
CREATE UNIQUE INDEX chains_by_turn ON chains (patient, domain, turn);
CREATE UNIQUE INDEX chains_freed ON chains (patient, domain, audience, freed) WHERE freed > 0;
CREATE TABLE frees (
  chain INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;`,
]

const journalOf = (audience: Audience): SqliteJournalTable => ({
  noun: `the ${audience} journal`,
  originEnding: `/${audience}`,
  fileEnding: `.${audience}-checkpoint`,
  table: VERSION_TABLES[audience],
  index: 'leaf_index',
  hash: 'leaf_hash',
  hashForm: 'hex',
  columns: ['chain', 'version', 'written_at', 'body', 'place'],
  head: 'counted',
})

/** The store of one process: WAL, synchronous FULL (C14, C16, C17). */
export const RECORDS = {
  applicationId: 0x54616c79, // Taly
  migrations: MIGRATIONS,
  // An operator's verb writes in transactions of a few milliseconds while the service runs.
  busyTimeoutMs: 2_000,
  isCheckedAtOpening: true,
  Unavailable: RecordStoreUnavailable,
  journals: { user: journalOf('user'), assistant: journalOf('assistant') },
  // More would block the event loop for over 20 ms.
  writesPerCommitMax: 512,
  seal: {
    proofText: 'tallystick care seal key',
    ringName: 'SEAL_KEYS',
    keysPlace: 'the place of chain keys (CHAIN_KEYS_URL or CHAIN_KEYS_PATH)',
  },
  acceptCommand: 'care accept-backup',
} as const satisfies SqliteStoreKind<Audience>

export const { guarded, guardedNow } = guardsOf(RecordStoreUnavailable)
