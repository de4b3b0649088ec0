// Backups: what they hold, what they refuse, and how they are taken in place of newer records.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { openSqliteRecordReader } from './sqlite-record-store.ts'
import { TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'
import { isIntact, TEA, useStoreStage, writeValues } from './sqlite-store-stage.fixture.ts'
import { acceptBackup, backupRecords } from './store-backup.ts'

const stage = useStoreStage()

const forAudit = () => ({
  databasePath: stage.folder.databasePath,
  checkpointSeed: TEST_SEED,
  origin: TEST_ORIGIN,
})
/** Puts a backup in the place of the records, as an operator would. */
const restore = (path: string): void => {
  for (const end of ['-wal', '-shm']) rmSync(`${stage.folder.databasePath}${end}`, { force: true })
  copyFileSync(path, stage.folder.databasePath)
}

const leaveGap = (): void => {
  stage.folder.tinker((database) => database.exec('DELETE FROM user_versions WHERE leaf_index = 1'))
}
/** Overwrites an index's page behind its header: rows can be read, and the file does not hold. */
const damageIndex = (): void => {
  const { page, size } = stage.folder.tinker((database) => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const index = "SELECT rootpage FROM sqlite_schema WHERE name = 'user_versions_by_chain'"
    return {
      page: Number(database.prepare(index).get()?.rootpage),
      size: Number(database.prepare('PRAGMA page_size').get()?.page_size),
    }
  })
  const bytes = readFileSync(stage.folder.databasePath)
  bytes.fill(0xff, (page - 1) * size + 8, page * size)
  writeFileSync(stage.folder.databasePath, bytes)
}

describe('S8, C9: backups', () => {
  it('a backup older than the last signed checkpoint is refused, and accepted after the command', async () => {
    const store = stage.folder.open()
    await writeValues(store, 'one', 'two')
    const targetPath = `${stage.folder.databasePath}.backup`
    expect(await backupRecords({ databasePath: stage.folder.databasePath, targetPath })).toEqual({
      user: 2,
      assistant: 0,
    })
    await writeValues(store, 'three')
    await store.close()
    restore(targetPath)
    expect(() => stage.folder.open()).toThrow(/checkpoint counts 3 entries, 2 of them/)
    expect(() => openSqliteRecordReader(forAudit())).toThrow(RecordStoreUnavailable)
    expect(acceptBackup(forAudit())).toEqual([
      { audience: 'user', size: 2, signedSize: 3 },
      { audience: 'assistant', size: 0, signedSize: 0 },
    ])
    const restored = stage.folder.open()
    expect(await restored.latest(TEA)).toMatchObject({ record: { value: 'two' } })
    expect(await isIntact(restored)).toBe(true)
    await restored.close()
  })

  it('a backup overwrites nothing', async () => {
    await stage.fill('one')
    await expect(
      backupRecords({
        databasePath: stage.folder.databasePath,
        targetPath: stage.folder.databasePath,
      }),
    ).rejects.toThrow(/exists already/)
  })

  it.each([
    ['whose journal has a gap', leaveGap, /journal is incomplete/],
    ['that is damaged', damageIndex, /is damaged/],
  ])('a copy %s is none: it is refused, and no file is left', async (_what, harm, refusal) => {
    await stage.fill('one', 'two', 'three')
    harm()
    const { databasePath } = stage.folder
    const targetPath = `${databasePath}.backup`
    await expect(backupRecords({ databasePath, targetPath })).rejects.toThrow(refusal)
    expect(readdirSync(dirname(targetPath)).filter((name) => name.includes('backup'))).toEqual([])
  })
})
