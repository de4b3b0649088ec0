import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeStoreFolder, TEST_START_MS } from '../../adapters/records/sqlite-store.fixture.ts'
import { sampleRecord } from '../../domain/record-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { createJournalFollower } from './journal-follower.ts'

const clock = manualClock(TEST_START_MS)
let folder: ReturnType<typeof makeStoreFolder>
let store: RecordStore
beforeEach(async () => {
  folder = makeStoreFolder(clock)
  store = await folder.open()
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

/** Nobody else writes. */
const looksAt = (user: () => number) => ({
  reach: async () => undefined,
  again: async () => undefined,
  isFresh: true,
  hasOthers: false,
  get reached() {
    return { user: user(), assistant: store.journals.assistant.size, frames: 0 }
  },
})

/** A follower whose first read of the journals fails. */
function followFailing() {
  const said: number[] = []
  /** Seconds from when a version may have been written until it was told. */
  const late: number[] = []
  const failures: unknown[] = []
  const behind = store.behind.bind(store)
  let reads = 0
  store.behind = async (query) => {
    reads += 1
    if (reads === 1) throw new Error('frozen')
    return behind(query)
  }
  const follower = createJournalFollower({
    looks: looksAt(() => store.journals.user.size),
    store,
    clock,
    serviceName: 'test',
    onFannedOut: (_audience, seconds) => late.push(seconds),
    onFailure: (error) => void failures.push(error),
  })
  follower.join(async (happenings) => void said.push(...happenings.map(({ version }) => version)))
  return { failures, follower, readCount: () => reads, said, late }
}

describe('a read of the journals that failed', () => {
  test('is made again at the next look, and what it tells counts from the first', async () => {
    const { failures, follower, late, said } = followFailing()
    await store.append(sampleRecord())
    follower.wake()
    await expect.poll(() => failures).toHaveLength(1)
    await clock.advanceMsSettled(30_000)
    follower.wake()
    await expect.poll(() => late).toEqual([30])
    expect(said).toEqual([1])
  })

  test('after chains were freed is made again, although nothing was written since', async () => {
    const { failures, follower, readCount } = followFailing()
    follower.forget()
    await expect.poll(() => failures).toHaveLength(1)
    follower.wake()
    await expect.poll(readCount).toBe(2)
  })
})

test('a commit that is announced as a look ends is looked at', async () => {
  await store.append(sampleRecord())
  let userSize = 0
  const said: number[] = []
  const follower = createJournalFollower({
    looks: looksAt(() => userSize),
    store,
    clock,
    serviceName: 'test',
    onFannedOut: () => undefined,
    onFailure: (error) => {
      throw error
    },
  })
  follower.join(async (happenings) => void said.push(...happenings.map(({ version }) => version)))
  follower.wake()
  await Promise.resolve()
  userSize = 1
  follower.wake()
  await expect.poll(() => said).toEqual([1])
})
