// The file that holds the records: its schema, its journals, and what its failures become. A version is one row of its
// audience's table, and that table in order of `at` is the journal: audiences are separate down to the pages. A
// row's body is the journal entry; nothing else stores the record's content.
import { besideDatabase, guardsOf, type SqliteKind } from '@tallystick/journal-store'
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
  at INTEGER PRIMARY KEY, -- in the journal, from 0
  leaf_hash BLOB NOT NULL CHECK (length(leaf_hash) = 32), -- RFC 9162
  chain INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at TEXT NOT NULL, -- as in the entry, for queries by time
  body ANY NOT NULL, -- the journal entry: text in the clear, blob sealed
  place INTEGER NOT NULL UNIQUE -- how many versions of both audiences are before it
) STRICT;
CREATE UNIQUE INDEX ${table}_by_chain ON ${table} (chain, version);
CREATE INDEX ${table}_by_time ON ${table} (chain, written_at, version);
CREATE INDEX ${table}_of_chain_by_place ON ${table} (chain, place);
CREATE INDEX ${table}_first_by_place ON ${table} (place) WHERE version = 1;
CREATE TABLE ${table}_nodes ( -- roots of 256 leaves
  place INTEGER PRIMARY KEY,
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;`

/** Each string takes the schema one version further; `user_version` counts those that were applied. */
const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE journals ( -- the head of each journal
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL CHECK (size >= 0),
  peaks BLOB NOT NULL -- compact range: 32 bytes for each one bit of size, the largest subtree first
) STRICT;
INSERT INTO journals VALUES ('assistant', 0, x''), ('user', 0, x'');
CREATE TABLE chains (
  id INTEGER PRIMARY KEY, -- in order of creation: lists page by it
  patient TEXT NOT NULL,
  domain TEXT NOT NULL,
  audience TEXT NOT NULL CHECK (audience IN ('user', 'assistant')),
  latest_version INTEGER NOT NULL CHECK (latest_version BETWEEN 1 AND 1000000000000),
  head_hash TEXT NOT NULL, -- hash of the newest version, hex
  -- RFC 9162 root over the leaf hashes of a chain whose key was destroyed (C31), hex.
  erased_leaves TEXT,
  -- A freed chain keeps its versions, its leaves and its key; a topic's own chain is the one with 0 (C47).
  turn INTEGER NOT NULL DEFAULT 0, -- chains of its topic that had been freed when it began
  freed INTEGER NOT NULL DEFAULT 0 -- its number among those of its audience, from 1
) STRICT;
CREATE UNIQUE INDEX chains_by_name ON chains (patient, domain) WHERE freed = 0;
CREATE UNIQUE INDEX chains_by_turn ON chains (patient, domain, turn);
CREATE UNIQUE INDEX chains_freed ON chains (patient, domain, audience, freed) WHERE freed > 0;
-- A read that a person waits for uses an index, and never passes chains of the other audience.
CREATE INDEX chains_by_audience ON chains (audience, id);
CREATE INDEX chains_by_slot ON chains (audience, patient, domain);
CREATE INDEX chains_by_patient ON chains (audience, patient, id);
CREATE INDEX chains_by_domain ON chains (audience, domain);
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
) STRICT;
CREATE TABLE erasures (
  chain TEXT PRIMARY KEY, -- patient|domain, also where a backup does not hold that chain
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE TABLE frees (
  chain INTEGER PRIMARY KEY,
  number INTEGER NOT NULL, -- of all of them, from 0
  user_size INTEGER NOT NULL, -- of the journals then: where streams tell of it
  assistant_size INTEGER NOT NULL,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;`,
]

const journalOf = (audience: Audience) => ({
  noun: `the ${audience} journal`,
  originEnding: `/${audience}`,
  fileEnding: `.${audience}-checkpoint`,
  table: VERSION_TABLES[audience],
  columns: ['chain', 'version', 'written_at', 'body', 'place'],
})

/** The store of one process: WAL, synchronous FULL (C14, C16, C17). */
export const RECORDS = {
  applicationId: 0x54616c79, // Taly
  isAlone: true,
  // A page of a list reads two hundred pages, all over a large file.
  cacheKib: 16_384,
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
} as const satisfies SqliteKind<Audience>

export const { guarded, guardedNow } = guardsOf(RecordStoreUnavailable)
