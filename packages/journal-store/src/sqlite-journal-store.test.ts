import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { createKeyRing, type KeyRing } from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendText, describeJournalStore, type PlaceUnderTest } from './journal-store.contract.ts'
import {
  COUNTED_NOTES,
  NOTES_ORIGIN,
  NOTES_SEED,
  NotesUnavailable,
  SHARED_NOTES,
  textsIn,
} from './notes-store.fixture.ts'
import { acceptSqliteBackup, backupSqliteStore } from './sqlite-backup.ts'
import { prepareQuery } from './sqlite-database.ts'
import { openSqliteJournalReader, openSqliteJournalStore } from './sqlite-journal-store.ts'
import type { SqliteStoreKind } from './sqlite-store-kind.ts'
import { verifyJournal } from './verify-journal.ts'

const WRITER = fileURLToPath(new URL('./notes-writer.fixture.ts', import.meta.url))
const KILLS = process.env['TALLYSTICK_LONG'] === '1' ? 100 : 4

let folder: string
let databasePath: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'journal-store-'))
  databasePath = join(folder, 'notes.db')
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const owner = () => ({ databasePath, checkpointSeed: NOTES_SEED, origin: NOTES_ORIGIN })
const openNotes = (kind: SqliteStoreKind<'notes'>) => openSqliteJournalStore(kind, owner())

/** A connection of one's own, closed after `use`. */
function tinker<Result>(use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(databasePath, { timeout: 2_000 })
  try {
    return use(database)
  } finally {
    database.close()
  }
}

const pause = async (): Promise<void> => undefined
const iteration = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** What verifying finds in the store of several processes. */
const verify = () => {
  const store = openSqliteJournalStore<'notes'>(SHARED_NOTES, {
    ...owner(),
    checkpoint: 'unchecked',
  })
  const { database } = store
  const rows = prepareQuery<readonly [number, Uint8Array, string]>(
    database,
    'SELECT at, leaf, text FROM notes WHERE at >= ? ORDER BY at LIMIT ?',
  )
  return verifyJournal({
    checkpoint: store.checkpointFiles.notes.read(),
    rows: (from, limit) => rows.all(from, limit),
    node: (place) =>
      database.prepare('SELECT hash FROM tree_nodes WHERE place = ?').get(place)?.[
        'hash'
      ] as Uint8Array,
    check: ([, , text]) => (text === 'unwanted' ? 'the service says no' : undefined),
    rowsPerSlice: 100,
    pause,
  }).finally(() => store.close())
}

let backups = 0
const backupsThere = () => readdirSync(folder).filter((name) => name.includes('backup'))

async function backup(kind: SqliteStoreKind<'notes'>) {
  const targetPath = `${databasePath}.backup-${(backups += 1)}`
  const { notes } = await backupSqliteStore(kind, { databasePath, targetPath })
  return { targetPath, entries: notes }
}

async function keep(kind: SqliteStoreKind<'notes'>) {
  const { targetPath } = await backup(kind)
  return {
    restore: async () => {
      for (const end of ['-wal', '-shm']) rmSync(databasePath + end, { force: true })
      copyFileSync(targetPath, databasePath)
    },
  }
}

const placeOf = (kind: SqliteStoreKind<'notes'>, altered: string): PlaceUnderTest => ({
  databasePath,
  open: async (over = {}) => openSqliteJournalStore(kind, { ...owner(), ...over }),
  texts: async () => tinker(textsIn),
  dropEntry: async (index) =>
    tinker((database) => database.exec(`DELETE FROM notes WHERE at = ${index}`)),
  alterLeaf: async (index) =>
    tinker((database) => database.exec(`UPDATE notes SET leaf = ${altered} WHERE at = ${index}`)),
  fail: ({ journals }) => journals.notes.append(new Uint8Array(32), [null as unknown as string]),
  keep: () => keep(kind),
  accept: async () => acceptSqliteBackup(kind, owner()).notes,
  Unavailable: NotesUnavailable,
  end: async () => undefined,
})

describeJournalStore('SQLite, counted heads', async () =>
  placeOf(COUNTED_NOTES, `'${'ab'.repeat(32)}'`),
)
describeJournalStore('SQLite, stored heads', async () => placeOf(SHARED_NOTES, 'zeroblob(32)'))

describe.each([
  ['counted', COUNTED_NOTES],
  ['stored', SHARED_NOTES],
])('%s heads', (heads, kind: SqliteStoreKind<'notes'>) => {
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
      const store = openNotes(kind)
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
    const store = openNotes(kind)
    const pragma = (name: string) =>
      Object.values(store.database.prepare(`PRAGMA ${name}`).get() ?? {})
    await appendText(store, 'one')
    await store.write(() => undefined, 'relaxed')
    expect([pragma('synchronous'), pragma('journal_mode')]).toEqual([[2], ['wal']])
    await store.close()
    for (const name of readdirSync(folder))
      expect(statSync(join(folder, name)).mode & 0o077).toBe(0)
  })

  it('writes share a commit while each iteration brings more; a lone one and a relaxed one wait for nobody', async () => {
    let commits = 0
    const beforeCommit = (): void => void (commits += 1)
    const store = openSqliteJournalStore<'notes'>(kind, { ...owner(), beforeCommit })
    const writes = [appendText(store, 'one'), appendText(store, 'two')]
    for (let at = 0; at < 20; at += 1) {
      await iteration()
      expect(commits).toBe(0)
      writes.push(appendText(store, `note ${at}`))
    }
    await Promise.all(writes)
    expect(commits).toBe(1)
    const lone = appendText(store, 'alone')
    await iteration()
    expect(commits).toBe(2)
    const relaxed = [1, 2].map(() => store.write(() => undefined, 'relaxed'))
    await iteration()
    expect(commits).toBe(3)
    await Promise.all([lone, ...relaxed])
    await store.close()
  })

  it('S12: a group that cannot begin takes nothing from what earlier groups committed', async () => {
    const store = openNotes({ ...kind, busyTimeoutMs: 1 })
    await appendText(store, 'one')
    const before = store.checkpoint('notes')
    const other = new DatabaseSync(databasePath)
    other.exec('BEGIN IMMEDIATE')
    await expect(appendText(store, 'two')).rejects.toThrow(NotesUnavailable)
    other.close()
    expect(store.checkpoint('notes')).toBe(before)
    expect(await appendText(store, 'two')).toBe(1)
    await store.close()
  })

  it('writers who never pause are answered too', async () => {
    const store = openNotes(kind)
    let answered = 0
    for (let at = 0; at < 200; at += 1) {
      await iteration()
      void appendText(store, 'more').then(() => (answered += 1))
    }
    expect(answered).toBeGreaterThan(100)
    await store.close()
  })

  it('a backup of a running store has what was committed; one with a gap is none and leaves no file', async () => {
    const store = openNotes(kind)
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
    await openNotes(kind).close()
    const paths = { databasePath, targetPath: databasePath }
    await expect(backupSqliteStore(kind, paths)).rejects.toThrow(/overwrites nothing/)
  })
})

const ring = (id: string, fill: number): KeyRing =>
  createKeyRing({ activeId: id, keys: [{ id, key: new Uint8Array(32).fill(fill) }] })
const openSealed = (keyRing?: KeyRing) =>
  openSqliteJournalStore<'notes'>(COUNTED_NOTES, { ...owner(), keyRing })

describe('counted heads, one process', () => {
  it('a second one is refused, a reader is not and sees one moment', async () => {
    const store = openNotes(COUNTED_NOTES)
    await appendText(store, 'one')
    expect(() => openNotes(COUNTED_NOTES)).toThrow(/another process has this store open/)
    const reader = openSqliteJournalReader<'notes'>(COUNTED_NOTES, owner())
    const note = reader.checkpoint('notes')
    await appendText(store, 'two')
    expect(textsIn(reader.database)).toEqual(['one'])
    expect(reader.checkpoint('notes')).toBe(note)
    reader.close()
    await store.close()
  })

  it('is sealed from its first entry or never, and opens only with the key that it names', async () => {
    await openSealed(ring('k1', 1)).close()
    expect(() => openSealed()).toThrow(/sealed values, and NOTE_KEYS is not set/)
    expect(() => openSealed(ring('k2', 1))).toThrow(/"k1", which the box of keys does not have/)
    expect(() => openSealed(ring('k1', 2))).toThrow(/"k1" in the box of keys is not the one/)
    tinker((database) => database.exec('DELETE FROM seal_keys'))
    const clear = openSealed()
    await appendText(clear, 'in the clear')
    await clear.close()
    expect(() => openSealed(ring('k1', 1))).toThrow(/sealed from its first entry or never/)
    await openSealed().close()
  })
})

describe('stored heads, several processes', () => {
  it('each sees what the others wrote, and the tree has no fork', async () => {
    const [one, other] = [openNotes(SHARED_NOTES), openNotes(SHARED_NOTES)]
    for (let count = 0; count < 300; count += 1)
      expect(await appendText(count % 2 === 0 ? one : other, `note ${count}`)).toBe(count)
    one.catchUp()
    expect(one.journals.notes.rootHash()).toEqual(other.journals.notes.rootHash())
    expect(one.journals.notes.rootAt(300)).toEqual(one.journals.notes.rootHash())
    await one.close()
    await other.close()
  })

  it.each([
    ['nothing', '', { kind: 'intact', size: 520 }],
    ['a text', "UPDATE notes SET text = 'altered' WHERE at = 7", { kind: 'broken', index: 7 }],
    ['an entry', 'DELETE FROM notes WHERE at = 300', { kind: 'broken', index: 300 }],
    ['the tail', 'DELETE FROM notes WHERE at >= 500', { kind: 'broken', index: 500 }],
    ['a node', 'UPDATE tree_nodes SET hash = zeroblob(32)', { kind: 'broken', index: 255 }],
  ])('verifying finds %s that was altered or taken', async (_what, sql, verdict) => {
    const store = openNotes(SHARED_NOTES)
    await Promise.all(Array.from({ length: 520 }, (_, at) => appendText(store, `note ${at}`)))
    await store.close()
    tinker((database) => database.exec(sql))
    expect(await verify()).toMatchObject(verdict)
  })

  it('verifying asks the service for its word on each entry', async () => {
    const store = openNotes(SHARED_NOTES)
    await appendText(store, 'wanted')
    await appendText(store, 'unwanted')
    await store.close()
    expect(await verify()).toEqual({ kind: 'broken', index: 1, problem: 'the service says no' })
  })
})
