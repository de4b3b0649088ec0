/**
 * Which entries an observation is worth: what says nothing new writes nothing, so that importing a file again, or a
 * longer one, adds only what changed. Final closes are replaced by final ones only; nothing is ever edited.
 */
import { canonicalJson } from '@tallystick/hashchain'
import { closeGroup, familyOf } from './apply-entry.ts'
import type {
  CloseRecord,
  EventInfo,
  EventState,
  OutcomeRecord,
  PriceRecord,
} from './event-state.ts'
import type { IngestBatch } from './grading-store.ts'
import type { CloseEntry, EventLedgerEntry, OutcomeEntry, SnapshotEntry } from './ledger-entry.ts'
import type { Observation, ObservedOutcome, ObservedPrices } from './observation.ts'

/** The entries of one observation, and how many of its parts were known already. */
export type DecidedEntries = {
  readonly entries: readonly EventLedgerEntry[]
  readonly unchanged: number
}

const sameOdds = (known: PriceRecord, { odds }: ObservedPrices): boolean => {
  const texts = Object.entries(odds)
  return (
    texts.length === Object.keys(known.odds).length &&
    texts.every(([selection, text]) => known.odds[selection] === Number(text))
  )
}

/** Whether an event's start is told anew; a day says nothing about a start known to the second. */
const isNewInfo = (known: EventInfo | undefined, info: EventInfo): boolean =>
  known !== undefined &&
  (info.startPrecision === 'second' || known.startPrecision === 'day') &&
  known.startAtSeconds !== info.startAtSeconds

const SECONDS_PER_MINUTE = 60

const isSameMinute = (one: PriceRecord, other: ObservedPrices): boolean =>
  one.capturedAtSeconds !== undefined &&
  other.capturedAtSeconds !== undefined &&
  Math.floor(one.capturedAtSeconds / SECONDS_PER_MINUTE) ===
    Math.floor(other.capturedAtSeconds / SECONDS_PER_MINUTE)

function newSnapshots(
  state: EventState | undefined,
  observation: Observation,
  feed: string,
): readonly ObservedPrices[] {
  if (state === undefined) return observation.snapshots
  return observation.snapshots.filter((prices) => {
    const known = state.snapshots.filter(
      (one) => one.market === prices.market && one.book === prices.book && one.feed === feed,
    )
    const last = known.at(-1)
    if (last === undefined) return true
    // Also where an older payload comes after a newer one: a price of one minute counts once.
    return (
      !sameOdds(last, prices) &&
      !known.some((one) => isSameMinute(one, prices) && sameOdds(one, prices))
    )
  })
}

type CloseGroup = {
  readonly prices: readonly ObservedPrices[]
  readonly known: readonly CloseRecord[]
}

function closeGroups(
  state: EventState | undefined,
  observation: Observation,
  feed: string,
): readonly CloseGroup[] {
  const groups = new Map<string, ObservedPrices[]>()
  for (const prices of observation.closes) {
    const name = closeGroup({ ...prices, family: familyOf(prices.market), feed })
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [prices])
    else group.push(prices)
  }
  const known = state?.closes ?? []
  return [...groups].map(([name, prices]) => ({
    prices,
    known: known.length === 0 ? known : known.filter((close) => closeGroup(close) === name),
  }))
}

/** Provisional prices seen again unchanged are worth an entry only from here on, seconds before the start. */
const REFRESH_WITHIN_SECONDS = 3_600

function isNewGroup({ prices, known }: CloseGroup, observation: Observation): boolean {
  const { closeStatus: status, event } = observation
  if (status === 'void') return known.length > 0
  if (known.length === 0) return true
  const isFinal = known.every((close) => close.status === 'final')
  if (isFinal && status === 'provisional') return false
  if (!isFinal && status === 'final') return true
  const isTooEarlyToMatter =
    status === 'provisional' &&
    prices.every(
      ({ capturedAtSeconds = event.startAtSeconds }) =>
        event.startAtSeconds - capturedAtSeconds > REFRESH_WITHIN_SECONDS,
    )
  return (
    known.length !== prices.length ||
    !prices.every((one) =>
      known.some(
        (close) =>
          close.market === one.market &&
          sameOdds(close, one) &&
          (close.capturedAtSeconds === one.capturedAtSeconds || isTooEarlyToMatter),
      ),
    )
  )
}

const sameOutcome = (known: OutcomeRecord | undefined, seen: ObservedOutcome): boolean => {
  if (known === undefined) return seen.status === 'withdrawn'
  return (
    known.status === seen.status &&
    known.score?.home === seen.score?.home &&
    known.score?.away === seen.score?.away &&
    // Canonical: the order of members, as somebody writes them, is no correction.
    canonicalJson(known.results ?? {}) === canonicalJson(seen.results ?? {})
  )
}

/** Decides an observation's entries, given what the ledger knows of its event. Pure. */
export function decideEntries(
  state: EventState | undefined,
  observation: Observation,
  batch: Omit<IngestBatch, 'observations'>,
): DecidedEntries {
  const { feed, receivedAtSeconds, rawSha256 } = batch
  const common = { event: observation.event, ...feed, receivedAtSeconds, rawSha256 }
  const entries: EventLedgerEntry[] = []
  const snapshots = newSnapshots(state, observation, feed.feed)
  if (snapshots.length > 0 || isNewInfo(state?.info, observation.event))
    entries.push({ ...common, type: 'snapshot', prices: snapshots } satisfies SnapshotEntry)
  const { closeStatus, rule } = observation
  const groups = closeGroups(state, observation, feed.feed)
  const fresh = groups.filter((group) => isNewGroup(group, observation))
  if (fresh.length > 0) {
    const supersedes = [
      ...new Set(fresh.flatMap(({ known }) => known.map(({ record }) => record.seq))),
    ]
    entries.push({
      ...common,
      type: 'close',
      status: closeStatus,
      rule,
      prices: fresh.flatMap(({ prices }) => prices),
      ...(supersedes.length === 0 ? {} : { supersedes }),
    } satisfies CloseEntry)
  }
  let sameOutcomes = 0
  for (const outcome of observation.outcomes) {
    const known = state?.outcomes.find(({ period }) => period === outcome.period)
    if (sameOutcome(known, outcome)) {
      sameOutcomes += 1
      continue
    }
    entries.push({
      ...common,
      ...outcome,
      type: 'outcome',
      settledAtSeconds: receivedAtSeconds,
      ...(known === undefined ? {} : { supersedes: [known.record.seq] }),
    } satisfies OutcomeEntry)
  }
  const unchanged =
    observation.snapshots.length - snapshots.length + groups.length - fresh.length + sameOutcomes
  return { entries, unchanged }
}
