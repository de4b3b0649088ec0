// Shared by the suites of record stores: a fresh store for each test, quick ways to write and check, and a way to change
// stored data behind the store's back.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect } from 'vitest'
import { AUDIENCES, type Audience } from '../wire/audience.ts'
import type { NamedChain } from '../wire/record-uri.ts'
import type { CareRecord, NewRecord } from './care-record.ts'
import type { AppendOutcome, ChainVerification, RecordStore } from './record-store.ts'
import { type ExportReport, verifyExport } from './verify-export.ts'

export type StoreUnderTest = {
  readonly store: RecordStore
  /** Changes a version's stored entry as someone with access to the disk could, and nothing else. */
  tamper(slot: NamedChain, version: number, change: (entry: string) => string): void | Promise<void>
  end(): Promise<void>
}

/** 2026-06-01T08:00:00.000Z. */
export const START_MS = 1_780_300_800_000
export const TEA = { patient: 'ann', domain: 'tea', audience: 'user' } as const
export const PLAN = { patient: 'ann', domain: 'plan', audience: 'assistant' } as const

export const sampleRecord = (over: Partial<NewRecord> = {}): NewRecord => ({
  ...TEA,
  value: 'Ann takes her tea without sugar.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
  ...over,
})

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

/** How many versions a store has; fails if one does not hold. */
export async function intactVersions(store: Pick<RecordStore, 'verify'>): Promise<number> {
  const verdicts = await collect(store.verify({ audiences: AUDIENCES }))
  expect(verdicts.filter(({ intact }) => !intact)).toEqual([])
  return verdicts.reduce((sum, { versions }) => sum + versions, 0)
}

/** The record of an accepted append; throws for any other outcome. */
export function appended(outcome: AppendOutcome): CareRecord {
  if (outcome.kind !== 'appended') throw new Error(`the write was ${outcome.kind}`)
  return outcome.record
}

export type RecordStoreFixture = {
  readonly clock: ManualClock
  readonly store: RecordStore
  readonly tamper: StoreUnderTest['tamper']
  readonly write: (over?: Partial<NewRecord>) => Promise<CareRecord>
  /** The verdicts on all chains, or on those of some audiences. */
  readonly verify: (audiences?: readonly Audience[]) => Promise<ChainVerification[]>
  /** What a replay of an export finds, for everything or for one chain. */
  readonly checkExport: (slot?: NamedChain) => Promise<ExportReport>
}

/** Registers a suite's hooks. */
export function useRecordStore(
  start: (clock: ManualClock) => Promise<StoreUnderTest>,
): RecordStoreFixture {
  let clock: ManualClock
  let under: StoreUnderTest
  beforeEach(async () => {
    clock = manualClock(START_MS)
    under = await start(clock)
  })
  afterEach(() => under.end())
  return {
    get clock() {
      return clock
    },
    get store() {
      return under.store
    },
    tamper: (slot, version, change) => under.tamper(slot, version, change),
    write: async (over = {}) => appended(await under.store.append(sampleRecord(over))),
    verify: (audiences = AUDIENCES) => collect(under.store.verify({ audiences })),
    checkExport: (slot) =>
      verifyExport(
        under.store.exportLines(
          slot === undefined ? { audiences: AUDIENCES } : { audiences: [slot.audience], slot },
        ),
      ),
  }
}
