// Stores of notes, one journal each, for the tests: of a single process and of several. Beside the journal each counts the notes
// of an author, in rows that are read for a whole group.
import type { DatabaseSync } from 'node:sqlite'
import { leafHash } from '@tallystick/hashchain'
import type { SqliteKind } from './sqlite-journals.ts'
import type { GroupMemory, Tx } from './store.ts'

/** What the stores of notes throw. */
export class NotesUnavailable extends Error {
  override readonly name = 'NotesUnavailable'
}

export const NOTES_SEED = new Uint8Array(32).fill(7)
export const NOTES_ORIGIN = 'notes.test'

/** Notes by author, and the authors whose count a group changed. */
export type NoteCounts = { readonly counts: Map<string, number>; readonly changed: Set<string> }

/** `among` words a list of names for an engine, `list` makes its value. */
const rememberCounts = (
  among: string,
  list: (names: readonly string[]) => unknown,
): GroupMemory<string, NoteCounts, string> => ({
  read: async (rows, authors) => {
    const names = [...new Set(authors)]
    const found =
      names.length === 0
        ? []
        : await rows<readonly [string, number]>(
            `SELECT name, entries FROM writers WHERE name IN (${among})`,
            [list(names)],
          )
    return { counts: new Map(found), changed: new Set() }
  },
  save: ({ changed, counts }) =>
    [...changed].map((name) => ({
      text: 'INSERT INTO writers (name, entries) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET entries = excluded.entries',
      values: [name, counts.get(name)],
    })),
})

export const SQLITE_COUNTS = rememberCounts('SELECT value FROM json_each($1)', JSON.stringify)
export const POSTGRES_COUNTS = rememberCounts('SELECT unnest($1::text[])', (names) => names)

/** Appends an author's next note; returns how many there are then. */
export const countNote =
  <Name extends string = 'notes'>(author: string, journal: Name = 'notes' as Name) =>
  async ({ append, memory, remember }: Tx<Name, NoteCounts>): Promise<number> => {
    const next = (memory.counts.get(author) ?? 0) + 1
    const text = `${author} ${next}`
    append(journal, leafHash(Buffer.from(text)), [text])
    remember(() => {
      memory.counts.set(author, next)
      memory.changed.add(author)
    })
    return next
  }

export const JOURNAL_OF_NOTES = {
  noun: 'the journal of notes',
  originEnding: '/notes',
  fileEnding: '.notes-checkpoint',
  table: 'notes',
}

const SQLITE = {
  applicationId: 0x54616c54, // TalT
  busyTimeoutMs: 2_000,
  Unavailable: NotesUnavailable,
  writesPerCommitMax: 256,
  acceptCommand: 'notes accept-backup',
  migrations: [
    `CREATE TABLE journals (name TEXT PRIMARY KEY, size INTEGER NOT NULL, peaks BLOB NOT NULL) STRICT;
     INSERT INTO journals VALUES ('notes', 0, x'');
     CREATE TABLE notes (at INTEGER PRIMARY KEY, leaf_hash BLOB NOT NULL, text TEXT NOT NULL) STRICT;
     CREATE TABLE notes_nodes (place INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
     CREATE TABLE writers (name TEXT PRIMARY KEY, entries INTEGER NOT NULL) STRICT;
     CREATE TABLE seal_keys (key_id TEXT PRIMARY KEY, proof BLOB NOT NULL) STRICT;`,
  ],
  journals: { notes: { ...JOURNAL_OF_NOTES, columns: ['text'] } },
  seal: { proofText: 'a note', ringName: 'NOTE_KEYS', keysPlace: 'the box of keys' },
}

/** For one process. */
export const LONE_NOTES: SqliteKind<'notes'> = {
  ...SQLITE,
  isAlone: true,
  isCheckedAtOpening: true,
}
/** For several processes. */
export const COMMON_NOTES: SqliteKind<'notes'> = { ...SQLITE, isAlone: false }

/** Stored texts, in order. */
export const textsIn = (database: DatabaseSync): readonly string[] =>
  database
    .prepare('SELECT text FROM notes ORDER BY at')
    .all()
    .map(({ text }) => String(text))
