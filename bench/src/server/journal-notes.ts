// A store of notes for measuring a journal: on PostgreSQL with group commit or with a transaction for each append, or on
// SQLite. Entries are as large as those of a ledger.
import { readFileSync } from 'node:fs'
import { leafHash } from '@tallystick/hashchain'
import { openSqliteStore } from '@tallystick/journal-store'
import { migratePostgresStore, openPostgresStore } from '@tallystick/journal-store/postgres'
import { pause, systemClock } from '@tallystick/service-kit'

/** `own`: each append in a transaction of its own. */
export type JournalEngine = 'postgres' | 'own' | 'sqlite'

class NotesUnavailable extends Error {
  override readonly name = 'NotesUnavailable'
}

const NAMES = {
  noun: 'the notes',
  originEnding: '/notes',
  fileEnding: '.checkpoint',
  table: 'notes',
}
const WRITES_PER_COMMIT = 512
const ENTRY_BYTES = 600

const readSchema = (name: string): string =>
  readFileSync(new URL(`./${name}.schema.sql`, import.meta.url), 'utf8')

const postgresKind = (writesPerCommitMax: number) =>
  ({
    schema: 'notes',
    appRole: 'notes_app',
    journals: { notes: { ...NAMES, columns: [{ name: 'text', type: 'bytea' }] } },
    migrations: [readSchema('postgres-notes')],
    writesPerCommitMax,
    Unavailable: NotesUnavailable,
    acceptCommand: 'none',
  }) as const

const SQLITE_KIND = {
  applicationId: 0x54616c42, // TalB
  migrations: [readSchema('sqlite-notes')],
  busyTimeoutMs: 30_000,
  Unavailable: NotesUnavailable,
  journals: { notes: { ...NAMES, columns: ['text'] } },
  isAlone: false,
  writesPerCommitMax: WRITES_PER_COMMIT,
  acceptCommand: 'none',
} as const

/** Notes need nothing of the rows before them. */
const NO_MEMORY = { read: () => undefined, save: () => [] }

/** Resolves after so many milliseconds. */
export const pauseFor = (ms: number): Promise<void> => pause(systemClock, ms)

/** Makes the schema in a database, as its owner. */
export const migrateNotes = (url: string): Promise<void> =>
  migratePostgresStore(postgresKind(WRITES_PER_COMMIT), { url, pause: pauseFor })

const makeOwner = (databasePath: string) => ({
  databasePath,
  checkpointSeed: new Uint8Array(32).fill(7),
  origin: 'notes.bench',
})

const makeEntry = (text: string): readonly [leaf: Uint8Array, body: Buffer] => {
  const body = Buffer.from(text.padEnd(ENTRY_BYTES, '.'))
  return [leafHash(body), body]
}

/** Opens the notes on PostgreSQL; `databasePath` is where this process keeps its checkpoints. */
export async function openPostgresNotes(url: string, databasePath: string, engine: JournalEngine) {
  const kind = postgresKind(engine === 'own' ? 1 : WRITES_PER_COMMIT)
  const options = { ...makeOwner(databasePath), url, pause: pauseFor, memory: NO_MEMORY }
  const store = await openPostgresStore<'notes', undefined, never>(kind, options)
  return {
    append: (text: string): Promise<number> => {
      const [leaf, body] = makeEntry(text)
      return store.write(({ append }) => append('notes', leaf, [body]))
    },
    /** One row in a transaction of its own, without lock and hash: the least that a commit costs. */
    bareCommit: () => store.writeRows((query) => query("INSERT INTO notes.bare VALUES ('x')")),
    size: (): number => store.journals.notes.size,
    onGrown: (listener: () => void): (() => void) => store.onGrown(listener),
    close: () => store.close(),
  }
}

/** Opens the notes in a file. */
export async function openSqliteNotes(databasePath: string) {
  const options = { ...makeOwner(databasePath), memory: NO_MEMORY }
  const store = await openSqliteStore<'notes', undefined, never>(SQLITE_KIND, options)
  return {
    append: (text: string): Promise<number> => {
      const [leaf, body] = makeEntry(text)
      return store.write(({ append }) => append('notes', leaf, [body]))
    },
    close: () => store.close(),
  }
}
