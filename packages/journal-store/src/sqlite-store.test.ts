import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { createKeyRing, type KeyRing } from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  COMMON_NOTES,
  LONE_NOTES,
  NOTES_ORIGIN,
  NOTES_SEED,
  type NoteCounts,
  NotesUnavailable,
  SQLITE_COUNTS,
  textsIn,
} from './notes-store.fixture.ts'
import { acceptSqliteBackup, backupSqliteStore } from './sqlite-backup.ts'
import type { SqliteKind } from './sqlite-journals.ts'
import { openSqliteStore, openSqliteStoreReader, type SqliteStoreOpening } from './sqlite-store.ts'
import { appendText, describeStore, type PlaceUnderTest } from './store.contract.ts'
import { verifyJournal } from './verify-journal.ts'

let folder: string
let databasePath: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'))
  databasePath = join(folder, 'notes.db')
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const owner = () => ({ databasePath, checkpointSeed: NOTES_SEED, origin: NOTES_ORIGIN })

const WRITER = fileURLToPath(new URL('./notes-writer.fixture.ts', import.meta.url))
const KILLS = process.env['TALLYSTICK_LONG'] === '1' ? 100 : 4

const openNotes = (
  kind: SqliteKind<'notes'>,
  over: Partial<SqliteStoreOpening<'notes', NoteCounts, string>> = {},
) => openSqliteStore(kind, { ...owner(), memory: SQLITE_COUNTS, ...over })

/** A connection of one's own, closed after `use`. */
function tinker<Result>(use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(databasePath, { timeout: 2_000 })
  try {
    return use(database)
  } finally {
    database.close()
  }
}

let backups = 0
const backupsThere = () => readdirSync(folder).filter((name) => name.includes('backup'))

async function backup(kind: SqliteKind<'notes'>) {
  const targetPath = `${databasePath}.backup-${(backups += 1)}`
  const { notes } = await backupSqliteStore(kind, { databasePath, targetPath })
  return { targetPath, entries: notes }
}

async function keep(kind: SqliteKind<'notes'>) {
  const { targetPath } = await backup(kind)
  return {
    restore: async () => {
      for (const end of ['-wal', '-shm']) rmSync(databasePath + end, { force: true })
      copyFileSync(targetPath, databasePath)
    },
  }
}

const pause = async (): Promise<void> => undefined
const iteration = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** What verifying finds in the store of several processes. */
const verify = async () => {
  const store = await openNotes(COMMON_NOTES, { checkpoint: 'unchecked' })
  const { rows } = store
  try {
    return await verifyJournal({
      checkpoint: store.checkpointFiles.notes.read(),
      rows: (from, limit) =>
        rows<readonly [number, Uint8Array, string]>(
          'SELECT at, leaf_hash, text FROM notes WHERE at >= $1 ORDER BY at LIMIT $2',
          [from, limit],
        ),
      node: async (place) =>
        (
          await rows<readonly [Uint8Array]>('SELECT hash FROM notes_nodes WHERE place = $1', [
            place,
          ])
        )[0]?.[0],
      check: ([, , text]) => (text === 'unwanted' ? 'the service says no' : undefined),
      rowsPerSlice: 100,
      pause,
    })
  } finally {
    await store.close()
  }
}

const preparePlace = (kind: SqliteKind<'notes'>): PlaceUnderTest => ({
  databasePath,
  open: (over) => openNotes(kind, over),
  texts: async () => tinker(textsIn),
  dropEntry: async (index) =>
    tinker((database) => database.exec(`DELETE FROM notes WHERE at = ${index}`)),
  alterLeaf: async (index) =>
    tinker((database) =>
      database.exec(`UPDATE notes SET leaf_hash = zeroblob(32) WHERE at = ${index}`),
    ),
  fail: ({ append }) => append('notes', new Uint8Array(32), [null]),
  keep: () => keep(kind),
  accept: async () => acceptSqliteBackup(kind, owner()).notes,
  Unavailable: NotesUnavailable,
  end: async () => undefined,
})

describeStore('SQLite, one process', async () => preparePlace(LONE_NOTES))
describeStore('SQLite, several processes', async () => preparePlace(COMMON_NOTES))

describe.each([
  ['one process', LONE_NOTES],
  ['several processes', COMMON_NOTES],
])('SQLite, %s', (heads, kind: SqliteKind<'notes'>) => {
  it(`kill -9 at ${KILLS} random moments under concurrent writes loses no acknowledged entry`, async () => {
    for (let killed = 0; killed < KILLS; killed += 1) {
      const child = spawn(process.execPath, [WRITER, databasePath, heads], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let printed = ''
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString()
      })
      const least = 1 + Math.floor(Math.random() * 400)
      while (printed.split('\n').length < least) await once(child.stdout, 'data')
      child.kill('SIGKILL')
      await once(child, 'close')
      const store = await openNotes(kind)
      expect(readdirSync(folder).filter((name) => name.endsWith('.next'))).toEqual([])
      const texts = textsIn(store.database)
      const lines = printed.split('\n').slice(0, -1)
      for (const line of lines) {
        const [at, text] = JSON.parse(line) as [number, string]
        expect(texts[at]).toBe(text)
      }
      expect(store.journals.notes.size).toBe(texts.length)
      const rootHash = Buffer.from(await store.journals.notes.rootAt(texts.length))
      expect(rootHash).toEqual(Buffer.from(store.journals.notes.rootHash()))
      await store.close()
    }
  })

  it('each commit is fsynced, also after a relaxed one; files are for their owner alone', async () => {
    const store = await openNotes(kind)
    const pragma = (name: string) =>
      Object.values(store.database.prepare(`PRAGMA ${name}`).get() ?? {})
    await appendText(store, 'one')
    await store.note('DELETE FROM writers', [])
    expect([pragma('synchronous'), pragma('journal_mode')]).toEqual([[2], ['wal']])
    await store.close()
    for (const name of readdirSync(folder))
      expect(statSync(join(folder, name)).mode & 0o077).toBe(0)
  })

  it('writes share a commit while each iteration brings more; a lone one and a relaxed one wait for nobody', async () => {
    let commits = 0
    const store = await openNotes(kind, {
      memory: { ...SQLITE_COUNTS, adopt: () => void (commits += 1) },
    })
    const writes = [appendText(store, 'one'), appendText(store, 'two')]
    for (let at = 0; at < 20; at += 1) {
      await iteration()
      expect(commits).toBe(0)
      writes.push(appendText(store, `note ${at}`))
    }
    await Promise.all(writes)
    expect(commits).toBe(1)
    await iteration()
    const lone = appendText(store, 'alone')
    await iteration()
    expect(commits).toBe(2)
    await lone
    await iteration()
    const relaxed = [1, 2].map(() => store.note('DELETE FROM writers', []))
    await iteration()
    expect(commits).toBe(3)
    await Promise.all(relaxed)
    await store.close()
  })

  it('its mark tells what others changed in the file from its own commits', async () => {
    const store = await openNotes(kind)
    const mark = store.outsideMark()
    await appendText(store, 'one')
    await store.note('DELETE FROM writers', [])
    expect(store.outsideMark()).toBe(mark)
    tinker((database) => database.exec("UPDATE notes SET text = 'two'"))
    // The change came before it, and is not its own.
    await appendText(store, 'three')
    const changed = store.outsideMark()
    expect(changed).not.toBe(mark)
    utimesSync(databasePath, 0, 0)
    expect(store.outsideMark()).not.toBe(changed)
    await store.close()
  })

  it('its mark tells what others commit right behind its own commit', async () => {
    const store = await openNotes(kind)
    const mark = store.outsideMark()
    const prepare = store.database.prepare.bind(store.database)
    vi.spyOn(store.database, 'prepare').mockImplementation((text) => {
      const statement = prepare(text)
      const all = statement.all.bind(statement)
      if (text === 'COMMIT')
        statement.all = () => {
          const rows = all()
          tinker((database) => database.exec("UPDATE notes SET text = 'two'"))
          return rows
        }
      return statement
    })
    await appendText(store, 'one')
    expect(store.outsideMark()).not.toBe(mark)
    await store.close()
  })

  it('S12: a group that cannot begin takes nothing from what earlier groups committed', async () => {
    const store = await openNotes({ ...kind, busyTimeoutMs: 1 })
    await appendText(store, 'one')
    const before = store.journals.notes.checkpoint()
    const other = new DatabaseSync(databasePath)
    other.exec('BEGIN IMMEDIATE')
    await expect(appendText(store, 'two')).rejects.toThrow(NotesUnavailable)
    other.close()
    expect(store.journals.notes.checkpoint()).toBe(before)
    expect(await appendText(store, 'two')).toBe(1)
    await store.close()
  })

  it('writers who never pause are answered too', async () => {
    const store = await openNotes(kind)
    let answered = 0
    for (let at = 0; at < 200; at += 1) {
      await iteration()
      void appendText(store, 'more').then(() => (answered += 1))
    }
    expect(answered).toBeGreaterThan(100)
    await store.close()
  })

  it('a backup of a running store has what was committed; one with a gap is none and leaves no file', async () => {
    const store = await openNotes(kind)
    await Promise.all(Array.from({ length: 40 }, (_, at) => appendText(store, `note ${at}`)))
    expect((await backup(kind)).entries).toBe(40)
    expect(await appendText(store, 'meanwhile')).toBe(40)
    tinker((database) => database.exec('DELETE FROM notes WHERE at = 7'))
    const before = backupsThere()
    await expect(backup(kind)).rejects.toThrow(/the journal of notes is incomplete/)
    expect(backupsThere()).toEqual(before)
    await store.close()
  })

  it('a backup overwrites nothing', async () => {
    await (await openNotes(kind)).close()
    const paths = { databasePath, targetPath: databasePath }
    await expect(backupSqliteStore(kind, paths)).rejects.toThrow(/overwrites nothing/)
  })
})

const ring = (id: string, fill: number): KeyRing =>
  createKeyRing({ activeId: id, keys: [{ id, key: new Uint8Array(32).fill(fill) }] })
const openSealed = (keyRing?: KeyRing) => openNotes(LONE_NOTES, { keyRing })

describe('one process', () => {
  it('a second one is refused, a reader is not and sees one moment', async () => {
    const store = await openNotes(LONE_NOTES)
    await appendText(store, 'one')
    await expect(openNotes(LONE_NOTES)).rejects.toThrow(/another process has this store open/)
    const reader = await openSqliteStoreReader(LONE_NOTES, owner())
    const note = reader.journals.notes.checkpoint()
    await appendText(store, 'two')
    expect(textsIn(reader.database)).toEqual(['one'])
    expect(reader.journals.notes.checkpoint()).toBe(note)
    await reader.close()
    await store.close()
  })

  it('is sealed from its first entry or never, and opens only with the key that it names', async () => {
    await (await openSealed(ring('k1', 1))).close()
    await expect(openSealed()).rejects.toThrow(/sealed values, and NOTE_KEYS is not set/)
    await expect(openSealed(ring('k2', 1))).rejects.toThrow(
      /"k1", which the box of keys does not have/,
    )
    await expect(openSealed(ring('k1', 2))).rejects.toThrow(
      /"k1" in the box of keys is not the one/,
    )
    tinker((database) => database.exec('DELETE FROM seal_keys'))
    const clear = await openSealed()
    await appendText(clear, 'in the clear')
    await clear.close()
    await expect(openSealed(ring('k1', 1))).rejects.toThrow(/sealed from its first entry or never/)
    await (await openSealed()).close()
  })
})

describe('several processes', () => {
  it('each sees what the others wrote, and the tree has no fork', async () => {
    const [first, second] = [await openNotes(COMMON_NOTES), await openNotes(COMMON_NOTES)]
    for (let count = 0; count < 300; count += 1)
      expect(await appendText(count % 2 === 0 ? first : second, `note ${count}`)).toBe(count)
    await first.catchUp()
    expect(first.journals.notes.rootHash()).toEqual(second.journals.notes.rootHash())
    expect(await first.journals.notes.rootAt(300)).toEqual(first.journals.notes.rootHash())
    await first.close()
    await second.close()
  })

  it('one that another process has locked for long opens and is read; a new one is the service’s own error', async () => {
    const store = await openNotes(COMMON_NOTES)
    await appendText(store, 'one')
    await store.close()
    const paths = [databasePath, join(folder, 'new')]
    const others = paths.map((path) => new DatabaseSync(path))
    for (const other of others) other.exec('BEGIN IMMEDIATE')
    const [there, empty] = paths.map((path) =>
      openNotes({ ...COMMON_NOTES, busyTimeoutMs: 1 }, { databasePath: path }),
    )
    await expect(empty).rejects.toThrow(NotesUnavailable)
    const reader = await there
    expect(reader?.journals.notes.size).toBe(1)
    for (const other of others) other.close()
    await reader?.close()
  })

  it.each([
    ['nothing', '', { kind: 'intact', size: 520 }],
    ['a text', "UPDATE notes SET text = 'altered' WHERE at = 7", { kind: 'broken', index: 7 }],
    ['an entry', 'DELETE FROM notes WHERE at = 300', { kind: 'broken', index: 300 }],
    ['the tail', 'DELETE FROM notes WHERE at >= 500', { kind: 'broken', index: 500 }],
    ['a node', 'UPDATE notes_nodes SET hash = zeroblob(32)', { kind: 'broken', index: 255 }],
  ])('verifying finds %s that was altered or taken', async (_what, sql, verdict) => {
    const store = await openNotes(COMMON_NOTES)
    await Promise.all(Array.from({ length: 520 }, (_, at) => appendText(store, `note ${at}`)))
    await store.close()
    tinker((database) => database.exec(sql))
    expect(await verify()).toMatchObject(verdict)
  })

  it('verifying asks the service for its word on each entry', async () => {
    const store = await openNotes(COMMON_NOTES)
    await appendText(store, 'wanted')
    await appendText(store, 'unwanted')
    await store.close()
    expect(await verify()).toEqual({ kind: 'broken', index: 1, problem: 'the service says no' })
  })
})
