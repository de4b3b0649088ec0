// Stores of notes, one journal each, for the tests: one of a single process, sealed or in the clear, and one of several.
import type { DatabaseSync } from 'node:sqlite'
import type { SqliteJournalTable } from './sqlite-journal.ts'
import type { SqliteStoreKind } from './sqlite-store-kind.ts'

/** What the stores of notes throw. */
export class NotesUnavailable extends Error {
  override readonly name = 'NotesUnavailable'
}

const JOURNAL = {
  noun: 'the journal of notes',
  originEnding: '/notes',
  fileEnding: '.notes-checkpoint',
  table: 'notes',
  index: 'at',
} as const

const KIND = {
  applicationId: 0x54616c54, // TalT
  busyTimeoutMs: 2_000,
  Unavailable: NotesUnavailable,
  writesPerCommitMax: 256,
  acceptCommand: 'notes accept-backup',
} as const

const counted: SqliteJournalTable = {
  ...JOURNAL,
  hash: 'leaf',
  hashForm: 'hex',
  columns: ['text'],
  head: 'counted',
}

/** For one process; its head is counted from the leaves. */
export const COUNTED_NOTES = {
  ...KIND,
  isCheckedAtOpening: true,
  migrations: [
    `CREATE TABLE notes (at INTEGER PRIMARY KEY, leaf TEXT NOT NULL, text ANY NOT NULL) STRICT;
     CREATE TABLE seal_keys (key_id TEXT PRIMARY KEY, proof BLOB NOT NULL) STRICT;`,
  ],
  journals: { notes: counted },
  seal: { proofText: 'a note', ringName: 'NOTE_KEYS', keysPlace: 'the box of keys' },
} as const satisfies SqliteStoreKind<'notes'>

/** For several processes; its head is stored. */
export const SHARED_NOTES = {
  ...KIND,
  migrations: [
    `CREATE TABLE notes (at INTEGER PRIMARY KEY, leaf BLOB NOT NULL, text TEXT NOT NULL) STRICT;
     CREATE TABLE tree_nodes (place INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
     CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;`,
  ],
  journals: {
    notes: { ...JOURNAL, hash: 'leaf', hashForm: 'bytes', columns: ['text'], head: 'stored' },
  },
} as const satisfies SqliteStoreKind<'notes'>

export const NOTES_SEED = new Uint8Array(32).fill(7)
export const NOTES_ORIGIN = 'notes.test'

/** Stored texts, in order. */
export const textsIn = (database: DatabaseSync): readonly string[] =>
  database
    .prepare('SELECT text FROM notes ORDER BY at')
    .all()
    .map(({ text }) => String(text))
