// A process that takes a lease and prints its epoch. For each line that it reads it stores a note under the epoch that it had
// first, as work does that was under way when its process was stopped, and prints what came of it.
import { createInterface } from 'node:readline'
import { notesOptions } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresDoor } from './postgres-door.ts'
import { openPostgresLease } from './postgres-lease.ts'
import { errorMessage } from './unavailable.ts'

const [url = '', name = ''] = process.argv.slice(2)
const door = new PostgresDoor({ ...notesOptions(url, ':memory:'), Unavailable: NotesUnavailable })
const lease = await openPostgresLease(
  door,
  { name, schema: 'notes', process: String(process.pid) },
  { onProblem: () => undefined },
)
const epoch = lease.epoch() ?? 0
const rows = new PostgresConnection(door, { schema: 'notes' })
process.stdout.write(`${epoch}\n`)
for await (const author of createInterface(process.stdin)) {
  const stored = await rows
    .transaction(async (query) => {
      await lease.require(query, epoch)
      await query('INSERT INTO writers VALUES ($1, 0)', [author])
      return 'stored'
    })
    .catch(errorMessage)
  process.stdout.write(`${stored}; held: ${lease.isHeld()}\n`)
}
