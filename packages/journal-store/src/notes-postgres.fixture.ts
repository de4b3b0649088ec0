// A store of notes on PostgreSQL, for the tests. Run as a program, it appends notes until it is killed and prints each
// acknowledged one.
import { setTimeout as pause } from 'node:timers/promises'
import { leafHash } from '@tallystick/hashchain'
import { NOTES_ORIGIN, NOTES_SEED, NotesUnavailable } from './notes-store.fixture.ts'
import { openPostgresJournalStore } from './postgres-journal-store.ts'
import type { PostgresJournalTable, PostgresStoreKind } from './postgres-store-kind.ts'

export const POSTGRES_NOTES = {
  schema: 'notes',
  appRole: 'notes_app',
  journals: {
    notes: {
      noun: 'the journal of notes',
      originEnding: '/notes',
      fileEnding: '.notes-checkpoint',
      table: 'notes',
      columns: [{ name: 'text', type: 'text' }],
    },
  },
  migrations: ['CREATE TABLE notes.other (id bigint PRIMARY KEY)'],
  writesPerCommitMax: 512,
  Unavailable: NotesUnavailable,
  acceptCommand: 'notes accept-backup',
} as const satisfies PostgresStoreKind<'notes'>

/** Two sealed journals, and a table of the service's own whose rows are written with them. */
export const POSTGRES_DIARIES = {
  schema: 'diaries',
  appRole: 'diaries_app',
  journals: { day: diary('day'), night: diary('night') },
  migrations: [
    `CREATE TABLE diaries.writers (name text PRIMARY KEY, entries bigint NOT NULL);
     GRANT INSERT, UPDATE ON diaries.writers TO diaries_app;`,
  ],
  writesPerCommitMax: 512,
  Unavailable: NotesUnavailable,
  acceptCommand: 'diaries accept-backup',
  seal: { proofText: 'a diary', ringName: 'DIARY_KEYS', role: 'diaries_reseal' },
} as const satisfies PostgresStoreKind<'day' | 'night'>

function diary(name: string): PostgresJournalTable {
  return {
    noun: `the journal of the ${name}`,
    originEnding: `/${name}`,
    fileEnding: `.${name}-checkpoint`,
    table: `${name}_entries`,
    columns: [{ name: 'body', type: 'bytea' }],
    sealed: {
      body: 'body',
      join: '',
      slotColumns: 'at AS place',
      slotText: ([at]) => `${name}|${String(at)}`,
    },
  }
}

export const notesOptions = (url: string, databasePath: string) => ({
  url,
  databasePath,
  checkpointSeed: NOTES_SEED,
  origin: NOTES_ORIGIN,
  pause: (ms: number) => pause(ms, undefined, { ref: false }),
})

const [, program, url, databasePath] = process.argv
if (program?.endsWith('notes-postgres.fixture.ts') === true) {
  const options = notesOptions(url ?? '', databasePath ?? '')
  const store = await openPostgresJournalStore<'notes'>(POSTGRES_NOTES, options)
  const write = async (writer: number): Promise<void> => {
    for (let count = 0; ; count += 1) {
      const text = `${process.pid} ${writer} ${count}`
      const hash = leafHash(Buffer.from(text))
      const at = await store.write(({ journals }) => journals.notes.append(hash, [text]))
      process.stdout.write(`${JSON.stringify([at, text])}\n`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)))
}
