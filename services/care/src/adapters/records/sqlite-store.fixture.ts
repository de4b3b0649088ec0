// What the store's tests share: a store in its own folder, removed with the test, and access to its stored rows.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createKeyRing, type KeyRing } from '@tallystick/hashchain'
import { type Clock, manualClock } from '@tallystick/service-kit'
import type { RecordStore } from '../../domain/record-store.ts'
import type { NamedChain } from '../../wire/record-uri.ts'
import { CLEAR_SEALS, chainName } from '../keys/chain-keys.ts'
import { openFileKeys } from '../keys/chain-keys-file.ts'
import { chainKeysPath } from '../schemas/sqlite-record-database.ts'
import { openSqliteRecordStore, type SqliteRecordStoreOptions } from './sqlite-record-store.ts'
import { TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'
import { formatSlot } from './stored-record.ts'

/** 2026-06-01T08:00:00Z. */
export const TEST_START_MS = 1_780_300_800_000

/** A ring with keys named by their ids, the first active. */
export function testKeyRing(...ids: readonly [string, ...string[]]): KeyRing {
  const keys = ids.map((id) => ({ id, key: new Uint8Array(32).fill(id.charCodeAt(id.length - 1)) }))
  return createKeyRing({ activeId: ids[0], keys })
}

/** A store's folder, by default empty. */
export type StoreFolder = {
  readonly databasePath: string
  open(over?: Partial<SqliteRecordStoreOptions>): Promise<RecordStore>
  /** A separate connection to the records, to do what the store would not; closed after `use`. */
  tinker<Result>(use: (database: DatabaseSync) => Result): Result
  remove(): void
}

export function makeStoreFolder(clock: Clock = manualClock(TEST_START_MS)): StoreFolder {
  const folder = mkdtempSync(join(tmpdir(), 'care-store-'))
  const databasePath = join(folder, 'care.db')
  return {
    databasePath,
    open: (over = {}) =>
      openSqliteRecordStore({
        databasePath,
        clock,
        checkpointSeed: TEST_SEED,
        origin: TEST_ORIGIN,
        ...over,
      }),
    tinker: (use) => {
      const database = new DatabaseSync(databasePath, { timeout: 2_000 })
      try {
        return use(database)
      } finally {
        database.close()
      }
    },
    remove: () => {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A new store in memory. */
export function openMemoryStore(clock: Clock = manualClock(TEST_START_MS)): Promise<RecordStore> {
  return openSqliteRecordStore({
    databasePath: ':memory:',
    clock,
    checkpointSeed: TEST_SEED,
    origin: TEST_ORIGIN,
  })
}

/** Changes a stored entry behind the store's back; a sealed one is resealed, in its slot, under the ring's key. */
export async function tamperEntry(options: {
  readonly folder: StoreFolder
  readonly slot: NamedChain
  readonly version: number
  readonly change: (entry: string) => string
  readonly keyRing?: KeyRing | undefined
}): Promise<void> {
  const { folder, slot, version, change, keyRing } = options
  const { freed = 0 } = slot
  const keys =
    keyRing === undefined
      ? undefined
      : await openFileKeys(chainKeysPath(folder.databasePath), keyRing)
  const seal = await (keys ?? CLEAR_SEALS).sealFor([
    chainName({ ...slot, turn: Math.max(freed - 1, 0) }),
  ])
  const slotText = formatSlot({ ...slot, turn: Math.max(freed - 1, 0) })(version)
  const table = `${slot.audience}_versions`
  folder.tinker((database) => {
    const row = database
      .prepare(
        `SELECT at, body FROM ${table} WHERE version = ? AND chain = (SELECT id FROM chains WHERE patient = ? AND domain = ? AND freed = ?)`,
      )
      .get(version, slot.patient, slot.domain, freed)
    const body = seal.close(change(seal.open(row?.body, slotText) ?? ''), slotText)
    database.prepare(`UPDATE ${table} SET body = ? WHERE at = ?`).run(body, Number(row?.at))
  })
  await keys?.close()
}
