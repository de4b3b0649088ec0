/**
 * SQLite's two files, the ledger and the reservations beside it: their schemas, and how they are opened. Every transaction
 * is fsynced (WAL, synchronous = FULL), so an acknowledged write is on disk (G4).
 */
import type { DatabaseSync } from 'node:sqlite'
import {
  besideDatabase,
  guardsOf,
  openSqliteFile,
  type SqliteFileKind,
  type SqliteKind,
} from '@tallystick/journal-store'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

export const FILE_WORDS = `INSERT INTO event_words (rowid, words) SELECT id, 'sport' || replace(replace(sport, '_', ''), '-', '') || words FROM events;`

/** The ledger's store, which several processes may write. */
export const LEDGER = {
  applicationId: 0x54616c47, // TalG
  migrations: [
    `
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY, -- place in the ledger, from 0
  event INTEGER, -- whom it is about; null for commitments
  text TEXT NOT NULL, -- RFC 8785 JSON, the text that is hashed
  hash BLOB NOT NULL -- RFC 9162 leaf hash
) STRICT;
CREATE INDEX entries_by_event ON entries (event, seq) WHERE event IS NOT NULL;
CREATE TABLE tree_nodes ( -- roots of whole subtrees of 256 leaves, for short proofs
  place INTEGER PRIMARY KEY,
  hash BLOB NOT NULL
) STRICT;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  sport TEXT NOT NULL,
  start_at INTEGER NOT NULL,
  words TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_start ON events (start_at);
CREATE TABLE picks (
  receipt TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL UNIQUE,
  event_path TEXT NOT NULL,
  payer TEXT NOT NULL,
  opening TEXT NOT NULL,
  options TEXT NOT NULL,
  seq INTEGER UNIQUE
) STRICT;
CREATE INDEX picks_by_event ON picks (event_path, seq);
CREATE TABLE truth (
  key TEXT PRIMARY KEY,
  cell TEXT NOT NULL
) STRICT;
CREATE TABLE payloads (
  raw_sha256 TEXT PRIMARY KEY,
  feed TEXT NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;`,
    // Words of sport, league and teams by event: without this index every look-up by name reads every event.
    `
CREATE VIRTUAL TABLE event_words USING fts5 (
  words, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
${FILE_WORDS}`,
    'CREATE INDEX events_by_sport ON events (sport, start_at);',
    // Keys of both teams by event, for names in picks.
    `
CREATE TABLE event_teams (
  id INTEGER PRIMARY KEY,
  home TEXT NOT NULL,
  away TEXT NOT NULL,
  start_at INTEGER NOT NULL
) STRICT;
CREATE INDEX event_teams_by_home ON event_teams (home, away, start_at);
CREATE INDEX event_teams_by_away ON event_teams (away, start_at);`,
    // The keys are in the event's row, as on PostgreSQL: every match of an import saves one row and one insertion into a tree.
    `
ALTER TABLE events ADD COLUMN home TEXT; -- null where an earlier version filed no teams
ALTER TABLE events ADD COLUMN away TEXT;
UPDATE events SET (home, away) = (SELECT home, away FROM event_teams WHERE event_teams.id = events.id);
DROP TABLE event_teams;
CREATE INDEX events_by_home ON events (home, away, start_at);
CREATE INDEX events_by_away ON events (away, start_at);`,
    // The columns that PostgreSQL has: the head in a table of its own, and each cell with the size at which it changed last.
    `
ALTER TABLE entries RENAME COLUMN seq TO at;
ALTER TABLE entries RENAME COLUMN hash TO leaf_hash;
ALTER TABLE tree_nodes RENAME TO entries_nodes;
CREATE TABLE journals ( -- the head of the ledger
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL CHECK (size >= 0),
  peaks BLOB NOT NULL -- compact range: 32 bytes for each one bit of size, the largest subtree first
) STRICT;
INSERT INTO journals VALUES ('ledger', 0, x'');
UPDATE journals SET (size, peaks) = (SELECT json_extract(value, '$.size'),
  unhex((SELECT coalesce(group_concat(peak.value, ''), '') FROM json_each(meta.value, '$.peaks') AS peak)))
  FROM meta WHERE meta.name = 'tree';
DELETE FROM meta WHERE name = 'tree';
ALTER TABLE truth RENAME TO truth_before;
CREATE TABLE truth (
  key TEXT PRIMARY KEY,
  cell TEXT, -- null for one that counts nothing any more
  as_of INTEGER NOT NULL -- size of the ledger when it changed last: others read what is newer than their own
) STRICT;
INSERT INTO truth SELECT key, cell, (SELECT size FROM journals) FROM truth_before;
DROP TABLE truth_before;
CREATE INDEX truth_by_change ON truth (as_of);`,
  ],
  // An entry has about a kilobyte: three leave a quarter of a 4 KiB page empty, and an import would move four times as many pages.
  pageBytes: 16_384,
  // An import commits several times a second.
  busyTimeoutMs: 5_000,
  Unavailable: GradingStoreUnavailable,
  journals: {
    ledger: {
      noun: 'the ledger',
      originEnding: '',
      fileEnding: '.checkpoint',
      table: 'entries',
      columns: ['event', 'text'],
    },
  },
  // They block the event loop for some 100 ms at most.
  writesPerCommitMax: 256,
  acceptCommand: 'grading accept-backup',
  isAlone: false,
  // SQLite's default of 2 MB does not hold the indexes of a hundred thousand events.
  cacheKib: 32_768,
} as const satisfies SqliteKind<'ledger'>

export const RESERVATIONS: SqliteFileKind = {
  applicationId: 0x54616c50, // TalP
  migrations: [
    `
CREATE TABLE reservations (
  payment_id TEXT PRIMARY KEY,
  payer TEXT NOT NULL, -- network and account
  fingerprint TEXT NOT NULL,
  idempotency_key TEXT,
  keeps_answer INTEGER NOT NULL CHECK (keeps_answer IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at REAL NOT NULL, -- Unix seconds
  body TEXT NOT NULL, -- payment and subject, JSON; the amount as text
  request TEXT, -- while there is no answer
  answer TEXT,
  answered_by TEXT, -- payment_id of the row whose answer this one was given
  is_delivered INTEGER NOT NULL DEFAULT 0 CHECK (is_delivered IN (0, 1))
) STRICT;
CREATE INDEX reservations_open ON reservations (payment_id) WHERE state <> 'answered';
CREATE INDEX reservations_by_expiry ON reservations (expires_at) WHERE state = 'answered';
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint) WHERE keeps_answer = 1 AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON reservations (payer, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON reservations (answered_by) WHERE answered_by IS NOT NULL;`,
    // As on PostgreSQL: the call that stored a row, and an index that needs no flag compared.
    `
ALTER TABLE reservations ADD COLUMN attempt TEXT NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
DROP INDEX reservations_by_fingerprint;
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint) WHERE keeps_answer AND answered_by IS NULL;`,
  ],
  // Transactions of single rows.
  busyTimeoutMs: 2_000,
  Unavailable: GradingStoreUnavailable,
}

/** Opens the ledger's file, making it where there is none. Throws GradingStoreUnavailable. */
export const openGradingDatabase = (path: string): DatabaseSync => openSqliteFile(path, LEDGER)

/** Opens the reservations beside a ledger, in `<path>.payments`. Throws GradingStoreUnavailable. */
export const openReservationDatabase = (databasePath: string): DatabaseSync =>
  openSqliteFile(besideDatabase(databasePath, '.payments') ?? databasePath, RESERVATIONS)

export const { guardedNow } = guardsOf(GradingStoreUnavailable)
