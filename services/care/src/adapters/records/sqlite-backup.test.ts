// Backups: what they hold, what they refuse, and how they are taken in place of newer records.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { acceptSqliteBackup, backupSqliteStore } from '@tallystick/journal-store'
import { describe, expect, it } from 'vitest'
import { TEA } from '../../domain/record-store.fixture.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { RECORDS } from '../schemas/sqlite-record-database.ts'
import { openSqliteRecordReader } from './sqlite-record-store.ts'
import { isIntact, useStoreFolder, writeValues } from './sqlite-store-hooks.fixture.ts'
import { TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'

const suite = useStoreFolder()

const forAudit = () => ({
  databasePath: suite.folder.databasePath,
  checkpointSeed: TEST_SEED,
  origin: TEST_ORIGIN,
})
/** Puts a backup in the place of the records, as an operator would. */
const restore = (path: string): void => {
  for (const end of ['-wal', '-shm']) rmSync(`${suite.folder.databasePath}${end}`, { force: true })
  copyFileSync(path, suite.folder.databasePath)
}

const leaveGap = (): void => {
  suite.folder.tinker((database) => database.exec('DELETE FROM user_versions WHERE at = 1'))
}
/** Overwrites an index's page behind its header: rows can be read, and the file does not hold. */
const damageIndex = (): void => {
  const { page, size } = suite.folder.tinker((database) => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const index = "SELECT rootpage FROM sqlite_schema WHERE name = 'user_versions_by_chain'"
    return {
      page: Number(database.prepare(index).get()?.rootpage),
      size: Number(database.prepare('PRAGMA page_size').get()?.page_size),
    }
  })
  const bytes = readFileSync(suite.folder.databasePath)
  bytes.fill(0xff, (page - 1) * size + 8, page * size)
  writeFileSync(suite.folder.databasePath, bytes)
}

describe('S8, C9: backups', () => {
  it('a backup older than the last signed checkpoint is refused, and accepted after the command', async () => {
    const store = await suite.folder.open()
    await writeValues(store, 'one', 'two')
    const targetPath = `${suite.folder.databasePath}.backup`
    expect(
      await backupSqliteStore(RECORDS, { databasePath: suite.folder.databasePath, targetPath }),
    ).toEqual({
      user: 2,
      assistant: 0,
    })
    await writeValues(store, 'three')
    await store.close()
    restore(targetPath)
    await expect(suite.folder.open()).rejects.toThrow(/checkpoint counts 3 entries, 2 of them/)
    await expect(openSqliteRecordReader(forAudit())).rejects.toThrow(RecordStoreUnavailable)
    expect(acceptSqliteBackup(RECORDS, forAudit())).toMatchObject({
      user: { size: 2, signedSize: 3 },
      assistant: { size: 0, signedSize: 0 },
    })
    const restored = await suite.folder.open()
    expect(await restored.latest(TEA)).toMatchObject({ record: { value: 'two' } })
    expect(await isIntact(restored)).toBe(true)
    await restored.close()
  })

  it.each([
    ['whose journal has a gap', leaveGap, /journal is incomplete/],
    ['that is damaged', damageIndex, /is damaged/],
  ])('a copy %s is none: it is refused, and no file is left', async (_what, harm, refusal) => {
    await suite.fill('one', 'two', 'three')
    harm()
    const { databasePath } = suite.folder
    const targetPath = `${databasePath}.backup`
    await expect(backupSqliteStore(RECORDS, { databasePath, targetPath })).rejects.toThrow(refusal)
    expect(readdirSync(dirname(targetPath)).filter((name) => name.includes('backup'))).toEqual([])
  })
})
