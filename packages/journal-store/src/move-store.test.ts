import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leafHash } from '@tallystick/hashchain'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { moveToPostgres, moveToSqlite } from './move-store.ts'
import type { StoreMove } from './moved-rows.ts'
import { notesOptions, POSTGRES_NOTES } from './notes-postgres.fixture.ts'
import {
  COMMON_NOTES,
  NOTES_ORIGIN,
  NOTES_SEED,
  SQLITE_COUNTS,
  textsIn,
} from './notes-store.fixture.ts'
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
import { openSqliteStore } from './sqlite-store.ts'

/** More than two pages. */
const ENTRIES = 2_300

const OTHER = 'CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;'
const SQLITE = { ...COMMON_NOTES, migrations: [...COMMON_NOTES.migrations, OTHER] }
const MOVE: StoreMove<'notes'> = {
  sqlite: SQLITE,
  postgres: {
    ...POSTGRES_NOTES,
    migrations: [
      ...POSTGRES_NOTES.migrations,
      'CREATE TABLE other (name bytea NOT NULL, id bigint PRIMARY KEY, made int)',
    ],
  },
  tables: [{ table: 'other' }],
}

describe.skipIf(postgresMissing !== undefined)(
  `moving a store${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let database: Awaited<ReturnType<PostgresServer['database']>>
    let folder: string
    let filePath: string
    const owner = () => ({
      databasePath: filePath,
      checkpointSeed: NOTES_SEED,
      origin: NOTES_ORIGIN,
    })
    const openFile = (path = filePath) =>
      openSqliteStore(SQLITE, { ...owner(), databasePath: path, memory: SQLITE_COUNTS })
    const options = (path = filePath) => ({
      owner: owner(),
      filePath: path,
      server: notesOptions(database.owner, filePath),
    })
    const stored = async (what: string) =>
      (await runSql(database.owner, `SELECT ${what}`)).rows as unknown[]

    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => {
      server.end()
    })
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'move-store-'))
      filePath = join(folder, 'notes.db')
      database = await server.database()
      await migratePostgresStore(MOVE.postgres, notesOptions(database.owner, filePath))
      const file = await openFile()
      await file.write(({ append, run }) => {
        run("INSERT INTO other VALUES (7, 'é'), (3, 'b')", [])
        for (let at = 0; at < ENTRIES; at += 1)
          append('notes', leafHash(Buffer.from(`note ${at}`)), [`note ${at}`])
      })
      await file.close()
    })
    afterEach(() => {
      rmSync(folder, { recursive: true, force: true })
    })

    it('to PostgreSQL and back: the same heads, checkpoints and rows, and each goes on from there', async () => {
      const moved = await moveToPostgres(MOVE, options())
      expect(moved.notes.size).toBe(ENTRIES)
      const there = await openPostgresStore(
        MOVE.postgres,
        notesOptions(database.as('notes_app'), filePath),
      )
      expect(Buffer.from(there.journals.notes.rootHash())).toEqual(
        Buffer.from(moved.notes.rootHash),
      )
      expect(await there.read('SELECT id, name FROM notes.other ORDER BY id')).toEqual([
        { id: 3, name: Buffer.from('b') },
        { id: 7, name: Buffer.from('é') },
      ])
      const signed = there.journals.notes.checkpoint()
      const file = await openFile()
      expect(file.journals.notes.checkpoint()).toBe(signed)
      await file.close()
      await there.write(({ append }) => append('notes', leafHash(Buffer.from('on')), ['on']))
      const grown = there.journals.notes.checkpoint()
      await there.close()

      const back = join(folder, 'back.db')
      expect((await moveToSqlite(MOVE, options(back))).notes.size).toBe(ENTRIES + 1)
      expect(readFileSync(`${back}.notes-checkpoint`, 'utf8')).toBe(grown)
      const again = await openFile(back)
      expect(textsIn(again.database).slice(-2)).toEqual([`note ${ENTRIES - 1}`, 'on'])
      expect(
        await again.write(({ append }) => append('notes', leafHash(Buffer.from('x')), ['x'])),
      ).toBe(ENTRIES + 1)
      await again.close()
    })

    it('a file with a gap in its last page leaves nothing in the database', async () => {
      const file = await openFile()
      file.database.exec(`DELETE FROM notes WHERE at = ${ENTRIES - 2}`)
      await file.close()
      rmSync(`${filePath}.notes-checkpoint`)
      await expect(moveToPostgres(MOVE, options())).rejects.toThrow(
        `the journal of notes has gaps: entry ${ENTRIES - 2} is gone`,
      )
      expect(await stored('FROM notes.notes')).toEqual([])
      expect(await stored('FROM notes.other')).toEqual([])
      expect(await stored('size FROM notes.journals')).toEqual([{ size: '0' }])
    })

    it('entries that do not come to the head leave nothing in the database, and no file', async () => {
      await moveToPostgres(MOVE, options())
      const alter = 'SET session_replication_role = replica; UPDATE notes.notes'
      await runSql(database.owner, `${alter} SET leaf_hash = sha256('x') WHERE at = ${ENTRIES - 1}`)
      rmSync(`${filePath}.notes-checkpoint`)
      const before = readdirSync(folder)
      await expect(moveToSqlite(MOVE, options(join(folder, 'back.db')))).rejects.toThrow(
        /do not come to the head/,
      )
      expect(readdirSync(folder)).toEqual(before)
    })

    it('what a move left that was killed is no obstacle to the next', async () => {
      await moveToPostgres(MOVE, options())
      const back = join(folder, 'back.db')
      for (const end of ['', '-wal', '.notes-checkpoint'])
        writeFileSync(`${back}.moving${end}`, 'half')
      expect((await moveToSqlite(MOVE, options(back))).notes.size).toBe(ENTRIES)
      expect(readdirSync(folder).filter((name) => name.includes('moving'))).toEqual([])
    })

    it('a database or file that has something is refused, and so is a database that a process serves', async () => {
      await expect(moveToSqlite(MOVE, options())).rejects.toThrow(/notes\.db exists already/)
      await runSql(database.owner, "INSERT INTO notes.other VALUES ('x', 1)")
      await expect(moveToPostgres(MOVE, options())).rejects.toThrow('the database is not empty')
      await runSql(database.owner, 'DELETE FROM notes.other')
      const { Unavailable } = MOVE.postgres
      const own = { ...notesOptions(database.as('notes_app'), ':memory:'), Unavailable }
      const serving = await openPostgresProcess(new PostgresDoor(own), MOVE.postgres, {
        onProblem: () => undefined,
      })
      await expect(moveToPostgres(MOVE, options())).rejects.toThrow(
        /another process has this store/,
      )
      await serving.close()
      expect((await moveToPostgres(MOVE, options())).notes.size).toBe(ENTRIES)
    })
  },
)
