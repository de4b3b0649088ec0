// What an acknowledged write survives (C14), proved with real processes, real signals and real files.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, readSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSqliteStore } from '@tallystick/journal-store'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CareRecord } from '../domain/care-record.ts'
import { intactVersions, TEA } from '../domain/record-store.fixture.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { verifyExport } from '../domain/verify-export.ts'
import { AUDIENCES } from '../wire/records.ts'
import { CLEAR_SEALS } from './chain-keys.ts'
import { rememberRecords } from './record-memory.ts'
import { sqliteSource } from './record-sql.ts'
import { createRecordWriter } from './record-writer.ts'
import { RECORDS } from './sqlite-record-database.ts'
import { makeStoreFolder, type StoreFolder } from './sqlite-store.fixture.ts'
import { storeRecord, TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'

/** Each costs the start of a process. A fault that one kill in thirty shows escapes one long run in thirty. */
const KILLS = process.env.TALLYSTICK_LONG === '1' ? 100 : 5
/** A store is verified whole after every kill: it shall not grow for ever. */
const KILLS_PER_STORE = 5
/** At most so many acknowledged writes are waited for before a kill, at least none. */
const ACKNOWLEDGED_BEFORE_KILL = 9
const WRITER = fileURLToPath(new URL('./store-process.fixture.ts', import.meta.url))

const hasStrace = spawnSync('strace', ['-V']).status === 0

describe('C14: a 200 from /write means fsynced', () => {
  let folder: StoreFolder
  let children: ChildProcess[]
  beforeEach(() => {
    folder = makeStoreFolder()
    children = []
  })
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
    folder.remove()
  })

  const startWriter = (...options: readonly string[]) => {
    const child = spawn(process.execPath, [WRITER, folder.databasePath, ...options], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let printed = ''
    let complained = ''
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      complained += chunk.toString()
    })
    return {
      child,
      output: () => printed,
      complaint: () => complained,
      acknowledged: (): readonly CareRecord[] =>
        printed
          .split('\n')
          .slice(1, -1)
          .map((line) => JSON.parse(line) as CareRecord),
    }
  }
  /** Kills writers of one store, each of which finds it as the last one left it. */
  const killRepeatedly = async (): Promise<number> => {
    let acknowledgedInAll = 0
    for (let round = 0; round < KILLS_PER_STORE; round += 1) {
      const writer = startWriter('8')
      // Some writes are waited for, and the moment is random from there: on a busy machine no time alone is sure to see one.
      const least = Math.floor(Math.random() * ACKNOWLEDGED_BEFORE_KILL)
      do await once(writer.child.stdout, 'data')
      while (writer.acknowledged().length < least)
      await new Promise((resolve) => {
        setTimeout(resolve, Math.random() * 60)
      })
      writer.child.kill('SIGKILL')
      await once(writer.child, 'close')
      expect(writer.complaint()).toBe('')
      const store = await folder.open()
      const acknowledged = writer.acknowledged()
      for (const record of acknowledged) {
        const read = await store.version(record, record.version)
        if (read.kind !== 'found' || read.record.versionHash !== record.versionHash)
          throw new Error(`acknowledged and lost in round ${round}: ${JSON.stringify(record)}`)
      }
      acknowledgedInAll += acknowledged.length
      expect(await intactVersions(store)).toBeGreaterThanOrEqual(acknowledgedInAll)
      await store.close()
    }
    const store = await folder.open()
    const report = await verifyExport(store.exportLines({ audiences: AUDIENCES }))
    expect(report.isIntact).toBe(true)
    await store.close()
    return acknowledgedInAll
  }

  it(`kill -9 at ${KILLS} random moments under concurrent writes loses no acknowledged write and shows no torn one`, async () => {
    for (let killed = 0; killed < KILLS; killed += KILLS_PER_STORE) {
      folder.remove()
      folder = makeStoreFolder()
      expect(await killRepeatedly()).toBeGreaterThan(KILLS_PER_STORE)
    }
  })

  it('PRAGMA synchronous reads 2 and the journal mode is WAL, also after a note without fsync', async () => {
    const { databasePath } = folder
    const owner = { databasePath, checkpointSeed: TEST_SEED, origin: TEST_ORIGIN }
    const clock = manualClock(0)
    const memory = rememberRecords(sqliteSource, clock)
    const store = await openSqliteStore(RECORDS, { ...owner, memory })
    const { database } = store
    const writer = createRecordWriter(
      { ...store, source: sqliteSource(store.rows) },
      { seals: CLEAR_SEALS, clock },
    )
    const request = { mac: 'aa', expiresAtMs: 9e15 }
    await writer.append(storeRecord(), request)
    await writer.noteSubscribers(request, 1)
    // Of the very connection that writes: another one has a setting of its own.
    expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    await store.close()
  })

  /** How often the write-ahead log was synced by a process that wrote so much. */
  const walSyncs = async (writers: number, writesEach: number): Promise<number> => {
    const trace = `${folder.databasePath}.trace`
    await promisify(execFile)('strace', [
      '-fyo',
      trace,
      '-etrace=fsync,fdatasync',
      process.execPath,
      WRITER,
      folder.databasePath,
      String(writers),
      String(writesEach),
    ])
    const syncs = readFileSync(trace, 'utf8').match(/f(data)?sync\(\d+<[^>]*-wal>/g)
    return syncs?.length ?? 0
  }

  it.skipIf(!hasStrace)(
    `strace counts at least one fsync per commit${hasStrace ? '' : ' (skipped: strace is absent)'}`,
    async () => {
      expect(await walSyncs(1, 60)).toBeGreaterThanOrEqual(60)
    },
  )

  it.skipIf(!hasStrace)(
    `concurrent writes share one commit${hasStrace ? '' : ' (skipped: strace is absent)'}`,
    async () => {
      // 640 writes, 64 at a time: ten commits, and what opening and closing sync.
      expect(await walSyncs(64, 10)).toBeLessThan(40)
    },
  )

  it('a torn tail of the write-ahead log is left out, and what was acknowledged before it is there', async () => {
    const writer = startWriter('1')
    await once(writer.child.stdout, 'data')
    while (writer.acknowledged().length < 5) await once(writer.child.stdout, 'data')
    writer.child.kill('SIGKILL')
    await once(writer.child, 'close')
    const wal = `${folder.databasePath}-wal`
    const { size } = statSync(wal)
    // A commit that was being written when the power went: half a frame of garbage behind the last whole one.
    writeFileSync(wal, Buffer.alloc(2_000, 0x5a), { flag: 'a' })
    const store = await folder.open()
    for (const record of writer.acknowledged())
      expect(await store.version(record, record.version)).toMatchObject({ kind: 'found', record })
    await intactVersions(store)
    await store.close()
    expect(size).toBeGreaterThan(4_096)
  })

  it('a tail cut out of the write-ahead log behind the signed checkpoint is refused, not hidden', async () => {
    const store = await folder.open()
    for (const value of ['one', 'two', 'three']) await store.append(storeRecord({ value }))
    // Copied while it is open, so that the log still holds everything.
    const copy = makeStoreFolder()
    for (const end of ['', '-wal', '.user-checkpoint', '.assistant-checkpoint']) {
      await expect
        .poll(() => readFileSync(`${folder.databasePath}.user-checkpoint`, 'utf8').split('\n')[1])
        .toBe('3')
      writeFileSync(`${copy.databasePath}${end}`, readFileSync(`${folder.databasePath}${end}`))
    }
    const { size } = statSync(`${copy.databasePath}-wal`)
    truncateSync(`${copy.databasePath}-wal`, size - 4_000)
    await expect(copy.open()).rejects.toThrow(/last signed checkpoint counts 3 entries, 2 of them/)
    await store.close()
    copy.remove()
  })

  it('a full disk: the write is refused, nothing of it is there, and the next one after space was made is accepted', async () => {
    const store = await folder.open({ pagesMax: 24 })
    let written = 0
    const fill = async (): Promise<void> => {
      for (; written < 200; written += 1)
        await store.append(storeRecord({ value: `${written} ${'x'.repeat(2_000)}` }))
    }
    await expect(fill()).rejects.toThrow(RecordStoreUnavailable)
    expect(await intactVersions(store)).toBe(written)
    expect(await store.latest(TEA)).toMatchObject({ latestVersion: written })
    await expect(store.append(storeRecord({ value: 'y'.repeat(90_000) }))).rejects.toThrow(
      /nothing was written/,
    )
    await store.close()
    const roomier = await folder.open()
    expect(await roomier.append(storeRecord({ value: 'after' }))).toMatchObject({
      kind: 'appended',
      record: { version: written + 1 },
    })
    expect((await roomier.journals.user.checkpoint()).split('\n')[1]).toBe(String(written + 1))
    await roomier.close()
  })

  it('two processes on one store: the second is refused at once with a clear error, readers are not', async () => {
    const store = await folder.open()
    await store.append(storeRecord())
    await expect(folder.open()).rejects.toThrow(/another process has this store open/)
    const second = startWriter('1')
    await once(second.child, 'close')
    expect(second.complaint()).toContain('another process has this store open')
    expect(
      folder.tinker((database) => database.prepare('SELECT * FROM chains').all()),
    ).toHaveLength(1)
    await store.close()
  })

  it('the lock ends with its process, also by kill -9', async () => {
    const writer = startWriter('1')
    await once(writer.child.stdout, 'data')
    await expect(folder.open()).rejects.toThrow(/another process has this store open/)
    writer.child.kill('SIGKILL')
    await once(writer.child, 'close')
    await (await folder.open()).close()
  })

  it('the checkpoint file follows every commit and is the journal’s own when the store is closed', async () => {
    const store = await folder.open()
    const sizeOnDisk = () => {
      const file = openSync(`${folder.databasePath}.user-checkpoint`, 'r')
      const text = Buffer.alloc(500)
      readSync(file, text)
      return Number(text.toString().split('\n')[1])
    }
    expect(sizeOnDisk()).toBe(0)
    await Promise.all(Array.from({ length: 30 }, () => store.append(storeRecord())))
    await expect.poll(sizeOnDisk).toBe(30)
    await store.append(storeRecord())
    await store.close()
    expect(sizeOnDisk()).toBe(31)
  })

  it('a closed store takes nothing more', async () => {
    const store = await folder.open()
    const request = { mac: 'aa', expiresAtMs: 9e15 }
    await store.append(storeRecord(), request)
    await store.close()
    await expect(store.append(storeRecord())).rejects.toThrow(RecordStoreUnavailable)
    await expect(store.noteSubscribers(request, 1)).rejects.toThrow(RecordStoreUnavailable)
  })
})
