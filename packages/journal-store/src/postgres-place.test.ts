import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_NOTES } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
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

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE usename = 'notes_app' AND datname = current_database()`

describe.skipIf(postgresMissing !== undefined)(
  `the place of a process${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let folder: string
    let owner: string
    let url: string
    const endings: (() => Promise<unknown>)[] = []
    const door = () =>
      new PostgresDoor({ ...notesOptions(url, ':memory:'), Unavailable: NotesUnavailable })
    const openAlone = async (name: string) => {
      const own = door()
      const store = await openPostgresStore(POSTGRES_NOTES, {
        ...notesOptions(url, join(folder, name)),
        door: own,
        isAlone: true,
      })
      endings.push(() => store.close())
      return { store, door: own }
    }
    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => server.end())
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'place-'))
      const database = await server.database()
      owner = database.owner
      url = database.as('notes_app')
      await migratePostgresStore(POSTGRES_NOTES, notesOptions(owner, ':memory:'))
    })
    afterEach(async () => {
      for (const end of endings.splice(0)) await end()
      rmSync(folder, { recursive: true, force: true })
    })

    it('C44: is one process’s while it lives; cut off, it has its place again if nobody took it', async () => {
      const { door: own, store } = await openAlone('one')
      await expect(openAlone('other')).rejects.toThrow(/another process has this store open/)
      await runSql(owner, CUT)
      expect(await appendText(store, 'still here')).toBe(0)
      let lost: string | undefined
      void (async () => (lost = await own.lost))()
      expect(await appendText(store, 'and here')).toBe(1)
      expect(lost).toBeUndefined()
    })

    it.each(['a write', 'rows', 'a look'] as const)(
      'whoever lost it hears of it by %s, and nothing of it is stored',
      async (how) => {
        const { door: own, store } = await openAlone('one')
        // Its lock goes with its connections; the epoch is what another process moves on.
        await runSql(owner, "SELECT notes.take_place('notes')")
        const ways = {
          'a write': () => appendText(store, 'late'),
          rows: () => store.writeRows((query) => query('SELECT')),
          'a look': () => runSql(owner, CUT),
        }
        await ways[how]().catch(() => undefined)
        expect(await own.lost).toBe('another process took the place of this one')
        await expect(appendText(store, 'later')).rejects.toThrow(/took the place/)
        expect((await runSql(owner, 'SELECT FROM notes.notes')).rowCount).toBe(0)
      },
    )
  },
)
