// A disk that is full when the key of a new chain is written (C16, S12): a small file system of its own in memory.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TEA } from '../../domain/record-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { makeRecordDatabase, useRecordServer } from '../records/postgres-store.fixture.ts'
import { makeStoreFolder, testKeyRing } from '../records/sqlite-store.fixture.ts'
import { storeRecord } from '../records/sqlite-store-samples.fixture.ts'

const disk = mkdtempSync(join(tmpdir(), 'care-full-disk-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
const reason = mounted.status === 0 ? undefined : 'only root can mount a small disk'
const suffix = reason === undefined ? '' : ` (skipped: ${reason})`

const keyRing = testKeyRing('key-1')
const FOUND = { kind: 'found', record: { value: 'again' } }
const filler = join(disk, 'filler')
/** Takes all that is left: the last write is cut short. */
const fill = (): void => {
  try {
    for (let count = 0; ; count += 1) writeFileSync(filler, Buffer.alloc(4_096), { flag: 'a' })
  } catch {
    // No space left on device.
  }
}

beforeAll(() => {
  if (reason === undefined) return
  rmSync(disk, { recursive: true })
})
afterAll(() => {
  if (reason !== undefined) return
  // A store that a failed test left open has files there.
  spawnSync('umount', ['-l', disk])
  rmSync(disk, { recursive: true })
})

/** Writes while the disk of the keys is full, again when it is free, and says what is read after a restart. */
async function writeOnFullDisk(
  chainKeysPath: string,
  open: (over: {
    readonly keyRing: typeof keyRing
    readonly chainKeysPath: string
  }) => Promise<RecordStore>,
): Promise<unknown> {
  const store = await open({ keyRing, chainKeysPath })
  await store.append(storeRecord({ domain: 'walks' }))
  fill()
  await expect(store.append(storeRecord({ value: 'first' }))).rejects.toThrow(/disk is full/)
  rmSync(filler)
  expect(await store.append(storeRecord({ value: 'again' }))).toMatchObject({ kind: 'appended' })
  await store.close()
  const reopened = await open({ keyRing, chainKeysPath })
  const read = await reopened.latest(TEA)
  await reopened.close()
  return read
}

describe.skipIf(reason !== undefined)(`C16: the disk of the chains’ keys is full${suffix}`, () => {
  it('S12: what is acknowledged once it is free can be read after a restart', async () => {
    const folder = makeStoreFolder()
    try {
      const read = await writeOnFullDisk(join(disk, 'keys'), async (over) => folder.open(over))
      expect(read).toMatchObject(FOUND)
    } finally {
      folder.remove()
    }
  })

  describe.skipIf(postgresMissing !== undefined)(
    `with the records on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
    () => {
      useRecordServer()
      it('S12: the same', async () => {
        const database = await makeRecordDatabase()
        try {
          const read = await writeOnFullDisk(
            join(disk, 'keys-of-postgres'),
            async (over) => (await database.open(over)).records,
          )
          expect(read).toMatchObject(FOUND)
        } finally {
          await database.end()
        }
      })
    },
  )
})
