import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { computeRoot, leafHash } from '@tallystick/hashchain'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_NOTES, type PostgresNotes } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { acceptPostgresBackup } from './postgres-backup.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from './postgres-server.fixture.ts'
import { openPostgresStore } from './postgres-store.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'
import { appendText, describeStore } from './store.contract.ts'
import { openTornCommits } from './torn-commits.fixture.ts'

const WRITER = fileURLToPath(new URL('./notes-postgres.fixture.ts', import.meta.url))
const KILLS = process.env['TALLYSTICK_LONG'] === '1' ? 50 : 3
/** The administrator switches triggers off, as no role of the service can. */
const FREELY = 'SET session_replication_role = replica;'

const appendTo = (at: number, cells: string): string =>
  `SELECT notes.append_notes(${at}, repeat('x', 32)::bytea, '{}', ARRAY[sha256('x')], ${cells})`

describe.skipIf(postgresMissing !== undefined)(
  `PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let folder: string
    let databasePath: string
    let database: Awaited<ReturnType<PostgresServer['database']>>
    let appUrl: string
    const opened: PostgresNotes[] = []

    const migrate = (url = database.owner) =>
      migratePostgresStore(POSTGRES_NOTES, notesOptions(url, databasePath))
    const start = async (): Promise<void> => {
      folder = mkdtempSync(join(tmpdir(), 'journal-store-'))
      databasePath = join(folder, 'notes')
      database = await server.database()
      appUrl = database.as('notes_app')
      await migrate()
    }
    const open = async (url = appUrl, over = {}) => {
      const options = { ...notesOptions(url, databasePath), ...over }
      const store = await openPostgresStore(POSTGRES_NOTES, options)
      opened.push(store)
      return store
    }
    const end = async (): Promise<void> => {
      for (const store of opened.splice(0)) await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
    const texts = async (): Promise<readonly string[]> =>
      (await runSql(database.owner, 'SELECT text FROM notes.notes ORDER BY at')).rows.map(
        ({ text }: { text: string }) => text,
      )
    const tinker = (sql: string) => runSql(database.owner, `${FREELY} ${sql}`)

    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => {
      server.end()
    })

    describeStore('PostgreSQL', async () => {
      await start()
      return {
        databasePath,
        open: (over) => open(appUrl, over),
        texts,
        dropEntry: async (index) =>
          void (await tinker(`DELETE FROM notes.notes WHERE at = ${index}`)),
        alterLeaf: async (index) =>
          void (await tinker(`UPDATE notes.notes SET leaf_hash = sha256('x') WHERE at = ${index}`)),
        fail: ({ append }) => append('notes', new Uint8Array(32), [null]),
        keep: async () => {
          await runSql(
            database.owner,
            'DROP TABLE IF EXISTS kept, kept_head; CREATE TABLE kept AS SELECT * FROM notes.notes; CREATE TABLE kept_head AS SELECT * FROM notes.journals',
          )
          return {
            restore: async () =>
              void (await tinker(
                'DELETE FROM notes.notes; INSERT INTO notes.notes SELECT * FROM kept; DELETE FROM notes.journals; INSERT INTO notes.journals SELECT * FROM kept_head',
              )),
          }
        },
        accept: async () => {
          const options = notesOptions(appUrl, databasePath)
          return (await acceptPostgresBackup(POSTGRES_NOTES, options)).notes
        },
        Unavailable: NotesUnavailable,
        end,
      }
    })

    describe('what only it has', () => {
      beforeEach(start)
      afterEach(end)

      it('no role of the service changes a journal, and triggers stop its owner', async () => {
        await appendText(await open(), 'one')
        for (const sql of [
          "UPDATE notes.notes SET text = 'x'",
          'DELETE FROM notes.notes',
          'TRUNCATE notes.notes',
          'DELETE FROM notes.notes_nodes',
        ]) {
          await expect(runSql(appUrl, sql)).rejects.toThrow(/permission denied/)
          await expect(runSql(database.owner, sql)).rejects.toThrow(/only grows/)
        }
        for (const sql of [
          "INSERT INTO notes.notes VALUES (1, sha256('x'), 'x')",
          'UPDATE notes.journals SET size = 0',
          'DELETE FROM notes.meta',
        ])
          await expect(runSql(appUrl, sql)).rejects.toThrow(/permission denied/)
      })

      it('a head that has moved on takes nothing from who believes in the old one', async () => {
        await appendText(await open(), 'one')
        const stale = `SELECT notes.append_notes(0, sha256('x'), '{}', ARRAY[sha256('x')], ARRAY['x'])`
        await expect(runSql(appUrl, stale)).rejects.toThrow(/moved on/)
        expect(await texts()).toEqual(['one'])
      })

      it('a step may give a journal a column: what appends to it follows, and processes of before go on', async () => {
        const columns = [
          ...POSTGRES_NOTES.journals.notes.columns,
          { name: 'language', type: 'text' },
        ] as const
        const migrations = [
          ...POSTGRES_NOTES.migrations,
          'ALTER TABLE notes ADD COLUMN language text',
        ]
        const notes = { ...POSTGRES_NOTES.journals.notes, columns }
        const kind = { ...POSTGRES_NOTES, journals: { notes }, migrations }
        await migratePostgresStore(kind, notesOptions(database.owner, databasePath))
        await runSql(appUrl, appendTo(0, "ARRAY['one']"))
        await runSql(appUrl, appendTo(1, "ARRAY['two'], ARRAY['nl']"))
        const { rows } = await runSql(
          database.owner,
          'SELECT text, language FROM notes.notes ORDER BY at',
        )
        expect(rows).toEqual([
          { text: 'one', language: null },
          { text: 'two', language: 'nl' },
        ])
      })

      it('several may migrate at once; another version than the program’s is refused', async () => {
        await Promise.all([migrate(), migrate(), migrate()])
        await runSql(database.owner, "UPDATE notes.meta SET value = '9'")
        await expect(open()).rejects.toThrow(/its schema is 9/)
        await expect(migrate()).rejects.toThrow(/newer than this program/)
      })

      it('three stores append at once: one journal, no gap and no fork', async () => {
        const first = await open()
        const stores = [first, await open(), await open()]
        const places = await Promise.all(
          Array.from({ length: 600 }, (_, at) => appendText(stores[at % 3] ?? first, `note ${at}`)),
        )
        expect(places.toSorted((a, b) => a - b)).toEqual(places.map((_, at) => at))
        const root = computeRoot((await texts()).map((text) => leafHash(Buffer.from(text))))
        for (const store of stores) {
          await store.catchUp()
          expect(store.journals.notes.size).toBe(600)
          expect(store.journals.notes.rootHash()).toEqual(root)
          expect(Buffer.from(await store.journals.notes.rootAt(600))).toEqual(Buffer.from(root))
        }
      })

      it('another process’s entries are heard of', async () => {
        const [first, second] = [await open(), await open()]
        const sizes: number[] = []
        second.onGrown(() => sizes.push(second.journals.notes.size))
        await appendText(first, 'one')
        await expect.poll(() => sizes.at(-1)).toBe(1)
        await runSql(
          database.owner,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'notes_app' AND datname = current_database()",
        )
        await appendText(first, 'two')
        await expect.poll(() => sizes.at(-1)).toBe(2)
      })

      it('every connection cut, and the server crashed: writes go on, each stored once', async () => {
        const store = await open()
        const results: Promise<number>[] = []
        for (let round = 0; round < 10; round += 1) {
          results.push(
            ...Array.from({ length: 20 }, (_, at) => appendText(store, `${round} ${at}`)),
          )
          if (round === 5 && server.socketFolder !== undefined) server.crash()
          else
            await runSql(
              database.owner,
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'notes_app' AND datname = current_database()",
            )
        }
        await Promise.all(results)
        const stored = await texts()
        expect(stored).toHaveLength(200)
        expect(new Set(stored).size).toBe(200)
      })

      it(`kill -9 at ${KILLS} random moments under concurrent writes loses no acknowledged entry`, async () => {
        for (let killed = 0; killed < KILLS; killed += 1) {
          const child = spawn(process.execPath, [WRITER, appUrl, databasePath], {
            stdio: ['ignore', 'pipe', 'inherit'],
          })
          let printed = ''
          child.stdout.on('data', (chunk: Buffer) => {
            printed += chunk.toString()
          })
          const least = 1 + Math.floor(Math.random() * 200)
          while (printed.split('\n').length < least) await once(child.stdout, 'data')
          child.kill('SIGKILL')
          await once(child, 'close')
          const store = await open()
          expect(await appendText(store, `after ${killed}`)).toBe(store.journals.notes.size - 1)
          const stored = await texts()
          for (const line of printed.split('\n').slice(0, -1)) {
            const [at, text] = JSON.parse(line) as [number, string]
            expect(stored[at]).toBe(text)
          }
          const root = computeRoot(stored.map((text) => leafHash(Buffer.from(text))))
          expect(Buffer.from(store.journals.notes.rootHash())).toEqual(Buffer.from(root))
          await store.close()
        }
      })
    })

    describe.skipIf(process.env['DATABASE_URL'] !== undefined)(
      'a COMMIT whose answer is torn',
      () => {
        let torn: Awaited<ReturnType<typeof openTornCommits>>

        beforeEach(async () => {
          await start()
          const socketFolder = server.socketFolder ?? ''
          torn = await openTornCommits({ url: appUrl, socketFolder, folder })
        })
        afterEach(async () => {
          for (const store of opened.splice(0)) await store.close()
          torn.end()
          await end()
        })

        it.each(['before', 'behind'] as const)(
          'cut %s the server: stored once, and acknowledged',
          async (how) => {
            const store = await open(torn.url)
            await appendText(store, 'first')
            for (let round = 0; round < 10; round += 1) {
              torn.tearNext(how)
              const group = ['a', 'b', 'c'].map((name) => appendText(store, `${name}${round}`))
              expect(await Promise.all(group)).toEqual([0, 1, 2].map((at) => 1 + round * 3 + at))
            }
            expect(torn.torn()).toBe(10)
            expect(await texts()).toHaveLength(31)
          },
        )

        it.each([
          ['before', 0, [1, 0]],
          ['behind', 1, [0, 1]],
        ] as const)(
          'cut %s the server: of two processes that append equal leaves each has its own',
          async (how, stored, places) => {
            const [store, other] = [await open(torn.url), await open()]
            torn.tearNext(how, 'closed')
            const mine = appendText(store, 'equal')
            await expect.poll(() => torn.torn()).toBe(1)
            await expect.poll(() => other.journals.notes.size).toBe(stored)
            const theirs = await appendText(other, 'equal')
            torn.reopen()
            expect([await mine, theirs]).toEqual(places)
            expect(await texts()).toEqual(['equal', 'equal'])
          },
        )

        it('a group that appends nothing is not run again where only its answer was lost', async () => {
          const store = await open(torn.url)
          let runs = 0
          torn.tearNext('behind')
          await store.write(() => {
            runs += 1
          })
          expect([torn.torn(), runs]).toEqual([1, 1])
        })
      },
    )

    describe('several hosts', () => {
      beforeEach(start)
      afterEach(end)

      it('one that is gone is passed over', async () => {
        const host = encodeURIComponent(server.socketFolder ?? '')
        const two = appUrl.replace(host, `${encodeURIComponent(join(folder, 'gone'))},${host}`)
        expect(await appendText(await open(two), 'one')).toBe(0)
      })

      it('none that takes writes is the service’s own error', async () => {
        const gone = `postgres://notes_app@${encodeURIComponent(folder)}/notes`
        await expect(open(gone, { findMs: 100 })).rejects.toThrow(NotesUnavailable)
      })
    })
  },
)
