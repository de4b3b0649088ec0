import { chainUri } from '../wire/record-uri.ts'
import type { CareRecord } from './care-record.ts'
import { retractionSentence } from './retraction.ts'

/** What changed in one record since a time. */
export type ChangedRecord = {
  /** The newest version. */
  readonly record: CareRecord
  readonly uri: string
  /** Versions written since. */
  readonly revisions: number
  /** The value of the version before the newest, null where there is none. */
  readonly previousValue: string | null
  /** Everything that may have been said since and no longer holds, oldest first. */
  readonly withdrawn: readonly string[]
  /** Undefined where the newest version does not change the value. */
  readonly retraction: string | undefined
}

/** The versions of a chain that matter for a change: those written since, and the one before them where there is one. */
export type ChainChanges = {
  readonly before: CareRecord | undefined
  /** By rising version; at least one. */
  readonly since: readonly [CareRecord, ...CareRecord[]]
}

/** Sums up what changed in one chain. */
export function changedRecord({ before, since }: ChainChanges): ChangedRecord {
  const versions = before === undefined ? since : [before, ...since]
  const record = versions.at(-1) ?? since[0]
  const previous = versions.at(-2)
  const past = versions.slice(0, -1).map(({ value }) => value)
  return {
    record,
    uri: chainUri(record),
    revisions: since.length,
    previousValue: previous?.value ?? null,
    withdrawn: [...new Set(past)].filter((value) => value !== record.value),
    retraction:
      previous === undefined
        ? undefined
        : retractionSentence({ ...record, previousValue: previous.value }),
  }
}
