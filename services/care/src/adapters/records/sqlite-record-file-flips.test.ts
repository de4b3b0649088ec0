// Bytes of the store's file flipped one at a time: each flip is located, refused at opening, or changes no answer. Sessions,
// frames and audit rows lie in a second file, outside this test; checkpoints have theirs in sqlite-record-opening.test.ts.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collect } from '../../domain/record-store.fixture.ts'
import {
  type ReadOutcome,
  type RecordStore,
  RecordStoreUnavailable,
} from '../../domain/record-store.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { makeStoreFolder, type StoreFolder, testKeyRing } from './sqlite-store.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const IS_LONG = process.env.TALLYSTICK_LONG === '1'
/** A prime, so that the sample does not keep to one place in the pages; offset 0 onwards. */
const STRIDE = 509
/** SQLite's header, whose bytes each mean something else: never sampled. */
const HEADER_BYTES = 100
/**
 * The long run flips every byte this near to one that is not zero, about 12,000 of 94,000. The rest is free space in pages,
 * of which one byte proves what the next does, and is sampled in the long run too.
 */
const NEAR_BYTES = 8
const SAMPLE = IS_LONG
  ? `every byte but free space, and of that every ${STRIDE}th`
  : `the header and every ${STRIDE}th byte (all but free space with TALLYSTICK_LONG=1)`
const REQUEST = { mac: 'cd'.repeat(32), expiresAtMs: 9e15 }
const DOMAINS = ['tea', 'sleep', 'plan'] as const

const makeSlot = (domain: string) =>
  ({ patient: 'ann', domain, audience: domain === 'plan' ? 'assistant' : 'user' }) as const

const isFreeSpace = (bytes: Buffer, at: number): boolean =>
  bytes.subarray(Math.max(0, at - NEAR_BYTES), at + NEAR_BYTES + 1).every((byte) => byte === 0)

const isFlipped = (bytes: Buffer, at: number): boolean =>
  at < HEADER_BYTES || at % STRIDE === 0 || (IS_LONG && !isFreeSpace(bytes, at))

async function fill(store: RecordStore): Promise<void> {
  for (const value of ['one', 'two'])
    for (const domain of DOMAINS)
      await store.append(storeRecord({ ...makeSlot(domain), value, priority: 0.25 }))
  await store.append(storeRecord({ value: 'by request' }), REQUEST)
  await store.noteSubscribers(REQUEST, 5)
}

/** Everything that the store can be asked, in one text each. */
async function answers(store: RecordStore) {
  const reads: [string, ReadOutcome][] = []
  for (const domain of DOMAINS) {
    const slot = makeSlot(domain)
    reads.push([domain, await store.latest(slot)])
    for (const version of [1, 2, 3, 4])
      reads.push([`${domain}/${version}`, await store.version(slot, version)])
  }
  const verdicts = await collect(store.verify({ audiences: AUDIENCES }))
  const reach = AUDIENCES.map((audience) => ({ audience, patient: 'ann' }))
  const sinceIso = '2000-01-01T00:00:00.000Z'
  const lists = {
    heads: await store.heads({ reach, limit: 10 }),
    names: await store.names({ nameKind: 'domain', prefix: '', reach, limit: 10 }),
    changes: await store.changedChains({ reach, sinceIso, limit: 10 }),
    versions: await Promise.all(
      DOMAINS.map((domain) => store.versions({ slot: makeSlot(domain), after: 0, limit: 10 })),
    ),
    verdicts,
  }
  return { reads, lists, isIntact: verdicts.every(({ intact }) => intact) }
}

describe.each([
  ['in the clear', undefined],
  ['sealed', testKeyRing('key-1')],
])('the store’s file, %s', (_name, keyRing) => {
  let folder: StoreFolder
  let bytes: Buffer
  let expected: Awaited<ReturnType<typeof answers>>
  const options = keyRing === undefined ? {} : { keyRing }
  beforeAll(async () => {
    folder = makeStoreFolder()
    const store = await folder.open(options)
    await fill(store)
    await store.close()
    const again = await folder.open(options)
    expected = await answers(again)
    await again.close()
    bytes = readFileSync(folder.databasePath)
  })
  afterAll(() => {
    folder.remove()
  })

  /** What a store over these bytes comes to. */
  const judge = async (flipped: Buffer): Promise<'refused' | 'located' | 'unchanged'> => {
    for (const end of ['-wal', '-shm']) rmSync(`${folder.databasePath}${end}`, { force: true })
    writeFileSync(folder.databasePath, flipped)
    let store: RecordStore
    try {
      store = await folder.open(options)
    } catch (error) {
      if (error instanceof RecordStoreUnavailable) return 'refused'
      throw error
    }
    try {
      const found = await answers(store)
      for (const [at, [, read]] of found.reads.entries()) {
        if (read.kind !== 'found') continue
        const whole = expected.reads[at]?.[1]
        // The version before it may have been altered: then it is withheld, and this one is served without it.
        const served = read.previous === undefined ? { ...whole, previous: undefined } : whole
        if (JSON.stringify(read) !== JSON.stringify(served))
          throw new Error('an altered version was served')
      }
      if (!found.isIntact) return 'located'
      expect(found).toEqual(expected)
      const repeated = await store.append(storeRecord(), REQUEST)
      expect(repeated).toMatchObject({ kind: 'repeated', subscribers: 5, record: { version: 3 } })
      return 'unchanged'
    } finally {
      await store.close()
    }
  }

  it(`${SAMPLE} flipped in turn is located, refused at opening, or changes no answer`, async () => {
    expect(expected.isIntact).toBe(true)
    const counts = { refused: 0, located: 0, unchanged: 0 }
    for (const [at, byte] of bytes.entries()) {
      if (!isFlipped(bytes, at)) continue
      const flipped = Buffer.from(bytes)
      flipped[at] = byte ^ 0xff
      try {
        counts[await judge(flipped)] += 1
      } catch (error) {
        throw new Error(`byte ${at}: ${String(error)}`, { cause: error })
      }
    }
    expect(counts.refused).toBeGreaterThan(0)
    expect(counts.unchanged).toBeGreaterThan(0)
    expect(counts.located).toBeGreaterThan(0)
  })
})
