// Erasure on files, and what somebody may do with copies of them (C31).
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { versionHash } from '@tallystick/hashchain'
import { acceptSqliteBackup, backupSqliteStore } from '@tallystick/journal-store'
import {
  ownPostgresMissing,
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from '@tallystick/journal-store/postgres-server'
import { Secret } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeErasure } from '../../domain/erasure.contract.ts'
import { collect, TEA } from '../../domain/record-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { backupChainKeys } from '../keys/chain-keys-file.ts'
import { openKeys, withKeysPlace } from '../keys/open-chain-keys.ts'
import { eraseChain, listErasures } from '../open-stores.ts'
import { chainKeysPath, RECORDS } from '../schemas/sqlite-record-database.ts'
import {
  makeRecordDatabase,
  tamperPostgresEntry,
  testServer,
  useRecordServer,
} from './postgres-store.fixture.ts'
import { makeStoreFolder, tamperEntry, testKeyRing } from './sqlite-store.fixture.ts'
import { useStoreFolder, writeValues } from './sqlite-store-hooks.fixture.ts'
import { storeRecord, TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'

const keyRing = testKeyRing('key-1')
const by = { at: '2026-06-02T09:00:00.000Z', actor: 'dr-osei', reason: 'asked to' }

/** Puts a copy in the place of a file, as an operator would. */
const putBack = (copy: string, path: string): void => {
  for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
  copyFileSync(copy, path)
}

describeErasure('SQLite', async (clock) => {
  const folder = makeStoreFolder(clock)
  const store = await folder.open({ keyRing })
  return {
    store,
    tamper: (slot, version, change) => tamperEntry({ folder, slot, version, change, keyRing }),
    erase: (slot) => eraseChain({ DATABASE_PATH: folder.databasePath }, { slot, by }, keyRing),
    end: async () => {
      await store.close()
      folder.remove()
    },
  }
})

describe.skipIf(postgresMissing !== undefined)(
  `on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    describeErasure('PostgreSQL', async (clock) => {
      const database = await makeRecordDatabase()
      const { records } = await database.open({ clock, keyRing })
      const place = {
        DATABASE_PATH: database.databasePath,
        DATABASE_URL: new Secret(database.url),
      }
      return {
        store: records,
        tamper: (slot, version, change) =>
          tamperPostgresEntry(database, { slot, version, change, keyRing }),
        erase: (slot) => eraseChain(place, { slot, by }, keyRing),
        end: async () => {
          await records.close()
          await database.end()
        },
      }
    })
  },
)

describe.skipIf(ownPostgresMissing !== undefined)(
  `on two PostgreSQL clusters${ownPostgresMissing === undefined ? '' : ` (skipped: ${ownPostgresMissing})`}`,
  () => {
    useRecordServer()
    let keysServer: PostgresServer
    beforeAll(() => {
      keysServer = startPostgres({ isOwn: true })
    })
    afterAll(() => keysServer.end())

    it('C43: keys in another database of the records’ own cluster are refused before anything is made there: one base backup would hold both', async () => {
      const [database, beside] = [await makeRecordDatabase(), await testServer().database()]
      const place = {
        DATABASE_PATH: database.databasePath,
        DATABASE_URL: new Secret(database.url),
        CHAIN_KEYS_URL: new Secret(beside.owner),
      }
      const refusal = /^the chain keys \(.*\) and the records \(.*\) are in one PostgreSQL cluster/
      await expect(openKeys(place, keyRing)).rejects.toThrow(refusal)
      await expect(withKeysPlace(place, async () => undefined, 'make')).rejects.toThrow(refusal)
      const made = "SELECT FROM pg_namespace WHERE nspname = 'care_keys'"
      expect((await runSql(beside.owner, made)).rowCount).toBe(0)
      await database.end()
      await beside.drop()
    })

    describeErasure('PostgreSQL, its keys in another one (C43)', async (clock) => {
      const [database, apart] = [await makeRecordDatabase(), await keysServer.database()]
      const place = {
        DATABASE_PATH: database.databasePath,
        DATABASE_URL: new Secret(database.url),
        CHAIN_KEYS_URL: new Secret(apart.owner),
      }
      const { records } = await database.open({ clock, keys: await openKeys(place, keyRing) })
      return {
        store: records,
        tamper: () => Promise.reject(new Error('no rule of erasure needs it')),
        erase: (slot) => eraseChain(place, { slot, by }, keyRing),
        end: async () => {
          await records.close()
          await database.end()
          await apart.drop()
        },
      }
    })

    it('C31: attack: keys and records in two PostgreSQLs, and either is put back as it was before the erasure', async () => {
      const [database, apart] = [await makeRecordDatabase(), await keysServer.database()]
      const place = {
        DATABASE_PATH: database.databasePath,
        DATABASE_URL: new Secret(database.url),
        CHAIN_KEYS_URL: new Secret(apart.owner),
      }
      const open = async () => database.open({ keys: await openKeys(place, keyRing) })
      const first = await open()
      await writeValues(first.records, 'Take ten drops.')
      const { rows } = await runSql(apart.owner, 'SELECT * FROM care_keys.chain_keys')
      await eraseChain(place, { slot: TEA, by }, keyRing)
      await first.records.close()
      // The keys as a backup of before holds them.
      await runSql(apart.owner, 'DELETE FROM care_keys.chain_keys; DELETE FROM care_keys.erasures')
      for (const { chain, key_id: keyId, wrapped } of rows as readonly {
        readonly chain: string
        readonly key_id: string
        readonly wrapped: Buffer
      }[])
        await runSql(
          apart.owner,
          `INSERT INTO care_keys.chain_keys VALUES ('${chain}', '${keyId}', '\\x${wrapped.toString('hex')}')`,
        )
      const second = await open()
      expect(await second.records.latest(TEA)).toEqual({ kind: 'absent' })
      await second.records.close()
      expect(await listErasures(place)).toMatchObject([{ actor: 'dr-osei' }])
      const left = await runSql(apart.owner, "SELECT FROM care_keys.chain_keys WHERE chain <> ''")
      expect(left.rows).toEqual([])
      // The records as a backup of before holds them: the chain's row and its list know of no erasure.
      await database.sql('UPDATE care.chains SET erased_leaves = NULL; DELETE FROM care.erasures')
      const third = await open()
      expect(await third.records.latest(TEA)).toEqual({ kind: 'absent' })
      expect(await third.records.append(storeRecord())).toEqual({ kind: 'erased' })
      await third.records.close()
      await database.end()
      await apart.drop()
    })
  },
)

describe('C31: copies of the files of an erased record', () => {
  const suite = useStoreFolder()
  const open = () => suite.folder.open({ keyRing })
  const erase = () =>
    eraseChain({ DATABASE_PATH: suite.folder.databasePath }, { slot: TEA, by }, keyRing)
  const backupKeys = (targetPath: string) =>
    withKeysPlace({ DATABASE_PATH: suite.folder.databasePath }, (place) =>
      backupChainKeys(place, targetPath),
    )
  const owner = () => ({
    databasePath: suite.folder.databasePath,
    checkpointSeed: TEST_SEED,
    origin: TEST_ORIGIN,
  })
  /** Every byte that lies in the store's folder. */
  const bytesOnDisk = (): string => {
    const folder = dirname(suite.folder.databasePath)
    return readdirSync(folder)
      .map((name) => readFileSync(join(folder, name)).toString('latin1'))
      .join('\n')
  }
  const fill = async (...values: readonly string[]): Promise<RecordStore> => {
    const store = await open()
    await writeValues(store, ...values)
    return store
  }

  it('attack: the sentence is looked for in every file, or guessed from a hash that stayed', async () => {
    const store = await fill('Take ten drops.', 'Take twelve drops.')
    const read = [await store.version(TEA, 1), await store.version(TEA, 2)]
    await erase()
    await store.close()
    const disk = bytesOnDisk()
    for (const first of read) {
      if (first.kind !== 'found') throw new Error('it was there')
      expect(disk).not.toContain(first.record.value)
      // Who guesses the sentence finds nothing to hold his guess against.
      expect(disk).not.toContain(versionHash(first.record))
    }
  })

  it('attack: a backup of the records from before the erasure is put back', async () => {
    const store = await fill('Take ten drops.')
    const targetPath = `${suite.folder.databasePath}.backup`
    await backupSqliteStore(RECORDS, { databasePath: suite.folder.databasePath, targetPath })
    await writeValues(store, 'Take twelve drops.')
    await erase()
    await store.close()
    putBack(targetPath, suite.folder.databasePath)
    acceptSqliteBackup(RECORDS, owner())
    const restored = await open()
    expect(await restored.latest(TEA)).toEqual({ kind: 'absent' })
    expect(await restored.append(storeRecord())).toEqual({ kind: 'erased' })
    expect(await collect(restored.verify({ audiences: AUDIENCES }))).toMatchObject([
      { versions: 1, erased: 1, intact: true },
    ])
    await restored.close()
  })

  it('attack: a backup from before the record itself is put back, and it is written anew', async () => {
    const empty = await fill()
    const targetPath = `${suite.folder.databasePath}.backup`
    await backupSqliteStore(RECORDS, { databasePath: suite.folder.databasePath, targetPath })
    await writeValues(empty, 'Take ten drops.')
    await erase()
    await empty.close()
    putBack(targetPath, suite.folder.databasePath)
    acceptSqliteBackup(RECORDS, owner())
    const restored = await open()
    expect(await restored.append(storeRecord())).toEqual({ kind: 'erased' })
    await restored.close()
  })

  it('attack: a copy of the chain keys from before the erasure is put back', async () => {
    const store = await fill('Take ten drops.')
    const path = chainKeysPath(suite.folder.databasePath)
    const targetPath = `${path}.copy`
    expect(await backupKeys(targetPath)).toBe(1)
    await erase()
    await store.close()
    putBack(targetPath, path)
    rmSync(targetPath)
    const reopened = await open()
    expect(await reopened.latest(TEA)).toEqual({ kind: 'absent' })
    await reopened.close()
    // Destroyed again: the old copy's key is in no file any more.
    await erase()
    const again = await open()
    expect(await collect(again.verify({ audiences: AUDIENCES }))).toMatchObject([{ erased: 1 }])
    await again.close()
  })

  it('attack: a leaf of an erased version is changed', async () => {
    await (await fill('one', 'two')).close()
    await erase()
    const store = await open()
    suite.folder.tinker((database) =>
      database.exec(`UPDATE user_versions SET leaf_hash = x'${'ab'.repeat(32)}' WHERE at = 1`),
    )
    expect(await collect(store.verify({ audiences: AUDIENCES }))).toMatchObject([
      { intact: false, brokenAt: 1, erased: 2 },
    ])
    await store.close()
  })

  it('a kill between the note and the key: the next opening destroys it', async () => {
    await (await fill('one')).close()
    suite.folder.tinker((database) =>
      database.exec("INSERT INTO erasures VALUES ('ann|tea', '2026', 'dr-osei', 'asked to')"),
    )
    const store = await open()
    await store.close()
    expect(await backupKeys(`${suite.folder.databasePath}.copy`)).toBe(0)
  })

  it('a store whose chain keys are missing does not open', async () => {
    await (await fill('one')).close()
    const path = chainKeysPath(suite.folder.databasePath)
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    await expect(open()).rejects.toThrow(/sealed under the key "c\.[0-9a-f]{32}"/)
  })

  it('a store in the clear whose service has no keys is not erased beside it', async () => {
    const store = await suite.folder.open()
    await writeValues(store, 'one')
    await expect(erase()).rejects.toThrow(/no such file/)
    await withKeysPlace({ DATABASE_PATH: suite.folder.databasePath }, async () => undefined, 'make')
    await expect(erase()).rejects.toThrow(/in the clear, or their keys are elsewhere/)
    expect(await store.latest(TEA)).toMatchObject({ kind: 'found' })
    await store.close()
  })
})
