// S13: what /ready says of a server that answers reads and takes no writes, and what asking costs those who write.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_NOTES, type PostgresNotes } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresDoor } from './postgres-door.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from './postgres-server.fixture.ts'
import { openPostgresStore } from './postgres-store.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'
import { appendText } from './store.contract.ts'
import { openWriteProbe, tryHeads } from './write-probe.ts'

/** A probe gives an answer up after a second, which a busy machine may take: it is asked again. */
const POLL = { interval: 20 }

/** Whether a server takes writes; whoever sets it back asks for a session that may. */
async function takeWrites(owner: string, mode: 'on' | 'off'): Promise<void> {
  const url = new URL(owner)
  url.searchParams.set('options', '-c default_transaction_read_only=off')
  const readOnly = mode === 'on' ? 'off' : 'on'
  await runSql(String(url), `ALTER SYSTEM SET default_transaction_read_only = ${readOnly}`)
  await runSql(String(url), 'SELECT pg_reload_conf()')
}

describe.skipIf(postgresMissing !== undefined || process.env['DATABASE_URL'] !== undefined)(
  `readiness to write${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let folder: string
    let postgres: PostgresServer
    let url: string
    let owner: string
    const endings: (() => Promise<unknown>)[] = []
    const server = (at = url) => ({
      ...notesOptions(at, join(folder, 'one')),
      Unavailable: NotesUnavailable,
    })
    const open = async (): Promise<PostgresNotes> => {
      const store = await openPostgresStore(POSTGRES_NOTES, server())
      endings.push(() => store.close())
      return store
    }
    const connect = (door: PostgresDoor): PostgresConnection => {
      const connection = new PostgresConnection(door, { schema: 'notes' })
      endings.push(() => connection.end())
      return connection
    }
    beforeAll(() => {
      postgres = startPostgres()
    })
    afterAll(() => postgres.end())
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'probe-'))
      const database = await postgres.database()
      owner = database.owner
      url = database.as('notes_app')
      await migratePostgresStore(POSTGRES_NOTES, notesOptions(owner, ':memory:'))
    })
    afterEach(async () => {
      for (const end of endings.splice(0).toReversed()) await end()
      rmSync(folder, { recursive: true })
    })

    it('S13: a server that was set to take no writes, as with a full disk: readiness says so, and writes go on once it takes them', async () => {
      const store = await open()
      const probe = openWriteProbe(new PostgresDoor(server()), () => undefined)
      endings.push(() => probe.end())
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
      await takeWrites(owner, 'off')
      await expect
        .poll(() => probe.trouble(), POLL)
        .toMatchObject({ sentence: 'the database server takes no writes' })
      await expect(appendText(store, 'refused')).rejects.toThrow(/nothing was written/)
      await takeWrites(owner, 'on')
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
      await appendText(store, 'after')
      expect(store.journals.notes.size).toBe(1)
    })

    it('S13: a server without room on its disk: readiness says so until there is', async () => {
      const probe = openWriteProbe(new PostgresDoor(server()), () => undefined)
      endings.push(() => probe.end())
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
      // Stands for the disk: the server refuses the same file, under the code beside that of a full one.
      await runSql(owner, "ALTER ROLE notes_app SET temp_file_limit = '100kB'")
      const limited = openWriteProbe(new PostgresDoor(server()), () => undefined)
      endings.push(() => limited.end())
      await expect
        .poll(() => limited.trouble(), POLL)
        .toEqual({
          reason: 'disk_full',
          sentence: 'the disk of the database server has no room for a write',
        })
      await runSql(owner, 'ALTER ROLE notes_app RESET ALL')
      const roomy = openWriteProbe(new PostgresDoor(server()), () => undefined)
      endings.push(() => roomy.end())
      await expect.poll(() => roomy.trouble(), POLL).toBeUndefined()
    })

    it('S13: another session holds the lock of whoever appends: readiness says so while nothing is written, and not for writers that take turns', async () => {
      const store = await open()
      const door = new PostgresDoor(server())
      const probe = openWriteProbe(door, () => undefined, { schema: 'notes' })
      endings.push(() => probe.end())
      const writing = Array.from({ length: 200 }, (_, at) => appendText(store, `${at}`))
      expect((await probe.trouble())?.reason).not.toBe('writes_locked')
      await Promise.all(writing)
      const admin = connect(new PostgresDoor(server(owner)))
      const locked = Promise.withResolvers<void>()
      const holding = admin.transaction(async (query) => {
        await query('SET LOCAL idle_in_transaction_session_timeout = 0')
        await query('SELECT FROM notes.journals FOR UPDATE')
        await locked.promise
      })
      await expect.poll(() => probe.trouble(), POLL).toMatchObject({ reason: 'writes_locked' })
      locked.resolve()
      await holding
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
    })

    it('S13: a look at the heads leaves them free before its answer has arrived: a busy process holds nobody up', async () => {
      const store = await open()
      const looking = connect(new PostgresDoor(server()))
      await looking.transaction(async (query) => {
        await query(tryHeads('notes'))
        expect(await appendText(store, 'meanwhile')).toBe(0)
      })
    })
  },
)
