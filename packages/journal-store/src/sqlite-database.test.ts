import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test } from 'vitest'
import { applyMigrations } from './sqlite-database.ts'

const endings: (() => void)[] = []

afterEach(() => {
  for (const end of endings.splice(0).toReversed()) end()
})

function newFile(): () => DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), 'grading-migrations-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return () => {
    const database = new DatabaseSync(join(folder, 'a.db'))
    endings.push(() => database.close())
    return database
  }
}

const KIND = {
  applicationId: 0x54616c47,
  migrations: ['CREATE TABLE one (id)', 'CREATE TABLE two (id)'],
}

const tablesOf = (database: DatabaseSync) =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => name)

test('an empty file gets every migration, an older one those that it lacks, a current one none', () => {
  const open = newFile()
  applyMigrations(open(), { ...KIND, migrations: KIND.migrations.slice(0, 1) })
  expect(tablesOf(open())).toEqual(['one'])
  applyMigrations(open(), KIND)
  applyMigrations(open(), KIND)
  expect(tablesOf(open())).toEqual(['one', 'two'])
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
  expect(tablesOf(open())).toEqual(['one', 'two'])
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
