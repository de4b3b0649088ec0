// A store of notes on PostgreSQL, for the tests. Run as a program, it appends notes until it is killed and prints each
// acknowledged one.
import { setTimeout as pause } from 'node:timers/promises'
import { leafHash } from '@tallystick/hashchain'
import {
  JOURNAL_OF_NOTES,
  NOTES_ORIGIN,
  NOTES_SEED,
  type NoteCounts,
  NotesUnavailable,
  POSTGRES_COUNTS,
} from './notes-store.fixture.ts'
import { openPostgresStore, type PostgresStore } from './postgres-store.ts'
import type { PostgresStoreKind } from './postgres-store-kind.ts'

/** A journal whose entries have one cell. */
export const journalSchema = (
  name: string,
  {
    column,
    table,
    type,
  }: { readonly table: string; readonly column: string; readonly type: string },
): string => `
CREATE TABLE ${table} (at bigint PRIMARY KEY, leaf_hash bytea NOT NULL, ${column} ${type} NOT NULL);
CREATE TABLE ${table}_nodes (place bigint PRIMARY KEY, hash bytea NOT NULL);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table} EXECUTE FUNCTION keep();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}_nodes EXECUTE FUNCTION keep();
INSERT INTO journals VALUES ('${name}', 0, '');`

export type PostgresNotes = PostgresStore<'notes', NoteCounts, string>

export const POSTGRES_NOTES: PostgresStoreKind<'notes'> = {
  schema: 'notes',
  appRole: 'notes_app',
  journals: { notes: { ...JOURNAL_OF_NOTES, columns: [{ name: 'text', type: 'text' }] } },
  migrations: [
    `${journalSchema('notes', { table: 'notes', column: 'text', type: 'text' })}
     CREATE TABLE writers (name text COLLATE "C" PRIMARY KEY, entries bigint NOT NULL);
     GRANT INSERT, UPDATE ON writers TO notes_app`,
  ],
  writesPerCommitMax: 512,
  Unavailable: NotesUnavailable,
  acceptCommand: 'notes accept-backup',
}

export const notesOptions = (url: string, databasePath: string) => ({
  url,
  databasePath,
  checkpointSeed: NOTES_SEED,
  origin: NOTES_ORIGIN,
  memory: POSTGRES_COUNTS,
  pause: (ms: number) => pause(ms, undefined, { ref: false }),
})

const [, program, url, databasePath] = process.argv
if (program?.endsWith('notes-postgres.fixture.ts') === true) {
  const options = notesOptions(url ?? '', databasePath ?? '')
  const store = await openPostgresStore(POSTGRES_NOTES, options)
  const write = async (writer: number): Promise<void> => {
    for (let count = 0; ; count += 1) {
      const text = `${process.pid} ${writer} ${count}`
      const hash = leafHash(Buffer.from(text))
      const at = await store.write(({ append }) => append('notes', hash, [text]))
      process.stdout.write(`${JSON.stringify([at, text])}\n`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)))
}
