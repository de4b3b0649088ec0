// A process that appends notes until it is killed, and prints each acknowledged one. It writes to pipes synchronously, so that
// everything printed was acknowledged.
import { leafHash } from '@tallystick/hashchain'
import {
  COMMON_NOTES,
  LONE_NOTES,
  NOTES_ORIGIN,
  NOTES_SEED,
  SQLITE_COUNTS,
} from './notes-store.fixture.ts'
import { openSqliteStore } from './sqlite-store.ts'

const [databasePath = '', processes] = process.argv.slice(2)
const owner = {
  databasePath,
  checkpointSeed: NOTES_SEED,
  origin: NOTES_ORIGIN,
  memory: SQLITE_COUNTS,
}
const store = await openSqliteStore(processes === 'one process' ? LONE_NOTES : COMMON_NOTES, owner)

async function write(writer: number): Promise<void> {
  for (let count = 0; ; count += 1) {
    const text = `${process.pid} ${writer} ${count}`
    const hash = leafHash(Buffer.from(text))
    const at = await store.write(({ append }) => append('notes', hash, [text]))
    process.stdout.write(`${JSON.stringify([at, text])}\n`)
  }
}
await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)))
