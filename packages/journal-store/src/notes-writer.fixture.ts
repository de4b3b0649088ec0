// A process that appends notes until it is killed, and prints each acknowledged one. It writes to pipes synchronously, so that
// everything printed was acknowledged.
import { leafHash } from '@tallystick/hashchain'
import { COUNTED_NOTES, NOTES_ORIGIN, NOTES_SEED, SHARED_NOTES } from './notes-store.fixture.ts'
import { openSqliteJournalStore } from './sqlite-journal-store.ts'

const [databasePath = '', heads] = process.argv.slice(2)
const owner = { databasePath, checkpointSeed: NOTES_SEED, origin: NOTES_ORIGIN }
const store = openSqliteJournalStore<'notes'>(
  heads === 'counted' ? COUNTED_NOTES : SHARED_NOTES,
  owner,
)

async function write(writer: number): Promise<void> {
  for (let count = 0; ; count += 1) {
    const text = `${process.pid} ${writer} ${count}`
    const hash = leafHash(Buffer.from(text))
    const at = await store.write(({ journals }) => journals.notes.append(hash, [text]))
    process.stdout.write(`${JSON.stringify([at, text])}\n`)
  }
}
await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)))
