// Every stored field of a record, changed by someone with the disk in hand: found, located, and never served.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collect, TEA } from '../../domain/record-store.fixture.ts'
import type { ChainVerification, RecordStore } from '../../domain/record-store.ts'
import { type ChainSlot, chainUri } from '../../wire/record-uri.ts'
import { makeStoreFolder, type StoreFolder, testKeyRing } from './sqlite-store.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const SLEEP = { patient: 'ann', domain: 'sleep', audience: 'user' } as const
/** Bits that are flipped in each byte: one that keeps text text, and all of them. */
const FLIPS = [0x01, 0xff]

const broken = (verdicts: readonly ChainVerification[]) => verdicts.filter(({ intact }) => !intact)
const brokenAt = (verdicts: readonly ChainVerification[], slot: ChainSlot) =>
  verdicts.find((verdict) => chainUri(verdict.slot) === chainUri(slot))?.brokenAt

describe.each([
  ['in the clear', undefined],
  ['sealed', testKeyRing('key-1')],
])('every byte of every stored field flipped in turn, %s', (_name, keyRing) => {
  let folder: StoreFolder
  let store: RecordStore
  beforeEach(async () => {
    folder = makeStoreFolder()
    store = await folder.open(keyRing === undefined ? {} : { keyRing })
    for (const value of ['one', 'two', 'three'])
      await store.append(storeRecord({ value, staleAfter: '2027-01-01T00:00:00Z', priority: 0.5 }))
    await store.append(storeRecord({ domain: 'sleep' }))
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const verify = () => collect(store.verify({ audiences: ['user', 'assistant'] }))
  /** Sets a column to each of its flipped forms in turn, and back. */
  const flipColumn = async (
    place: { readonly table: string; readonly column: string; readonly where: string },
    check: (flipped: string) => Promise<void>,
  ): Promise<number> => {
    const { table, column, where } = place
    let flips = 0
    const read = folder.tinker((database) =>
      database
        .prepare(
          `SELECT typeof(${column}) AS kind, CAST(${column} AS BLOB) AS bytes FROM ${table} WHERE ${where}`,
        )
        .get(),
    )
    const bytes = read?.bytes instanceof Uint8Array ? read.bytes : new Uint8Array()
    const cast = read?.kind === 'text' ? 'CAST(? AS TEXT)' : '?'
    const set = (value: Uint8Array): void => {
      folder.tinker((database) => {
        database.exec('PRAGMA synchronous = OFF')
        database.prepare(`UPDATE ${table} SET ${column} = ${cast} WHERE ${where}`).run(value)
      })
    }
    for (const [at, byte] of bytes.entries())
      for (const flip of FLIPS) {
        const flipped = Uint8Array.from(bytes)
        flipped[at] = byte ^ flip
        set(flipped)
        await check(`byte ${at} of ${table}.${column} ^ ${flip}`)
        flips += 1
      }
    set(bytes)
    expect(broken(await verify())).toEqual([])
    return flips
  }

  it.each(['body', 'leaf_hash', 'written_at'])(
    '%s: BROKEN at the version, and not served',
    async (column) => {
      const place = { table: 'user_versions', column, where: 'chain = 1 AND version = 2' }
      const flips = await flipColumn(place, async (flipped) => {
        const verdicts = await verify()
        expect(brokenAt(verdicts, TEA), flipped).toBe(2)
        expect(broken(verdicts), flipped).toHaveLength(1)
        expect(await store.version(TEA, 2), flipped).toEqual({ kind: 'broken', version: 2 })
      })
      expect(flips).toBeGreaterThan(40)
    },
  )

  it('head_hash of the chain: BROKEN at its newest version, and not served as the newest', async () => {
    await flipColumn({ table: 'chains', column: 'head_hash', where: 'id = 1' }, async (flipped) => {
      expect(brokenAt(await verify(), TEA), flipped).toBe(3)
      expect(await store.latest(TEA), flipped).toEqual({ kind: 'broken', version: 3 })
    })
  })

  it.each(['patient', 'domain'])(
    '%s of the chain: BROKEN at version 1 under whatever name it has',
    async (column) => {
      await flipColumn({ table: 'chains', column, where: 'id = 1' }, async (flipped) => {
        const verdicts = broken(await verify())
        expect(verdicts, flipped).toMatchObject([{ brokenAt: 1, versions: 3 }])
      })
    },
  )

  it('audience of the chain: BROKEN, and not served to the other audience', async () => {
    folder.tinker((database) =>
      database.exec("UPDATE chains SET audience = 'assistant' WHERE id = 1"),
    )
    expect(brokenAt(await verify(), { ...TEA, audience: 'assistant' })).toBe(1)
    expect(await store.latest({ ...TEA, audience: 'assistant' })).toMatchObject({ kind: 'broken' })
    expect(await store.latest(TEA)).toEqual({ kind: 'absent' })
    const strays = broken(await collect(store.verify({ audiences: ['user'] })))
    expect(strays).toHaveLength(3)
  })

  it.each([
    ['latest_version set back', 'UPDATE chains SET latest_version = 2 WHERE id = 1', 3, 'broken'],
    [
      'latest_version set forward',
      'UPDATE chains SET latest_version = 9 WHERE id = 1',
      4,
      'broken',
    ],
    [
      'hidden from lists as if withdrawn',
      'UPDATE chains SET withdrawn = 1 WHERE id = 1',
      3,
      'found',
    ],
    ['the newest version taken out', 'DELETE FROM user_versions WHERE at = 2', 3, 'broken'],
    ['a version in the middle taken out', 'DELETE FROM user_versions WHERE at = 1', 2, 'found'],
    [
      'a version given another number',
      'UPDATE user_versions SET version = 7 WHERE at = 2',
      3,
      'broken',
    ],
    ['every version taken out', 'DELETE FROM user_versions WHERE chain = 1', 1, 'broken'],
  ])('%s (%s): BROKEN at version %i, the newest is %s', async (...[, sql, version, newest]) => {
    folder.tinker((database) => {
      database.exec(sql)
    })
    expect(brokenAt(await verify(), TEA)).toBe(version)
    expect((await store.latest(TEA)).kind).toBe(newest)
    const outcome = await store.append(storeRecord({ value: 'written after' }))
    expect(outcome).toMatchObject({ kind: 'appended', record: { value: 'written after' } })
    expect(await store.latest(TEA)).toMatchObject({ record: { value: 'written after' } })
    expect(brokenAt(await verify(), SLEEP)).toBeUndefined()
  })

  it('a chain’s row taken out: its versions are reported, not forgotten', async () => {
    folder.tinker((database) => {
      database.exec('DELETE FROM chains WHERE id = 1')
    })
    const verdicts = await verify()
    expect(broken(verdicts)).toHaveLength(3)
    expect(verdicts).toHaveLength(4)
  })

  it('stored bytes moved to another slot are found there, and where they came from', async () => {
    folder.tinker((database) => {
      database.exec(
        'UPDATE user_versions SET body = (SELECT body FROM user_versions WHERE at = 0) WHERE at = 2',
      )
    })
    expect(brokenAt(await verify(), TEA)).toBe(3)
    expect(await store.latest(TEA)).toEqual({ kind: 'broken', version: 3 })
    folder.tinker((database) => {
      database.exec('UPDATE user_versions SET chain = 9 WHERE at = 3')
      database.exec('UPDATE user_versions SET chain = 2, version = 1 WHERE at = 0')
    })
    const verdicts = await verify()
    expect(brokenAt(verdicts, SLEEP)).toBe(1)
    expect(brokenAt(verdicts, TEA)).toBe(1)
    expect(await store.latest(SLEEP)).toMatchObject({ kind: 'broken' })
  })

  it('a store that was altered starts, and reports it', async () => {
    await store.close()
    folder.tinker((database) => {
      database.exec("UPDATE user_versions SET body = 'nonsense' WHERE at = 1")
    })
    store = await folder.open(keyRing === undefined ? {} : { keyRing })
    expect(brokenAt(await verify(), TEA)).toBe(2)
    expect(await store.latest(TEA)).toMatchObject({ kind: 'found', record: { value: 'three' } })
  })
})

describe('verification leaves the event loop to others', () => {
  it('a replay of many versions is cut into slices', async () => {
    const folder = makeStoreFolder()
    const store = await folder.open()
    const versions = 5_000
    await Promise.all(Array.from({ length: versions }, () => store.append(storeRecord())))
    let turns = 0
    let isRunning = true
    const count = (): void => {
      turns += 1
      if (isRunning) setImmediate(count)
    }
    setImmediate(count)
    for (const query of [
      { audiences: ['user'] as const },
      { audiences: ['user'] as const, slot: TEA },
    ]) {
      turns = 0
      const verdicts = await collect(store.verify(query))
      expect(verdicts).toMatchObject([{ versions, intact: true }])
      expect(turns).toBeGreaterThanOrEqual(5)
    }
    turns = 0
    for await (const line of store.exportLines({ audiences: ['user'] })) expect(line).not.toBe('')
    expect(turns).toBeGreaterThanOrEqual(5)
    isRunning = false
    await store.close()
    folder.remove()
  })

  it('what is appended while a replay runs breaks nothing', async () => {
    const folder = makeStoreFolder()
    const store = await folder.open()
    await Promise.all(Array.from({ length: 3_000 }, () => store.append(storeRecord())))
    const running = collect(store.verify({ audiences: ['user'] }))
    await store.append(storeRecord({ value: 'meanwhile' }))
    await store.append(storeRecord({ domain: 'new', value: 'meanwhile' }))
    expect((await running).map(({ intact }) => intact)).toEqual([true, true])
    await store.close()
    folder.remove()
  })
})
