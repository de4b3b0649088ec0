// What opening refuses and what it takes: locks, keys, checkpoints, other programs' files.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { createKeyRing, parseKeyRing } from '@tallystick/hashchain'
import { describe, expect, it } from 'vitest'
import { collect, TEA } from '../../domain/record-store.fixture.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { testKeyRing } from './sqlite-store.fixture.ts'
import { isIntact, useStoreFolder, writeValues } from './sqlite-store-hooks.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const suite = useStoreFolder()

describe('C9: checkpoints', () => {
  it('entries behind the checkpoint, from a commit whose checkpoint was not written any more, are taken', async () => {
    await suite.fill('one')
    const path = `${suite.folder.databasePath}.user-checkpoint`
    const older = readFileSync(path)
    await suite.fill('two')
    writeFileSync(path, older)
    const store = await suite.folder.open()
    expect(await store.latest(TEA)).toMatchObject({ latestVersion: 2 })
    await store.close()
    expect(readFileSync(path, 'utf8').split('\n')[1]).toBe('2')
  })

  it('a checkpoint that is gone, altered, of the other journal or by another key refuses the store', async () => {
    await suite.fill('one')
    const path = `${suite.folder.databasePath}.user-checkpoint`
    const note = readFileSync(path, 'utf8')
    await expect(suite.folder.open({ checkpointSeed: new Uint8Array(32).fill(1) })).rejects.toThrow(
      /not signed/,
    )
    writeFileSync(path, note.replace('\n1\n', '\n0\n'))
    await expect(suite.folder.open()).rejects.toThrow(
      /not signed by this store’s checkpoint key, or was altered/,
    )
    copyFileSync(`${suite.folder.databasePath}.assistant-checkpoint`, path)
    await expect(suite.folder.open()).rejects.toThrow(/not signed/)
    writeFileSync(path, '')
    await expect(suite.folder.open()).rejects.toThrow(/not signed/)
    rmSync(path)
    await expect(suite.folder.open()).rejects.toThrow(/there is no checkpoint of it/)
    writeFileSync(path, note)
    await (await suite.folder.open()).close()
  })

  it('a service whose address changed opens its store', async () => {
    await suite.fill('one')
    const store = await suite.folder.open({ origin: 'elsewhere.test/care' })
    expect(store.journals.user.checkpoint().split('\n')[0]).toBe('elsewhere.test/care/user')
    await store.close()
  })
})

describe('C16: keys', () => {
  it('a store refuses to start when a needed key is missing', async () => {
    const store = await suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(store, 'one')
    await store.close()
    await expect(suite.folder.open()).rejects.toThrow(/sealed values, and SEAL_KEYS is not set/)
    await expect(suite.folder.open({ keyRing: testKeyRing('key-2') })).rejects.toThrow(
      /wrapped under the key "key-1", which SEAL_KEYS does not have/,
    )
  })

  it('a corrupt key ring: another key under the same id is refused, and no text of a ring is an exception', async () => {
    const store = await suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(store, 'one')
    await store.close()
    const wrong = createKeyRing({
      activeId: 'key-1',
      keys: [{ id: 'key-1', key: new Uint8Array(32).fill(99) }],
    })
    await expect(suite.folder.open({ keyRing: wrong })).rejects.toThrow(
      /is not the one that the keys of chains were wrapped under/,
    )
    for (const text of ['', 'key-1', 'key-1:AAAA', ':', 'a:b:c', 'ü:=', ','])
      expect(parseKeyRing(text).kind).toBe('refused')
  })

  it('a value is sealed once: a restart with another key first rewraps the keys of chains and changes no body and no hash', async () => {
    const first = await suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(first, 'one', 'two')
    const before = await collect(first.exportLines({ audiences: AUDIENCES }))
    await first.close()
    const bodies = () =>
      suite.folder.tinker((database) => database.prepare('SELECT body FROM user_versions').all())
    const sealed = bodies()
    const both = await suite.folder.open({ keyRing: testKeyRing('key-2', 'key-1') })
    await writeValues(both, 'three')
    await both.close()
    expect(bodies().slice(0, 2)).toEqual(sealed)
    const store = await suite.folder.open({ keyRing: testKeyRing('key-2') })
    const after = await collect(store.exportLines({ audiences: AUDIENCES }))
    expect(after.slice(2, 4)).toEqual(before.slice(2, 4))
    expect(await isIntact(store)).toBe(true)
    const [verdict] = await collect(store.verify({ audiences: ['user'] }))
    expect(verdict?.receipt).toMatchObject({ encrypted: true, keyId: 'key-2' })
    await store.close()
    await expect(suite.folder.open({ keyRing: testKeyRing('key-1') })).rejects.toThrow(/"key-2"/)
  })

  it('a backup of the records from before a rotation needs the new key alone', async () => {
    const first = await suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(first, 'one')
    await first.close()
    const backup = readFileSync(suite.folder.databasePath)
    await (await suite.folder.open({ keyRing: testKeyRing('key-2', 'key-1') })).close()
    writeFileSync(suite.folder.databasePath, backup)
    const store = await suite.folder.open({ keyRing: testKeyRing('key-2') })
    expect(await store.latest(TEA)).toMatchObject({ kind: 'found' })
    await store.close()
  })

  it('records that are in the clear stay so: with SEAL_KEYS their store does not open', async () => {
    await suite.fill('one')
    await expect(suite.folder.open({ keyRing: testKeyRing('key-1') })).rejects.toThrow(
      /is sealed from its first entry or never/,
    )
    await (await suite.folder.open()).close()
  })

  it('no stored byte of a sealed store holds a value, an author or a label', async () => {
    const store = await suite.folder.open({ keyRing: testKeyRing('key-1') })
    await writeValues(store, 'a sentence that nobody may find')
    await store.close()
    const bytes = readFileSync(suite.folder.databasePath).toString('latin1')
    for (const text of ['nobody may find', 'dr-osei', 'Dr Osei']) expect(bytes).not.toContain(text)
    expect(bytes).toContain('ann')
  })
})

describe('what is no store of ours', () => {
  it.each([
    [
      'a text file',
      Buffer.from('this is not a database at all, but long enough to be one'.repeat(20)),
    ],
    ['a damaged header', Buffer.alloc(4_096, 1)],
  ])('%s is refused', async (_what, bytes) => {
    writeFileSync(suite.folder.databasePath, bytes)
    await expect(suite.folder.open()).rejects.toThrow(RecordStoreUnavailable)
  })

  it('a newer schema and an altered one are refused', async () => {
    await suite.fill('one')
    suite.folder.tinker((database) => {
      database.exec('DROP INDEX user_versions_by_chain')
    })
    await expect(suite.folder.open()).rejects.toThrow(/schema was altered/)
    suite.folder.tinker((database) => {
      database.exec('PRAGMA user_version = 99')
    })
    await expect(suite.folder.open()).rejects.toThrow(/newer than this program/)
  })

  it('a store that cannot be read says so in the port’s own error', async () => {
    const store = await suite.folder.open()
    await writeValues(store, 'one')
    suite.folder.tinker((database) => {
      database.exec('ALTER TABLE chains RENAME TO gone')
    })
    await expect(store.latest(TEA)).rejects.toThrow(RecordStoreUnavailable)
    await expect(store.append(storeRecord())).rejects.toThrow(RecordStoreUnavailable)
    await expect(collect(store.verify({ audiences: AUDIENCES }))).rejects.toThrow(
      RecordStoreUnavailable,
    )
    await store.close()
  })

  it('a refused store gives its lock back', async () => {
    await suite.fill('one')
    await expect(suite.folder.open({ checkpointSeed: new Uint8Array(32) })).rejects.toThrow(
      RecordStoreUnavailable,
    )
    const lock = new DatabaseSync(`${suite.folder.databasePath}.lock`, { timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    lock.close()
  })
})
