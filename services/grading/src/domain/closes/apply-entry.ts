/** The fold: what an event is after one more entry. Every store uses it; verifying the ledger repeats it. */

import { type MarketType, marketShape } from '../markets/markets.ts'
import { readMarketPath } from '../markets/parse-market.ts'
import type {
  CloseRecord,
  EarliestStart,
  EventInfo,
  EventState,
  OutcomeRecord,
} from './event-state.ts'
import type { CloseEntry, EventLedgerEntry, OutcomeEntry, SnapshotEntry } from './ledger-entry.ts'
import type { PriceRecord, RecordReference } from './price-log.ts'
import { PriceLog } from './price-log.ts'

/**
 * A day never replaces a start known to the second, an entry without a feed id keeps the known one, and a feed that came
 * second to a match only moves its start.
 */
export function latestInfo(known: EventInfo | undefined, entry: EventInfo): EventInfo {
  if (known === undefined) return entry
  const { startAtSeconds, startPrecision } = entry
  const latest = entry.ownPath === undefined ? entry : { ...known, startAtSeconds, startPrecision }
  const { feedId } = known
  const info = feedId === undefined || latest.feedId !== undefined ? latest : { ...latest, feedId }
  if (info.startPrecision === 'second' || known.startPrecision === 'day') return info
  return { ...info, startAtSeconds: known.startAtSeconds, startPrecision: known.startPrecision }
}

function earlierStart(known: EarliestStart | undefined, entry: EventInfo): EarliestStart {
  const { startAtSeconds, startPrecision } = entry
  const start = { startAtSeconds, startPrecision }
  if (known === undefined) return start
  if (known.startPrecision !== startPrecision) return startPrecision === 'second' ? start : known
  return startAtSeconds < known.startAtSeconds ? start : known
}

/** The id or path by which a feed knows an event. */
export const ownName = ({ feedId, ownPath, path }: EventInfo): string => feedId ?? ownPath ?? path

/** A feed's first name of an event stays. */
const feedsWith = (
  known: EventState['feeds'] | undefined,
  { event, feed }: EventLedgerEntry,
): EventState['feeds'] =>
  known?.[feed] === undefined ? { ...known, [feed]: ownName(event) } : known

/** The prices of an entry, whose texts are canonical. */
function readOdds(texts: Readonly<Record<string, string>>): Record<string, number> {
  const odds: Record<string, number> = {}
  for (const selection in texts) {
    const decimal = Number(texts[selection])
    if (decimal > 1) odds[selection] = decimal
  }
  return odds
}

/** Whether the margin can be removed: one book prices every selection. */
export function isCompleteBook(
  type: MarketType,
  odds: Readonly<Record<string, number>>,
  isWhole = false,
): boolean {
  const shape = marketShape(type)
  if (!shape.isOneBook) return false
  if (shape.selections === undefined) return isWhole && Object.keys(odds).length > 1
  return shape.selections.every((selection) => odds[selection] !== undefined)
}

/** The prices of an entry, as an event keeps them. */
function priceRecords(
  entry: CloseEntry | SnapshotEntry,
  record: RecordReference,
): readonly PriceRecord[] {
  return entry.prices.map((prices) => {
    const { family, line, participant, period, type } = readMarketPath(prices.market)
    const odds = readOdds(prices.odds)
    return {
      feed: entry.feed,
      isRedistributable: entry.isRedistributable,
      isSynthetic: entry.isSynthetic,
      market: prices.market,
      family,
      type,
      period,
      line,
      participant,
      book: prices.book,
      odds,
      isComplete: isCompleteBook(type, odds, prices.isWhole),
      isAlternative: prices.isAlternative,
      capturedAtSeconds: prices.capturedAtSeconds,
      recordedAtSeconds: entry.receivedAtSeconds,
      record,
    }
  })
}

/** What an entry replaces as a whole: one feed's main lines of one market at one book, or its further lines. */
export const closeGroup = (close: {
  readonly family: string
  readonly book: string
  readonly feed: string
  readonly isAlternative?: boolean | undefined
}): string =>
  `${close.feed}|${close.book}|${close.family}${close.isAlternative === true ? '|alternative' : ''}`

function applyCloses(
  closes: readonly CloseRecord[],
  entry: CloseEntry,
  record: RecordReference,
): readonly CloseRecord[] {
  const { status, rule, event } = entry
  const common = { rule, anchoredStartSeconds: event.startAtSeconds }
  const added = priceRecords(entry, record)
  const groups = new Set(closes.length === 0 ? [] : added.map(closeGroup))
  const rest = closes.filter((close) => !groups.has(closeGroup(close)))
  if (status === 'void') return rest
  return [...rest, ...added.map((price): CloseRecord => ({ ...price, status, ...common }))]
}

/** A later price from the same source is a correction if it has no time, and a new price if it has one. */
const isReplacedBy = (old: PriceRecord, price: PriceRecord): boolean =>
  old.capturedAtSeconds === undefined &&
  price.capturedAtSeconds === undefined &&
  closeGroup(old) === closeGroup(price)

function applyOutcome(
  outcomes: readonly OutcomeRecord[],
  entry: OutcomeEntry,
  record: RecordReference,
): readonly OutcomeRecord[] {
  const others = outcomes.filter(({ period }) => period !== entry.period)
  if (entry.status === 'withdrawn') return others
  const { period, status, score, settledAtSeconds } = entry
  const known = outcomes.find((outcome) => outcome.period === period)
  // A file of winners and one of places each declare their own markets; a score decides all of them.
  const isDeclared = status === 'final' && score === undefined && known?.score === undefined
  const results =
    isDeclared && known !== undefined ? { ...known.results, ...entry.results } : entry.results
  return [...others, { period, status, score, results, settledAtSeconds, record }]
}

function applySnapshots(
  { hadResult, snapshots }: EventState,
  entry: SnapshotEntry,
  record: RecordReference,
): PriceLog {
  // A sender who knows the result could choose the price.
  if (hadResult) return snapshots
  const added = priceRecords(entry, record)
  // Most prices have a time and replace nothing: a market polled for days has thousands.
  const timeless = added.filter((price) => price.capturedAtSeconds === undefined)
  if (snapshots.length === 0 || timeless.length === 0) return snapshots.with(added)
  return snapshots.without((old) => timeless.some((price) => isReplacedBy(old, price))).with(added)
}

/** The event after an entry about it; `known` is undefined before its first. */
export function applyEntry(
  known: EventState | undefined,
  entry: EventLedgerEntry,
  record: RecordReference,
): EventState {
  const state: EventState = {
    info: latestInfo(known?.info, entry.event),
    earliestStart: earlierStart(known?.earliestStart, entry.event),
    hadResult: known?.hadResult ?? false,
    feeds: feedsWith(known?.feeds, entry),
    closes: known?.closes ?? [],
    snapshots: known?.snapshots ?? PriceLog.fromRecords([]),
    outcomes: known?.outcomes ?? [],
  }
  if (entry.type === 'close') return { ...state, closes: applyCloses(state.closes, entry, record) }
  if (entry.type === 'outcome')
    return {
      ...state,
      hadResult: state.hadResult || entry.status === 'final',
      outcomes: applyOutcome(state.outcomes, entry, record),
    }
  return { ...state, snapshots: applySnapshots(state, entry, record) }
}
