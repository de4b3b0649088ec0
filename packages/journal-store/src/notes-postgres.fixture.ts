// A store of notes on PostgreSQL, for the tests. Run as a program, it appends notes until it is killed and prints each
// acknowledged one.
import { setTimeout as pause } from 'node:timers/promises'
import { leafHash } from '@tallystick/hashchain'
import { NOTES_ORIGIN, NOTES_SEED, NotesUnavailable } from './notes-store.fixture.ts'
import { openPostgresJournalStore } from './postgres-journal-store.ts'
import { placesSql } from './postgres-place.ts'
import type { PostgresStoreKind } from './postgres-store-kind.ts'

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
  migrations: ['CREATE TABLE notes.other (id bigint PRIMARY KEY)', placesSql('notes')],
  writesPerCommitMax: 512,
  Unavailable: NotesUnavailable,
  acceptCommand: 'notes accept-backup',
} as const satisfies PostgresStoreKind<'notes'>

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
