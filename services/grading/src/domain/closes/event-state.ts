/**
 * What the ledger knows of one event: the fold of its entries (apply-entry.ts). None of it is stored separately, so a
 * grade comes from the same entries that a reader can check.
 */
import type { SelectionResult } from '../../wire/upload.ts'
import type { PriceLog, PriceRecord, RecordReference } from './price-log.ts'

/** Who plays, and when. */
export type EventInfo = {
  /** `sport/event`, the prefix of all its market keys. */
  readonly path: string
  readonly sport: string
  readonly league: string
  readonly home: string
  readonly away: string
  /** The actual start if a feed gives it, otherwise the scheduled one; midnight UTC if only the day is known. */
  readonly startAtSeconds: number
  readonly startPrecision: 'second' | 'day'
  /** The feed's own id, if any: it survives a postponement. */
  readonly feedId?: string
  /** If another feed filed the match first: the path that this entry's feed would have used. */
  readonly ownPath?: string
}

/** The earliest start that any entry ever gave, to the second where one did. */
export type EarliestStart = Pick<EventInfo, 'startAtSeconds' | 'startPrecision'>

/** Where a close comes from: the last price before the start, or prices that the source declares closing. */
export type CloseRule = 'last_before_start' | 'source_declared'

/** A close that counts now; superseded and void closes are only in the ledger. */
export type CloseRecord = PriceRecord & {
  readonly status: 'provisional' | 'final'
  readonly rule: CloseRule
  readonly anchoredStartSeconds: number
}

/** What happened in one period of an event. */
export type OutcomeRecord = {
  readonly period: string
  readonly status: 'final' | 'void'
  readonly score?: { readonly home: number; readonly away: number } | undefined
  /** Results that no score gives, by market path and selection. */
  readonly results?: Readonly<Record<string, Readonly<Record<string, SelectionResult>>>> | undefined
  readonly settledAtSeconds: number
  readonly record: RecordReference
}

/** Everything about one event that counts. */
export type EventState = {
  readonly info: EventInfo
  /** A later start never makes a late pick or price count. */
  readonly earliestStart: EarliestStart
  /** Whether a final result was ever recorded: earlier prices that arrive after it count nowhere. */
  readonly hadResult: boolean
  /** The event's name in each feed: the feed's own id, or the path under which it would file the event. */
  readonly feeds: Readonly<Record<string, string>>
  readonly closes: readonly CloseRecord[]
  /** All pre-close prices recorded before a result, in ledger order. */
  readonly snapshots: PriceLog
  readonly outcomes: readonly OutcomeRecord[]
}

/** A day of a venue's zone, until its end in the last zone that feeds record, the Pacific's: 8 hours beside UTC. */
const DAY_SECONDS = (24 + 8) * 3_600

/** Whether an event has certainly started by a moment, Unix seconds. If only the day is known, the
 * day must be over where the match is played. */
export function hasStarted(
  { startAtSeconds, startPrecision }: Pick<EventInfo, 'startAtSeconds' | 'startPrecision'>,
  atSeconds: number,
): boolean {
  return atSeconds >= (startPrecision === 'day' ? startAtSeconds + DAY_SECONDS : startAtSeconds)
}
