// C44: two releases serve one store side by side: the schema is expanded, processes are replaced one by one, and then it is
// contracted.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_NOTES } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresDoor } from './postgres-door.ts'
import { openPostgresProcess } from './postgres-process.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from './postgres-server.fixture.ts'
import { openPostgresStore } from './postgres-store.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'
import { appendText } from './store.contract.ts'
import { openWriteProbe } from './write-probe.ts'

const OLD = POSTGRES_NOTES
/** The next release counts words, and has no use for the names of writers. */
const NEXT: typeof OLD = {
  ...OLD,
  migrations: [
    ...OLD.migrations,
    {
      expand: 'CREATE TABLE words (word text PRIMARY KEY, entries bigint NOT NULL)',
      contract: 'DROP TABLE writers',
    },
  ],
}
const AFTER_NEXT: typeof OLD = { ...NEXT, migrations: [...NEXT.migrations, 'SELECT 1'] }

const onProblem = (error: unknown): void => {
  throw error
}

/** How many parameters each function has that appends. */
async function countCells(owner: string): Promise<readonly number[]> {
  const found = `SELECT pronargs::int AS given FROM pg_proc WHERE proname = 'append_notes' ORDER BY 1`
  return (await runSql(owner, found)).rows.map(({ given: input }: { given: number }) => input)
}

describe.skipIf(postgresMissing !== undefined)(
  `C44: two releases${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let folder: string
    let owner: string
    let url: string
    const endings: (() => Promise<unknown>)[] = []
    const migrate = (kind: typeof OLD, part?: 'contract') =>
      migratePostgresStore(kind, notesOptions(owner, ':memory:'), part)
    /** A process of a release; `end` is its orderly end. */
    const serve = async (kind: typeof OLD, name: string, toldOf = onProblem) => {
      const options = notesOptions(url, join(folder, name))
      const door = new PostgresDoor({ ...options, Unavailable: NotesUnavailable })
      const place = await openPostgresProcess(door, kind, { onProblem: toldOf })
      endings.push(() => place.close())
      const store = await openPostgresStore(kind, { ...options, door })
      endings.push(() => store.close())
      return { door, place, store, end: () => Promise.all([place.close(), store.close()]) }
    }
    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => server.end())
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'upgrade-'))
      const database = await server.database()
      owner = database.owner
      url = database.as('notes_app')
    })
    afterEach(async () => {
      for (const end of endings.splice(0)) await end()
      rmSync(folder, { recursive: true, force: true })
    })

    it('both write under load while one takes the place of the other, and nothing is lost; then the schema is contracted', async () => {
      await migrate(OLD)
      const old = await serve(OLD, 'old')
      const acknowledged: number[] = []
      const over = new AbortController()
      const write = async (store: typeof old.store): Promise<void> => {
        while (!over.signal.aborted) acknowledged.push(await appendText(store, 'a note'))
      }
      const writing = [write(old.store)]
      await expect(serve(NEXT, 'early')).rejects.toThrow(/its schema is 1, that of this program 2/)
      await migrate(NEXT)
      const next = await serve(NEXT, 'next')
      writing.push(write(next.store))
      // One of the old release may start even now.
      const again = await serve(OLD, 'again')
      writing.push(write(again.store))
      await expect.poll(() => acknowledged.length).toBeGreaterThan(100)
      await expect(migrate(NEXT, 'contract')).rejects.toThrow(/of the release before serve it: 2/)
      over.abort()
      await Promise.all(writing)
      await Promise.all([old.end(), again.end()])
      await migrate(NEXT, 'contract')
      acknowledged.push(await appendText(next.store, 'a last note'))
      expect(acknowledged.toSorted((left, right) => left - right)).toEqual(
        acknowledged.map((_, at) => at),
      )
      const { rows } = await runSql(owner, 'SELECT count(*)::int AS count FROM notes.notes')
      expect(rows).toEqual([{ count: acknowledged.length }])
    })

    it('a contracted schema is not the old release’s any more, nor is one two steps ahead', async () => {
      await migrate(OLD)
      await migrate(NEXT)
      await (await serve(OLD, 'old')).end()
      await migrate(NEXT, 'contract')
      await expect(serve(OLD, 'old')).rejects.toThrow(/its schema is 2, that of this program 1/)
      await migrate(AFTER_NEXT)
      await expect(serve(OLD, 'old')).rejects.toThrow(/its schema is 3.*: start a newer release/)
      await (await serve(NEXT, 'next')).end()
    })

    it('a process of the old release that was forgotten, and wakes once the schema is contracted, writes no more, and is not ready', async () => {
      await migrate(OLD)
      const { door, place, store } = await serve(OLD, 'old', () => undefined)
      await migrate(NEXT)
      await runSql(owner, 'DELETE FROM notes.processes')
      await migrate(NEXT, 'contract')
      await place.beat().catch(() => undefined)
      await expect(appendText(store, 'a late note')).rejects.toThrow(/its schema is 2/)
      await expect(runSql(owner, 'TABLE notes.processes')).resolves.toMatchObject({ rows: [] })
      const { trouble } = openWriteProbe(door, () => undefined)
      await expect(trouble()).resolves.toMatchObject({
        sentence: expect.stringMatching(/: start a newer release$/),
      })
    })

    it('a process of the old release that slept while the schema was contracted writes nothing even before its next beat', async () => {
      await migrate(OLD)
      const { store } = await serve(OLD, 'old', () => undefined)
      expect(await appendText(store, 'a note')).toBe(0)
      await migrate(NEXT)
      await runSql(owner, 'DELETE FROM notes.processes')
      await migrate(NEXT, 'contract')
      await expect(appendText(store, 'a late note')).rejects.toThrow(/start a newer release/)
      const { rows } = await runSql(owner, 'SELECT count(*)::int AS count FROM notes.notes')
      expect(rows).toEqual([{ count: 1 }])
    })

    it('a journal that gets another column is appended to as before until the schema is contracted, and then no more', async () => {
      const { notes } = NEXT.journals
      const columns = [...notes.columns, { name: 'words', type: 'bigint' } as const]
      const expand = 'ALTER TABLE notes ADD COLUMN words bigint'
      const longer: typeof OLD = {
        ...OLD,
        journals: { ...OLD.journals, notes: { ...notes, columns } },
        migrations: [...OLD.migrations, expand],
      }
      await migrate(OLD)
      const old = await serve(OLD, 'old')
      await migrate(longer)
      expect(await appendText(old.store, 'a note')).toBe(0)
      const [before = 0] = await countCells(owner)
      expect(await countCells(owner)).toEqual([before, before + 1])
      await old.end()
      await migrate(longer, 'contract')
      expect(await countCells(owner)).toEqual([before + 1])
    })

    it('a step gives way to those who write while a long reading has its table, and is made once that has ended', async () => {
      await migrate(OLD)
      const { door, store } = await serve(OLD, 'old')
      const reader = await door.find()
      await reader.run(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0;
        LOCK TABLE notes.notes IN ACCESS SHARE MODE`)
      const expand = 'ALTER TABLE notes ADD COLUMN words bigint'
      const migrating = migrate({ ...OLD, migrations: [...OLD.migrations, expand] })
      migrating.catch(() => undefined)
      const waiting = `SELECT FROM pg_locks WHERE relation = 'notes.notes'::regclass AND NOT granted`
      await expect.poll(async () => (await runSql(owner, waiting)).rows.length).toBe(1)
      expect(await appendText(store, 'a note')).toBe(0)
      await reader.end()
      await migrating
    })

    it('a new store has nothing of before, and only a program of the schema contracts it', async () => {
      await migrate(NEXT)
      const found = await runSql(owner, "SELECT to_regclass('notes.writers') AS writers")
      expect(found.rows).toEqual([{ writers: null }])
      await expect(migrate(AFTER_NEXT, 'contract')).rejects.toThrow(/its schema is 2/)
    })
  },
)
