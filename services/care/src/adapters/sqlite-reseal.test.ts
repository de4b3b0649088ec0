import { readFileSync } from 'node:fs'
import { sealValue } from '@tallystick/hashchain'
import { describe, expect, it } from 'vitest'
import { collect, TEA } from '../domain/record-store.fixture.ts'
import { AUDIENCES } from '../wire/records.ts'
import { resealStore } from './open-stores.ts'
import { testKeyRing } from './sqlite-store.fixture.ts'
import { isIntact, useStoreFolder, writeValues } from './sqlite-store-hooks.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const suite = useStoreFolder()

const pause = async (): Promise<void> => undefined

const reseal = (keyRing: ReturnType<typeof testKeyRing>) =>
  resealStore({ DATABASE_PATH: suite.folder.databasePath }, { keyRing, pause })

describe('C16: reseal', () => {
  it('moves everything under the new key and leaves every hash unchanged; the old key can go', async () => {
    await suite.fill('a plain sentence')
    const first = suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(first, 'under key 1', 'also')
    const before = await collect(first.exportLines({ audiences: AUDIENCES }))
    await first.close()
    expect(await reseal(testKeyRing('key-2', 'key-1'))).toEqual({
      activeKeyId: 'key-2',
      resealed: 1,
      rewrapped: 1,
      broken: 0,
      retired: ['key-1'],
      needed: [],
    })
    const store = suite.folder.open({ keyRing: testKeyRing('key-2') })
    expect(await collect(store.exportLines({ audiences: AUDIENCES }))).toEqual(before)
    expect(await isIntact(store)).toBe(true)
    const [verdict] = await collect(store.verify({ audiences: ['user'] }))
    expect(verdict?.receipt).toMatchObject({ encrypted: true, keyId: 'key-2' })
    await store.close()
    expect(readFileSync(suite.folder.databasePath).toString('latin1')).not.toContain(
      'plain sentence',
    )
    expect(await reseal(testKeyRing('key-2'))).toMatchObject({ resealed: 0, retired: [] })
  })

  it('runs beside a service that knows the new key, which goes on writing', async () => {
    const old = suite.folder.open({ keyRing: testKeyRing('key-1') })
    await Promise.all(Array.from({ length: 200 }, () => old.append(storeRecord())))
    await old.close()
    const store = suite.folder.open({ keyRing: testKeyRing('key-2', 'key-1') })
    const progress = { isDone: false }
    const writing = (async () => {
      while (!progress.isDone) await store.append(storeRecord({ value: 'meanwhile' }))
    })()
    const outcome = await resealStore(
      { DATABASE_PATH: suite.folder.databasePath },
      {
        keyRing: testKeyRing('key-2', 'key-1'),
        pause: () =>
          new Promise((resolve) => {
            setImmediate(resolve)
          }),
      },
    )
    progress.isDone = true
    await writing
    expect(outcome).toMatchObject({ resealed: 0, rewrapped: 1, retired: ['key-1'] })
    expect(await isIntact(store)).toBe(true)
    await store.close()
  })

  it('beside a service that does not know the new key it changes nothing', async () => {
    const store = suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(store, 'one')
    await expect(reseal(testKeyRing('key-2', 'key-1'))).rejects.toThrow(/restart it with that key/)
    expect(await store.latest(TEA)).toMatchObject({ kind: 'found' })
    await store.close()
  })

  it('a version that does not open is left as it is, and its key stays needed', async () => {
    const ring = testKeyRing('key-1')
    const store = suite.folder.open({ keyRing: ring })
    await writeValues(store, 'one', 'two')
    await store.close()
    // Sealed under the configured key itself, as an earlier release did, and in another's place.
    const body = sealValue({ ring, value: 'two', slot: 'ann|tea|7|user' })
    suite.folder.tinker((database) =>
      database.prepare('UPDATE user_versions SET body = ? WHERE leaf_index = 1').run(body),
    )
    expect(await reseal(testKeyRing('key-2', 'key-1'))).toEqual({
      activeKeyId: 'key-2',
      resealed: 0,
      rewrapped: 1,
      broken: 1,
      retired: [],
      needed: ['key-1'],
    })
  })
})
