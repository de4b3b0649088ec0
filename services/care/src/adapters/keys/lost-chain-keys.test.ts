// A chain's key that is lost, as after an older copy of the keys was restored: the chain gets no other one unnoticed (C31).
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { describe, expect, it } from 'vitest'
import { TEA } from '../../domain/record-store.fixture.ts'
import { ChainKeyLost, type RecordStore } from '../../domain/record-store.ts'
import { eraseChain } from '../open-stores.ts'
import { makeRecordDatabase, useRecordServer } from '../records/postgres-store.fixture.ts'
import { testKeyRing } from '../records/sqlite-store.fixture.ts'
import { useStoreFolder } from '../records/sqlite-store-hooks.fixture.ts'
import { storeRecord } from '../records/sqlite-store-samples.fixture.ts'
import { chainKeysPath } from '../schemas/sqlite-record-database.ts'
import { backupChainKeys, restoreChainKeys } from './chain-keys-file.ts'
import { type KeysPlace, withKeysPlace } from './open-chain-keys.ts'

const keyRing = testKeyRing('key-1')
const by = { at: '2026-06-02T09:00:00.000Z', actor: 'dr-osei', reason: 'asked to' }
const WALKS = { ...TEA, domain: 'walks' }

const removeKeys = (path: string): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}
const loseKey = (path: string): void => {
  const database = new DatabaseSync(path)
  database.exec("DELETE FROM chain_keys WHERE chain = 'ann|tea'")
  database.close()
}
const keyedChains = (path: string): readonly unknown[] => {
  const database = new DatabaseSync(path)
  try {
    return database
      .prepare('SELECT chain FROM chain_keys ORDER BY chain')
      .all()
      .map(({ chain }) => chain)
  } finally {
    database.close()
  }
}

/** What becomes of a write to the chain whose key is gone, and to another one; and for which chains there are keys then. */
async function writeBoth(store: RecordStore, keysPath: string): Promise<readonly unknown[]> {
  const lost: unknown = await store.append(storeRecord({ value: 'more' })).catch((error) => error)
  const { kind } = await store.append(storeRecord({ domain: 'walks', value: 'daily' }))
  return [lost, kind, keyedChains(keysPath)]
}
const REFUSED = [
  new ChainKeyLost(
    'the key of the chain ann|tea is lost, and no other is made: restore the newest copy of the chain keys that has it (care restore-keys), or erase the chain',
  ),
  'appended',
  ['', 'ann|walks'],
]

describe('C31: a chain whose key is lost', () => {
  const suite = useStoreFolder()
  const open = () => suite.folder.open({ keyRing })
  const keysPath = () => chainKeysPath(suite.folder.databasePath)
  const place = (): KeysPlace => ({ DATABASE_PATH: suite.folder.databasePath })

  it('takes no further version, gets no other key, and hurts no other chain, while the service runs', async () => {
    const store = await open()
    await store.append(storeRecord({ value: 'ten drops' }))
    await store.append(storeRecord({ domain: 'walks', value: 'rarely' }))
    loseKey(keysPath())
    expect(await writeBoth(store, keysPath())).toEqual(REFUSED)
    await store.close()
  })

  it('nor after an older copy of the keys is restored; the newest one cures it', async () => {
    const [older, newest] = [`${keysPath()}.older`, `${keysPath()}.newest`]
    const first = await open()
    await withKeysPlace(place(), (keys) => backupChainKeys(keys, older))
    await first.append(storeRecord({ value: 'ten drops' }))
    await withKeysPlace(place(), (keys) => backupChainKeys(keys, newest))
    await first.close()
    const restore = async (copy: string) => {
      removeKeys(keysPath())
      await withKeysPlace(place(), (keys) => restoreChainKeys(keys, copy), 'make')
    }
    await restore(older)
    const second = await open()
    expect(await writeBoth(second, keysPath())).toEqual(REFUSED)
    await second.close()
    await restore(newest)
    const third = await open()
    expect(await third.append(storeRecord({ value: 'more' }))).toMatchObject({ kind: 'appended' })
    await third.close()
  })

  it('erasing another chain makes no key for it; it can be erased itself', async () => {
    const store = await open()
    await store.append(storeRecord({ value: 'ten drops' }))
    await store.append(storeRecord({ domain: 'walks', value: 'rarely' }))
    loseKey(keysPath())
    await eraseChain(place(), { slot: WALKS, by }, keyRing)
    expect(keyedChains(keysPath())).toEqual([''])
    await expect(store.append(storeRecord({ value: 'more' }))).rejects.toThrow(ChainKeyLost)
    await eraseChain(place(), { slot: TEA, by }, keyRing)
    expect(await store.append(storeRecord({ value: 'more' }))).toEqual({ kind: 'erased' })
    await store.close()
  })

  describe.skipIf(postgresMissing !== undefined)(
    `on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
    () => {
      useRecordServer()
      it('takes no further version either', async () => {
        const database = await makeRecordDatabase()
        const { records } = await database.open({ keyRing })
        await records.append(storeRecord({ value: 'ten drops' }))
        loseKey(chainKeysPath(database.databasePath))
        expect(await writeBoth(records, chainKeysPath(database.databasePath))).toEqual(REFUSED)
        await records.close()
        await database.end()
      })
    },
  )
})
