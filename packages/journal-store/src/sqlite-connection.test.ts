import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants } from 'node:sqlite'
import { afterEach, expect, test } from 'vitest'
import type { SqlQuery } from './sql-connection.ts'
import { askOn, SqliteConnection } from './sqlite-connection.ts'
import { openSqliteFile } from './sqlite-database.ts'

class NotesUnavailable extends Error {}

const KIND = {
  applicationId: 1,
  migrations: ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT'],
  busyTimeoutMs: 5_000,
  Unavailable: NotesUnavailable,
}
const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

function connect(path: string): SqliteConnection {
  const connection = new SqliteConnection(openSqliteFile(path, KIND), NotesUnavailable)
  endings.unshift(() => connection.end())
  return connection
}

function folderPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rows-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'notes.db')
}

const ADD = 'INSERT INTO notes (text) VALUES ($1)'
const ALL = 'SELECT text FROM notes ORDER BY id'

test('a read asked during a transaction sees all of it or nothing', async () => {
  const rows = connect(folderPath())
  const adding = rows.transaction(async (query) => {
    for (const text of ['one', 'two']) await query(ADD, [text])
  })
  expect(await rows.read(ALL)).toEqual([{ text: 'one' }, { text: 'two' }])
  await adding
})

test('two connections of one process to one file wait for each other, not for the busy timeout', async () => {
  const path = folderPath()
  const [first, second] = [connect(path), connect(path)]
  const add = (rows: SqliteConnection, text: string) =>
    rows.transaction(async (query) => {
      await query(ALL)
      await query(ADD, [text])
    }, 'relaxed')
  await Promise.all([add(first, 'a'), add(second, 'b'), add(first, 'c')])
  expect(await second.read(ALL)).toEqual([{ text: 'a' }, { text: 'b' }, { text: 'c' }])
})

test('a run that throws leaves nothing behind, and a statement that comes later is refused', async () => {
  const rows = connect(folderPath())
  let late: SqlQuery | undefined
  const failing = rows.transaction(async (query) => {
    await query(ADD, ['lost'])
    late = query
    throw new TypeError('a bug')
  })
  await expect(failing).rejects.toThrow(TypeError)
  await expect(late?.(ADD, ['late'])).rejects.toThrow(/within its transaction/)
  expect(await rows.read(ALL)).toEqual([])
})

test('what SQLite refuses, and whatever comes after the end, is the service’s own error', async () => {
  const rows = connect(folderPath())
  await expect(rows.read('SELECT nothing')).rejects.toThrow(NotesUnavailable)
  await expect(rows.transaction((query) => query(ADD, [null]))).rejects.toThrow(NotesUnavailable)
  await rows.end()
  await expect(rows.read(ALL)).rejects.toThrow(new NotesUnavailable('the store is closed'))
})

test('a statement is planned once, whatever values it is asked with', () => {
  const database = openSqliteFile(folderPath(), KIND)
  endings.unshift(() => database.close())
  database.exec('CREATE INDEX notes_by_text ON notes (text)')
  const ask = askOn(database)
  const askAll = (text: string, limit: number): void => {
    ask('SELECT max(id) FROM notes WHERE text = $1', [text])
    ask('SELECT b.id FROM notes a JOIN notes b ON b.id = a.id WHERE a.text = $1 LIMIT $2', [
      text,
      limit,
    ])
  }
  let planned = 0
  // SQLite asks for leave whenever it plans.
  database.setAuthorizer(() => {
    planned += 1
    return constants.SQLITE_OK
  })
  askAll('one', 1)
  const afterFirst = planned
  expect(afterFirst).toBeGreaterThan(0)
  askAll('two', 2)
  expect(planned).toBe(afterFirst)
})
