// An export that the release before this one wrote (stored/): a new store on either engine takes it up, and what leaves it is the
// same, byte for byte.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { describe, expect, it } from 'vitest'
import type { NewRecord } from '../../domain/care-record.ts'
import { collect, TEA } from '../../domain/record-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { makeRecordDatabase, useRecordServer } from './postgres-store.fixture.ts'
import { makeStoreFolder, openMemoryStore, testKeyRing } from './sqlite-store.fixture.ts'
import { isIntact } from './sqlite-store-hooks.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const stored = readFileSync(
  fileURLToPath(new URL('./stored/care-export.ndjson', import.meta.url)),
  'utf8',
)
const lines = stored.trimEnd().split('\n')
async function* storedLines() {
  yield* lines
}
const at = '2026-06-03T09:00:00.000Z'
const keyRing = testKeyRing('key-1')
const DROPS = { patient: 'wren', domain: 'médication', audience: 'user' } as const

type Place = { readonly open: () => Promise<RecordStore>; readonly end: () => Promise<void> }

/** What lists and streams have of it, and a record that is withdrawn. */
const shown = async (store: RecordStore) => [
  await store.heads({ reach: [{ audience: 'user' }], limit: 9 }),
  await store.behind({ reach: [{ audience: 'user' }], from: 0, limit: 9 }),
  await store.latest({ ...TEA, domain: 'walks' }),
]

function describeImport(engine: string, start: () => Promise<Place>): void {
  it(`C17: an export of the last release is taken up, exported as it was, and grows: ${engine}`, async () => {
    const place = await start()
    try {
      const store = await place.open()
      expect(await store.importLines({ lines: storedLines, at })).toEqual({ user: 6, assistant: 2 })
      expect(await collect(store.exportLines({ audiences: AUDIENCES }))).toEqual(lines)
      expect(await isIntact(store)).toBe(true)
      expect(await store.latest(TEA)).toMatchObject({ record: { value: 'three' } })
      expect(await store.append(storeRecord({ domain: 'walks' }))).toEqual({ kind: 'erased' })
      expect(await store.latest(DROPS)).toMatchObject({ record: { value: 'twelve drops' } })
      const [freed] = await collect(
        store.verify({ audiences: ['user'], slot: { ...DROPS, freed: 1 } }),
      )
      expect(freed).toMatchObject({ versions: 1, intact: true })
      await expect(store.importLines({ lines: storedLines, at })).rejects.toThrow(/is not empty/)
      await store.close()
      const reopened = await place.open()
      const grown = storeRecord({ ...DROPS, value: 'ten again' })
      expect(await reopened.append(grown)).toMatchObject({ record: { version: 2 } })
      expect(await reopened.append(storeRecord({ domain: 'walks' }))).toEqual({ kind: 'erased' })
      expect(await isIntact(reopened)).toBe(true)
      await reopened.close()
    } finally {
      await place.end()
    }
  })

  it(`C17: an import that was cut off goes on where it stopped, and not with another export: ${engine}`, async () => {
    const place = await start()
    const from = await openMemoryStore()
    for (let version = 1; version <= 560; version += 1)
      await from.append(storeRecord({ domain: `tea-${version % 3}`, value: `value ${version}` }))
    const exported = await collect(from.exportLines({ audiences: AUDIENCES }))
    await from.close()
    let passes = 0
    async function* cutLines() {
      passes += 1
      for (const [index, line] of exported.entries()) {
        if (passes === 2 && index > 550) throw new Error('killed')
        yield line
      }
    }
    async function* wholeLines() {
      yield* exported
    }
    try {
      const store = await place.open()
      await expect(store.importLines({ lines: cutLines, at })).rejects.toThrow('killed')
      expect([0, 560]).not.toContain(store.journals.user.size)
      expect(await store.isHalfImported()).toBe(true)
      await store.close()
      const reopened = await place.open()
      const other = reopened.importLines({ lines: storedLines, at })
      await expect(other).rejects.toThrow(/is not empty/)
      const sizes = await reopened.importLines({ lines: wholeLines, at })
      expect(sizes).toEqual({ user: 560, assistant: 0 })
      expect(await reopened.isHalfImported()).toBe(false)
      expect(await collect(reopened.exportLines({ audiences: AUDIENCES }))).toEqual(exported)
      expect(await isIntact(reopened)).toBe(true)
      await reopened.close()
    } finally {
      await place.end()
    }
  })

  it(`C40: withdrawn records are taken up as such, and those that came back: ${engine}`, async () => {
    const place = await start()
    const from = await openMemoryStore()
    const write = (over: Partial<NewRecord>) => from.append(storeRecord(over))
    const gone = { value: '', status: 'entered-in-error' } as const
    for (const domain of ['tea', 'walks', 'sleep']) await write({ domain })
    for (const domain of ['tea', 'walks']) await write({ domain, ...gone })
    await write({ domain: 'tea', value: 'back' })
    const exported = await collect(from.exportLines({ audiences: AUDIENCES }))
    try {
      const store = await place.open()
      await store.importLines({
        lines: async function* () {
          yield* exported
        },
        at,
      })
      expect(await shown(store)).toEqual(await shown(from))
      expect(await collect(store.exportLines({ audiences: AUDIENCES }))).toEqual(exported)
      expect(await isIntact(store)).toBe(true)
      await store.close()
    } finally {
      await from.close()
      await place.end()
    }
  })
}

const onFile = (sealed: boolean) => async (): Promise<Place> => {
  const folder = makeStoreFolder()
  return {
    open: async () => folder.open(sealed ? { keyRing } : {}),
    end: async () => folder.remove(),
  }
}
describeImport('SQLite, sealed', onFile(true))
describeImport('SQLite, in the clear', onFile(false))

describe.skipIf(postgresMissing !== undefined)(
  `on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    describeImport('PostgreSQL, sealed', async () => {
      const database = await makeRecordDatabase()
      return {
        open: async () => (await database.open({ keyRing })).records,
        end: () => database.end(),
      }
    })
  },
)
