// What opening refuses and what it takes: locks, keys, checkpoints, restored backups; and the commands' side of it.
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { createKeyRing, parseKeyRing } from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collect } from '../domain/record-store.contract.ts'
import { type RecordStore, RecordStoreUnavailable } from '../domain/record-store.ts'
import { verifyExport } from '../domain/verify-export.ts'
import { openSqliteRecordReader } from './sqlite-record-reader.ts'
import { resealRecords } from './sqlite-reseal.ts'
import { makeStoreFolder, type StoreFolder, testKeyRing } from './sqlite-store.fixture.ts'
import { storeRecord, TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'
import { acceptBackup } from './store-accept-backup.ts'
import { backupRecords } from './store-backup.ts'
import { loadCheckpointSeed } from './store-checkpoint-key.ts'

const TEA = { patient: 'ann', domain: 'tea', audience: 'user' } as const
const BOTH = ['user', 'assistant'] as const

let folder: StoreFolder
beforeEach(() => {
  folder = makeStoreFolder()
})
afterEach(() => {
  folder.remove()
})

const write = async (store: RecordStore, ...values: readonly string[]): Promise<void> => {
  for (const value of values) await store.append(storeRecord({ value }))
}
const fill = async (...values: readonly string[]): Promise<void> => {
  const store = folder.open()
  await write(store, ...values)
  await store.close()
}
const isIntact = async (store: Pick<RecordStore, 'verify' | 'exportLines'>): Promise<boolean> => {
  const verdicts = await collect(store.verify({ audiences: BOTH }))
  const report = await verifyExport(store.exportLines({ audiences: BOTH }))
  return report.isIntact && verdicts.every(({ intact }) => intact)
}
const forAudit = () => ({
  databasePath: folder.databasePath,
  checkpointSeed: TEST_SEED,
  origin: TEST_ORIGIN,
})
/** Puts a backup in the place of the records, as an operator would. */
const restore = (path: string): void => {
  for (const end of ['-wal', '-shm']) rmSync(`${folder.databasePath}${end}`, { force: true })
  copyFileSync(path, folder.databasePath)
}

describe('S8, C9: backups and checkpoints', () => {
  it('a backup older than the last signed checkpoint is refused, and accepted after the command', async () => {
    const store = folder.open()
    await write(store, 'one', 'two')
    const targetPath = `${folder.databasePath}.backup`
    expect(await backupRecords({ databasePath: folder.databasePath, targetPath })).toEqual({
      user: 2,
      assistant: 0,
    })
    await write(store, 'three')
    await store.close()
    restore(targetPath)
    expect(() => folder.open()).toThrow(/checkpoint counts 3 entries, 2 of them/)
    expect(() => openSqliteRecordReader(forAudit())).toThrow(RecordStoreUnavailable)
    expect(acceptBackup(forAudit())).toEqual([
      { audience: 'user', size: 2, signedSize: 3 },
      { audience: 'assistant', size: 0, signedSize: 0 },
    ])
    const restored = folder.open()
    expect(await restored.latest(TEA)).toMatchObject({ record: { value: 'two' } })
    expect(await isIntact(restored)).toBe(true)
    await restored.close()
  })

  it('a backup overwrites nothing', async () => {
    await fill('one')
    await expect(
      backupRecords({ databasePath: folder.databasePath, targetPath: folder.databasePath }),
    ).rejects.toThrow(/exists already/)
  })

  it('a journal of the same length that does not hash to the checkpoint is refused', async () => {
    await fill('one', 'two')
    folder.tinker((database) =>
      database.exec(
        `UPDATE user_versions SET leaf_hash = '${'ab'.repeat(32)}' WHERE leaf_index = 0`,
      ),
    )
    expect(() => folder.open()).toThrow(/do not hash to its last signed checkpoint at 2/)
  })

  it('a journal with a gap is refused, also by the command', async () => {
    await fill('one', 'two', 'three')
    folder.tinker((database) => database.exec('DELETE FROM user_versions WHERE leaf_index = 1'))
    expect(() => folder.open()).toThrow(/counts 3 entries, 1 of them/)
    expect(() => acceptBackup(forAudit())).toThrow(/has gaps/)
  })

  it('entries behind the checkpoint, from a commit whose checkpoint was not written any more, are taken', async () => {
    await fill('one')
    const path = `${folder.databasePath}.user-checkpoint`
    const older = readFileSync(path)
    await fill('two')
    writeFileSync(path, older)
    const store = folder.open()
    expect(await store.latest(TEA)).toMatchObject({ latestVersion: 2 })
    await store.close()
    expect(readFileSync(path, 'utf8').split('\n')[1]).toBe('2')
  })

  it('a checkpoint that is gone, altered, of the other journal or by another key refuses the store', async () => {
    await fill('one')
    const path = `${folder.databasePath}.user-checkpoint`
    const note = readFileSync(path, 'utf8')
    expect(() => folder.open({ checkpointSeed: new Uint8Array(32).fill(1) })).toThrow(/not signed/)
    writeFileSync(path, note.replace('\n1\n', '\n0\n'))
    expect(() => folder.open()).toThrow(/not signed by this store’s checkpoint key, or was altered/)
    copyFileSync(`${folder.databasePath}.assistant-checkpoint`, path)
    expect(() => folder.open()).toThrow(/not signed/)
    writeFileSync(path, '')
    expect(() => folder.open()).toThrow(/not signed/)
    rmSync(path)
    expect(() => folder.open()).toThrow(/there is no checkpoint of it/)
    writeFileSync(path, note)
    await folder.open().close()
  })

  it('a service whose address changed opens its store', async () => {
    await fill('one')
    const store = folder.open({ origin: 'elsewhere.test/care' })
    expect((await store.checkpoint('user')).split('\n')[0]).toBe('elsewhere.test/care/user')
    await store.close()
  })

  it('a generated checkpoint key is kept, readable by its owner only; a damaged one is refused', () => {
    const { databasePath } = folder
    const seed = loadCheckpointSeed({ databasePath })
    expect(loadCheckpointSeed({ databasePath })).toEqual(seed)
    expect(loadCheckpointSeed({ databasePath, configured: TEST_SEED })).toBe(TEST_SEED)
    writeFileSync(`${databasePath}.checkpoint-key`, 'short')
    expect(() => loadCheckpointSeed({ databasePath })).toThrow(RecordStoreUnavailable)
  })
})

describe('C16: keys', () => {
  it('a store refuses to start when a needed key is missing', async () => {
    const store = folder.open({ keyRing: testKeyRing('key-1') })
    await write(store, 'one')
    await store.close()
    expect(() => folder.open()).toThrow(
      /sealed under the key "key-1", which SEAL_KEYS does not have/,
    )
    expect(() => folder.open({ keyRing: testKeyRing('key-2') })).toThrow(/"key-1"/)
  })

  it('a corrupt key ring: another key under the same id is refused, and no text of a ring is an exception', async () => {
    const store = folder.open({ keyRing: testKeyRing('key-1') })
    await write(store, 'one')
    await store.close()
    const wrong = createKeyRing({
      activeId: 'key-1',
      keys: [{ id: 'key-1', key: new Uint8Array(32).fill(99) }],
    })
    expect(() => folder.open({ keyRing: wrong })).toThrow(/is not the one that values were sealed/)
    for (const text of ['', 'key-1', 'key-1:AAAA', ':', 'a:b:c', 'ü:=', ','])
      expect(parseKeyRing(text).kind).toBe('refused')
  })

  it('no stored byte of a sealed store holds a value, an author or a label', async () => {
    const store = folder.open({ keyRing: testKeyRing('key-1') })
    await write(store, 'a sentence that nobody may find')
    await store.close()
    const bytes = readFileSync(folder.databasePath).toString('latin1')
    for (const text of ['nobody may find', 'dr-osei', 'Dr Osei']) expect(bytes).not.toContain(text)
    expect(bytes).toContain('ann')
  })
})

const pause = async (): Promise<void> => undefined

const reseal = (keyRing: ReturnType<typeof testKeyRing>) =>
  resealRecords({ databasePath: folder.databasePath, keyRing, pause })

describe('C16: reseal', () => {
  it('moves everything under the new key and leaves every hash unchanged; the old key can go', async () => {
    await fill('a plain sentence')
    const first = folder.open({ keyRing: testKeyRing('key-1') })
    await write(first, 'under key 1', 'also')
    const before = await collect(first.exportLines({ audiences: BOTH }))
    await first.close()
    expect(await reseal(testKeyRing('key-2', 'key-1'))).toEqual({
      activeKeyId: 'key-2',
      resealed: 3,
      broken: 0,
      retired: ['key-1'],
      needed: [],
    })
    const store = folder.open({ keyRing: testKeyRing('key-2') })
    expect(await collect(store.exportLines({ audiences: BOTH }))).toEqual(before)
    expect(await isIntact(store)).toBe(true)
    const [verdict] = await collect(store.verify({ audiences: ['user'] }))
    expect(verdict?.receipt).toMatchObject({ encrypted: true, keyId: 'key-2' })
    await store.close()
    expect(readFileSync(folder.databasePath).toString('latin1')).not.toContain('plain sentence')
    expect(await reseal(testKeyRing('key-2'))).toMatchObject({ resealed: 0, retired: [] })
  })

  it('runs beside a service that knows the new key, which goes on writing', async () => {
    const old = folder.open({ keyRing: testKeyRing('key-1') })
    await Promise.all(Array.from({ length: 200 }, () => old.append(storeRecord())))
    await old.close()
    const store = folder.open({ keyRing: testKeyRing('key-2', 'key-1') })
    const progress = { isDone: false }
    const writing = (async () => {
      while (!progress.isDone) await store.append(storeRecord({ value: 'meanwhile' }))
    })()
    const outcome = await resealRecords({
      databasePath: folder.databasePath,
      keyRing: testKeyRing('key-2', 'key-1'),
      pause: () =>
        new Promise((resolve) => {
          setImmediate(resolve)
        }),
    })
    progress.isDone = true
    await writing
    expect(outcome).toMatchObject({ resealed: 200, retired: ['key-1'] })
    expect(await isIntact(store)).toBe(true)
    await store.close()
  })

  it('beside a service that does not know the new key it changes nothing', async () => {
    const store = folder.open({ keyRing: testKeyRing('key-1') })
    await write(store, 'one')
    await expect(reseal(testKeyRing('key-2', 'key-1'))).rejects.toThrow(/restart it with that key/)
    expect(await store.latest(TEA)).toMatchObject({ kind: 'found' })
    await store.close()
  })

  it('a version that does not open is left as it is, and its key stays needed', async () => {
    const ring = testKeyRing('key-1')
    const store = folder.open({ keyRing: ring })
    await write(store, 'one', 'two')
    await store.close()
    folder.tinker((database) =>
      database.exec(
        'UPDATE user_versions SET body = (SELECT body FROM user_versions WHERE leaf_index = 0) WHERE leaf_index = 1',
      ),
    )
    expect(await reseal(testKeyRing('key-2', 'key-1'))).toEqual({
      activeKeyId: 'key-2',
      resealed: 1,
      broken: 1,
      retired: [],
      needed: ['key-1'],
    })
  })
})

describe('what is no store of ours', () => {
  it.each([
    [
      'a text file',
      Buffer.from('this is not a database at all, but long enough to be one'.repeat(20)),
    ],
    ['a damaged header', Buffer.alloc(4_096, 1)],
  ])('%s is refused', (_what, bytes) => {
    writeFileSync(folder.databasePath, bytes)
    expect(() => folder.open()).toThrow(RecordStoreUnavailable)
  })

  it('another program’s database is refused and left as it is', () => {
    folder.tinker((database) => {
      database.exec('CREATE TABLE theirs (a)')
    })
    expect(() => folder.open()).toThrow(/another program/)
    expect(() => openSqliteRecordReader(forAudit())).toThrow(RecordStoreUnavailable)
  })

  it('a newer schema and an altered one are refused', async () => {
    await fill('one')
    folder.tinker((database) => {
      database.exec('DROP INDEX user_versions_by_chain')
    })
    expect(() => folder.open()).toThrow(/schema was altered/)
    folder.tinker((database) => {
      database.exec('PRAGMA user_version = 99')
    })
    expect(() => folder.open()).toThrow(/newer than this program/)
  })

  it('files are for their owner alone', async () => {
    await fill('one')
    const { databasePath } = folder
    const targetPath = `${databasePath}.backup`
    await backupRecords({ databasePath, targetPath })
    const ends = ['', '.lock', '.user-checkpoint', '.assistant-checkpoint', '.backup']
    for (const end of ends) expect(statSync(`${databasePath}${end}`).mode & 0o077).toBe(0)
  })

  it('a store that cannot be read says so in the port’s own error', async () => {
    const store = folder.open()
    await write(store, 'one')
    folder.tinker((database) => {
      database.exec('ALTER TABLE chains RENAME TO gone')
    })
    await expect(store.latest(TEA)).rejects.toThrow(RecordStoreUnavailable)
    await expect(store.append(storeRecord())).rejects.toThrow(RecordStoreUnavailable)
    await expect(collect(store.verify({ audiences: BOTH }))).rejects.toThrow(RecordStoreUnavailable)
    await store.close()
  })

  it('a refused store gives its lock back', async () => {
    await fill('one')
    expect(() => folder.open({ checkpointSeed: new Uint8Array(32) })).toThrow(
      RecordStoreUnavailable,
    )
    const lock = new DatabaseSync(`${folder.databasePath}.lock`, { timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    lock.close()
  })
})
