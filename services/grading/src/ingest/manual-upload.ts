/** Turns an operator's upload into observations. Pure. */

import { isoSeconds } from '@tallystick/service-kit/clock'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { EntryPrices } from '../domain/closes/ledger-entry.ts'
import type { Normalised, Observation, Refusal } from '../domain/closes/observation.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { marketPath, selectionNamed } from '../domain/markets/markets.ts'
import { parseWholeMarket } from '../domain/markets/parse-market.ts'
import type { Upload } from '../wire/upload.ts'
import { acceptBook, newReading, type Reading, readOdds, refuseTime } from './accept-price.ts'

type UploadEvent = Upload['events'][number]
type UploadPrices = UploadEvent['closes'][number]
type Gathered = Reading & { readonly receivedAtSeconds: number }

/** An event as an upload or a file of histories names it. */
export const uploadedInfo = (
  event: Pick<UploadEvent, 'event' | 'league' | 'home' | 'away' | 'starts_at'>,
): EventInfo => ({
  path: event.event,
  sport: event.event.slice(0, event.event.indexOf('/')),
  league: event.league,
  home: event.home,
  away: event.away,
  startAtSeconds: isoSeconds(event.starts_at) ?? 0,
  startPrecision: 'second',
})

/** A market's uploaded record, in canonical names; `twice` if it has a selection under two names. */
type ReadMarket<Value> =
  | { readonly kind: 'read'; readonly path: string; readonly record: ReadonlyMap<string, Value> }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'twice'; readonly detail: string }

function readMarket<Value>(
  event: UploadEvent,
  market: string,
  uploaded: Readonly<Record<string, Value>>,
): ReadMarket<Value> {
  const parsed = parseWholeMarket(`${event.event}/${market}`)
  if (parsed.kind !== 'market') return { kind: 'unknown' }
  const path = marketPath(parsed.key)
  const names = new Map<string, string>()
  const record = new Map<string, Value>()
  for (const [name, value] of Object.entries(uploaded)) {
    const selection = selectionNamed(parsed.key.type, name.toLowerCase())
    if (selection === undefined) return { kind: 'unknown' }
    const other = names.get(selection)
    if (other !== undefined)
      return { kind: 'twice', detail: `${path}: ${other} and ${name} are one selection` }
    names.set(selection, name)
    record.set(selection, value)
  }
  return { kind: 'read', path, record }
}

function readPrices(
  gathered: Gathered,
  options: {
    readonly event: UploadEvent
    readonly prices: UploadPrices
    readonly place: string
    readonly isClose: boolean
  },
): readonly EntryPrices[] {
  const { event, prices, place, isClose } = options
  const refuse = (refusal: Pick<Refusal, 'reason' | 'detail'>): readonly [] => {
    gathered.refusals.push({ ...refusal, place })
    return []
  }
  const captured = prices.captured_at === undefined ? undefined : isoSeconds(prices.captured_at)
  if (captured !== undefined) {
    const untimely = refuseTime(captured, {
      startAtSeconds: isoSeconds(event.starts_at) ?? 0,
      receivedAtSeconds: gathered.receivedAtSeconds,
      isClose: isClose && event.close_status === 'final',
    })
    if (untimely !== undefined) return refuse(untimely)
  }
  const read = readMarket(event, prices.market, prices.odds)
  if (read.kind === 'unknown') return refuse({ reason: 'unknown_market', detail: prices.market })
  if (read.kind === 'twice') return refuse({ reason: 'malformed_row', detail: read.detail })
  const odds = readOdds(gathered, read.record)
  const isVoid = isClose && event.close_status === 'void'
  if (Object.keys(odds).length === 0 && !isVoid)
    return refuse({ reason: 'no_price', detail: prices.market })
  const isWhole = prices.is_whole === true
  const accepted = {
    market: read.path,
    book: prices.book,
    odds,
    ...(isWhole ? { isWhole } : {}),
    ...(captured === undefined ? {} : { capturedAtSeconds: captured }),
  }
  return acceptBook(gathered, accepted, place)
}

type UploadResults = NonNullable<UploadEvent['outcomes'][number]['results']>

/** Results by canonical market and selection, or what is wrong with them. */
function readResults(event: UploadEvent, results: UploadResults): UploadResults | string {
  const byPath: UploadResults = {}
  for (const [market, uploaded] of Object.entries(results)) {
    const read = readMarket(event, market, uploaded)
    if (read.kind === 'unknown') return 'results of an unknown market or selection'
    if (read.kind === 'twice') return read.detail
    if (Object.hasOwn(byPath, read.path)) return `results of ${read.path} under two names`
    byPath[read.path] = Object.fromEntries(read.record)
  }
  return byPath
}

function readOutcomes(
  gathered: Gathered,
  event: UploadEvent,
  place: string,
): Observation['outcomes'] {
  return event.outcomes.flatMap((outcome, index) => {
    const { period, status, score } = outcome
    const isEmpty = status === 'final' && score === undefined && outcome.results === undefined
    const results = isEmpty
      ? 'a final outcome without a score or results'
      : outcome.results && readResults(event, outcome.results)
    if (typeof results === 'string') {
      const at = `${place}.outcomes[${index}]`
      gathered.refusals.push({ reason: 'malformed_row', place: at, detail: results })
      return []
    }
    return [{ period, status, ...(score && { score }), ...(results && { results }) }]
  })
}

/** Reads a parsed upload. Each price is judged by itself, so that one bad price does not cost the others. */
export function normaliseManualUpload(upload: Upload, receivedAtSeconds: number): Normalised {
  const feed: FeedInfo = {
    feed: upload.source,
    isRedistributable: upload.redistributable,
    isSynthetic: upload.synthetic,
  }
  const gathered: Gathered = { ...newReading(), receivedAtSeconds }
  const observations = upload.events.map((event, index): Observation => {
    const read = (name: 'snapshots' | 'closes') =>
      event[name].flatMap((prices, place) =>
        readPrices(gathered, {
          event,
          prices,
          place: `events[${index}].${name}[${place}]`,
          isClose: name === 'closes',
        }),
      )
    const closes = read('closes')
    return {
      event: uploadedInfo(event),
      rule: closes.every((close) => close.capturedAtSeconds !== undefined)
        ? 'last_before_start'
        : 'source_declared',
      snapshots: read('snapshots'),
      closes,
      closeStatus: event.close_status,
      outcomes: readOutcomes(gathered, event, `events[${index}]`),
    }
  })
  return { feed, observations, refusals: gathered.refusals, missingPrices: gathered.missingPrices }
}
