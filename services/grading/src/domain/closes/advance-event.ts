/** Takes one observation into an event: decides its entries, folds them, and updates the truth table. */

import { canonicalJson } from '@tallystick/hashchain'
import { eventContribution } from '../calibration/event-contribution.ts'
import type { TruthTally } from '../calibration/truth-tally.ts'
import { readMarketPath } from '../markets/parse-market.ts'
import { applyEntry, closeGroup, latestInfo } from './apply-entry.ts'
import type { CloseRecord, EventInfo, EventState, OutcomeRecord } from './event-state.ts'
import type { IngestBatch, IngestOutcome } from './grading-store.ts'
import type {
  CloseEntry,
  EntryPrices,
  EventLedgerEntry,
  ObservedOutcome,
  OutcomeEntry,
} from './ledger-entry.ts'
import type { Observation, Refusal } from './observation.ts'
import type { CommittedPick } from './pick-opening.ts'
import type { PriceRecord, RecordReference } from './price-log.ts'

export const NOTHING_INGESTED: IngestOutcome = {
  events: 0,
  snapshots: 0,
  closes: 0,
  outcomes: 0,
  superseded: 0,
  unchanged: 0,
  declined: [],
}

export function addIngested(left: IngestOutcome, right: IngestOutcome): IngestOutcome {
  return {
    events: left.events + right.events,
    snapshots: left.snapshots + right.snapshots,
    closes: left.closes + right.closes,
    outcomes: left.outcomes + right.outcomes,
    superseded: left.superseded + right.superseded,
    unchanged: left.unchanged + right.unchanged,
    declined: right.declined.length === 0 ? left.declined : [...left.declined, ...right.declined],
  }
}

/** Replaces an event's old contribution to the truth table with its new one. */
export function recount(
  tally: TruthTally,
  change: {
    readonly before: EventState | undefined
    readonly beforePicks: readonly CommittedPick[]
    readonly after: EventState | undefined
    readonly afterPicks: readonly CommittedPick[]
  },
): void {
  tally.add(eventContribution(change.before, change.beforePicks), -1)
  tally.add(eventContribution(change.after, change.afterPicks), 1)
}

/** Advances an event; `state` is undefined if the observation says nothing new. */
export function advanceEvent(options: {
  readonly state: EventState | undefined
  /** Committed picks on the event; read only when a result makes them count. */
  readonly picks: () => readonly CommittedPick[]
  readonly observation: Observation
  readonly batch: Omit<IngestBatch, 'observations'>
  readonly tally: TruthTally
  readonly append: (entry: EventLedgerEntry) => RecordReference
}) {
  const { state: before, observation, batch, tally, append } = options
  const { declined, entries, unchanged } = decideEntries(before, observation, batch)
  const outcome = { ...NOTHING_INGESTED, unchanged, declined }
  let after = before
  for (const entry of entries) {
    after = applyEntry(after, entry, append(entry))
    outcome[`${entry.type}s`] += 1
    if (entry.type !== 'snapshot' && entry.supersedes !== undefined) outcome.superseded += 1
  }
  if (after === undefined || after === before) return { state: undefined, outcome }
  const isSettled = after.outcomes.length + (before?.outcomes.length ?? 0) > 0
  const picks = isSettled ? options.picks() : []
  if (isSettled) recount(tally, { before, beforePicks: picks, after, afterPicks: picks })
  return { state: after, outcome: { ...outcome, events: before === undefined ? 1 : 0 } }
}

/** Whether an observation says anything new. */
export const isNews = (
  state: EventState | undefined,
  observation: Observation,
  batch: Omit<IngestBatch, 'observations'>,
): boolean => decideEntries(state, observation, batch).entries.length > 0

const refusal = (reason: Refusal['reason'], { event }: Observation, detail: string): Refusal => ({
  reason,
  place: event.path,
  detail,
})

const sameOdds = (known: PriceRecord, { odds }: EntryPrices): boolean => {
  const texts = Object.entries(odds)
  return (
    texts.length === Object.keys(known.odds).length &&
    texts.every(([selection, text]) => known.odds[selection] === Number(text))
  )
}

/** Whether an event's start changed; a day alone never changes a start that is known to the second. */
const isNewInfo = (known: EventInfo | undefined, info: EventInfo): boolean =>
  known !== undefined &&
  (info.startPrecision === 'second' || known.startPrecision === 'day') &&
  known.startAtSeconds !== info.startAtSeconds

function newSnapshots(
  state: EventState | undefined,
  observation: Observation,
  feed: string,
): readonly EntryPrices[] {
  if (state === undefined) return observation.snapshots
  return observation.snapshots.filter((prices) => {
    const { book, capturedAtSeconds: seen, market } = prices
    const source = { feed, book, market }
    const last = state.snapshots.last(source)
    if (last === undefined) return true
    // A price counts once per minute, even if an older payload arrives after a newer one.
    const ofMinute = seen === undefined ? [] : state.snapshots.ofMinute(source, seen)
    return !sameOdds(last, prices) && !ofMinute.some((each) => sameOdds(each, prices))
  })
}

type CloseGroup = {
  readonly prices: EntryPrices[]
  readonly known: readonly CloseRecord[]
}

function closeGroups(
  state: EventState | undefined,
  observation: Observation,
  feed: string,
): readonly CloseGroup[] {
  const groups: (CloseGroup & Parameters<typeof closeGroup>[0])[] = []
  const closes = state?.closes ?? []
  for (const prices of observation.closes) {
    const { book, isAlternative = false, market } = prices
    const { family } = readMarketPath(market)
    // There are few: comparing them costs less than building their names.
    const found = groups.find(
      (each) =>
        each.family === family && each.book === book && each.isAlternative === isAlternative,
    )
    if (found !== undefined) {
      found.prices.push(prices)
      continue
    }
    const group = { feed, book, family, isAlternative }
    const isOfGroup = (close: CloseRecord) => closeGroup(close) === closeGroup(group)
    const known = closes.length === 0 ? closes : closes.filter(isOfGroup)
    groups.push({ ...group, prices: [prices], known })
  }
  return groups
}

/** Unchanged provisional prices get a new entry only this close to the start, seconds. */
const REFRESH_WITHIN_SECONDS = 3_600

const newest = (prices: CloseGroup['prices'] | CloseGroup['known'], ifUnknown: number): number =>
  Math.max(...prices.map(({ capturedAtSeconds = ifUnknown }) => capturedAtSeconds))

/** How much later prices were captured than those that are known, whatever their lines are, seconds. */
const laterBySeconds = ({ prices, known }: CloseGroup): number =>
  newest(prices, Infinity) - newest(known, -Infinity)

/** What was observed, but a source that answers what it answered before does not move a start back. */
function withCurrentStart(
  state: EventState | undefined,
  observation: Observation,
  groups: readonly CloseGroup[],
): Observation {
  const ages = groups.map(laterBySeconds)
  const isOld = Math.min(...ages) < 0 && Math.max(...ages) <= 0
  if (state === undefined || observation.closeStatus !== 'provisional' || !isOld) return observation
  const { startAtSeconds, startPrecision } = state.info
  return { ...observation, event: { ...observation.event, startAtSeconds, startPrecision } }
}

function isNewGroup({ prices, known }: CloseGroup, observation: Observation): boolean {
  const { closeStatus: status, event } = observation
  if (status === 'void') return known.length > 0
  if (known.length === 0) return true
  const isFinal = known.every((close) => close.status === 'final')
  if (isFinal && status === 'provisional') return false
  if (!isFinal && status === 'final') return true
  if (status === 'provisional' && laterBySeconds({ prices, known }) < 0) return false
  const isTooEarlyToMatter =
    status === 'provisional' &&
    prices.every(
      ({ capturedAtSeconds = event.startAtSeconds }) =>
        event.startAtSeconds - capturedAtSeconds > REFRESH_WITHIN_SECONDS,
    )
  return (
    known.length !== prices.length ||
    !prices.every((each) =>
      known.some(
        (close) =>
          close.market === each.market &&
          sameOdds(close, each) &&
          (close.capturedAtSeconds === each.capturedAtSeconds || isTooEarlyToMatter),
      ),
    )
  )
}

const sameOutcome = (known: OutcomeRecord | undefined, seen: ObservedOutcome): boolean => {
  if (known === undefined) return seen.status === 'withdrawn'
  const isSameScore =
    known.status === seen.status &&
    known.score?.home === seen.score?.home &&
    known.score?.away === seen.score?.away
  // Declared results of other markets stay.
  const others = seen.score === undefined && seen.status === 'final' ? known.results : undefined
  // Canonical: reordered members are not a correction.
  return (
    isSameScore &&
    canonicalJson(known.results ?? {}) === canonicalJson({ ...others, ...seen.results })
  )
}

/**
 * Decides an observation's entries from what the ledger knows of its event. Pure. `unchanged` counts the parts that were
 * already known; `declined` counts those that come too late or too early.
 */
function decideEntries(
  state: EventState | undefined,
  observed: Observation,
  batch: Omit<IngestBatch, 'observations'>,
) {
  const { receivedAtSeconds, rawSha256 } = batch
  const groups = closeGroups(state, observed, batch.feed.feed)
  const observation = withCurrentStart(state, observed, groups)
  const { feed, isRedistributable, isSynthetic } = batch.feed
  // Members are in the order of canonical JSON, so it is written without sorting.
  const source = { event: observation.event, feed, isRedistributable, isSynthetic }
  const received = { rawSha256, receivedAtSeconds }
  const entries: EventLedgerEntry[] = []
  const declined: Refusal[] = []
  const early = newSnapshots(state, observation, feed)
  const sameSnapshots = observation.snapshots.length - early.length
  const isTooLate = state?.hadResult === true && early.length > 0
  if (isTooLate)
    declined.push(
      refusal('after_result', observation, `${early.length} prices of before the close`),
    )
  const snapshots = isTooLate ? [] : early
  if (snapshots.length > 0 || isNewInfo(state?.info, observation.event))
    entries.push({ ...source, prices: snapshots, ...received, type: 'snapshot' })
  const { closeStatus, rule } = observation
  const fresh = groups.filter((group) => isNewGroup(group, observation))
  if (fresh.length > 0) {
    const supersedes = [
      ...new Set(fresh.flatMap(({ known }) => known.map(({ record }) => record.seq))),
    ]
    entries.push({
      ...source,
      prices: fresh.flatMap(({ prices }) => prices),
      ...received,
      rule,
      status: closeStatus,
      ...(supersedes.length === 0 ? {} : { supersedes }),
      type: 'close',
    } satisfies CloseEntry)
  }
  let sameOutcomes = 0
  // If one observation moves the start and gives a result, the later start decides.
  const { startAtSeconds } = latestInfo(state?.info, observation.event)
  const startsIn = Math.max(startAtSeconds, state?.info.startAtSeconds ?? 0) - receivedAtSeconds
  for (const outcome of observation.outcomes) {
    const { period, results, score, status } = outcome
    const known = state?.outcomes.find((each) => each.period === period)
    if (sameOutcome(known, outcome)) {
      sameOutcomes += 1
      continue
    }
    if (status === 'final' && startsIn > 0) {
      const detail = `${period}: ${Math.ceil(startsIn)} s before the start`
      declined.push(refusal('result_before_start', observation, detail))
      continue
    }
    entries.push({
      ...source,
      period,
      ...received,
      ...(results === undefined ? {} : { results }),
      ...(score === undefined ? {} : { score }),
      settledAtSeconds: receivedAtSeconds,
      status,
      ...(known === undefined ? {} : { supersedes: [known.record.seq] }),
      type: 'outcome',
    } satisfies OutcomeEntry)
  }
  const unchanged = sameSnapshots + groups.length - fresh.length + sameOutcomes
  return { entries, unchanged, declined }
}
