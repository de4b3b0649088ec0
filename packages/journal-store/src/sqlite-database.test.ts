import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test } from 'vitest'
import { applyMigrations, openSqliteFile } from './sqlite-database.ts'

const endings: (() => void)[] = []

afterEach(() => {
  for (const end of endings.splice(0).toReversed()) end()
})

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grading-migrations-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'a.db')
}

function newFile(): () => DatabaseSync {
  const path = newPath()
  return () => {
    const database = new DatabaseSync(path)
    endings.push(() => database.close())
    return database
  }
}

const KIND = {
  applicationId: 0x54616c47,
  migrations: ['CREATE TABLE one (id)', 'CREATE TABLE two (id)'],
}

const listTables = (database: DatabaseSync) =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => name)

test('S8: an empty file gets every migration, an older one those that it lacks, a current one none', () => {
  const open = newFile()
  applyMigrations(open(), { ...KIND, migrations: KIND.migrations.slice(0, 1) })
  expect(listTables(open())).toEqual(['one'])
  applyMigrations(open(), KIND)
  applyMigrations(open(), KIND)
  expect(listTables(open())).toEqual(['one', 'two'])
})

test('where another process is first, between the look and the lock, nothing is made twice', () => {
  const open = newFile()
  const [slow, fast] = [open(), open()]
  let isFirst = true
  applyMigrations(
    {
      prepare: (sql) => slow.prepare(sql),
      exec: (sql) => {
        if (isFirst) applyMigrations(fast, KIND)
        isFirst = false
        slow.exec(sql)
      },
    },
    KIND,
  )
  expect(listTables(open())).toEqual(['one', 'two'])
  // A transaction that was left open would not let anybody write.
  fast.exec('INSERT INTO two VALUES (1)')
})

test('another program’s file and a newer one are refused', () => {
  const theirs = newFile()()
  theirs.exec('CREATE TABLE theirs (id)')
  expect(() => applyMigrations(theirs, KIND)).toThrow('another program')
  const newer = newFile()()
  applyMigrations(newer, { ...KIND, migrations: [...KIND.migrations, 'CREATE TABLE three (id)'] })
  expect(() => applyMigrations(newer, KIND)).toThrow('its schema 3 is newer')
})

test('a new file has pages of its kind’s size; one that is there keeps its own', () => {
  const path = newPath()
  const opened = (pageBytes?: number) => {
    const sized = pageBytes === undefined ? {} : { pageBytes }
    const database = openSqliteFile(path, {
      ...KIND,
      busyTimeoutMs: 0,
      Unavailable: Error,
      ...sized,
    })
    const { page_size: size } = database.prepare('PRAGMA page_size').get() ?? {}
    database.close()
    return size
  }
  expect(opened(16_384)).toBe(16_384)
  expect(opened(4_096)).toBe(16_384)
  expect(opened()).toBe(16_384)
})
