/** Turns an operator's upload into observations. Pure. */
import type { EventInfo, FeedInfo } from '../domain/event-state.ts'
import type { EntryPrices } from '../domain/ledger-entry.ts'
import { marketPath, selectionNamed } from '../domain/markets.ts'
import type { Normalised, Observation, Refusal } from '../domain/observation.ts'
import { parseWholeMarket, readMarketPath } from '../domain/parse-market.ts'
import { isoSeconds } from '../wire/times.ts'
import type { Upload } from '../wire/upload.ts'
import { acceptBook, type Reading, readOdds, refuseTime } from './accept-price.ts'

type UploadEvent = Upload['events'][number]
type UploadPrices = UploadEvent['closes'][number]
type Gathered = Pick<Reading, 'refusals' | 'missingPrices'> & { readonly receivedAtSeconds: number }

/** An event as an upload or a file of histories names it. */
export const infoOf = (
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

/** A market path in canonical form; undefined for an unknown or ambiguous one. */
function pathOf(event: UploadEvent, text: string): string | undefined {
  const parsed = parseWholeMarket(`${event.event}/${text}`)
  return parsed.kind === 'market' ? marketPath(parsed.key) : undefined
}

/** An uploaded record by selection; `unknown` and `twice` if it names an unknown selection, or one under two names. */
type BySelection<Value> =
  | { readonly kind: 'read'; readonly bySelection: ReadonlyMap<string, Value> }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'twice'; readonly detail: string }

function readBySelection<Value>(
  record: Readonly<Record<string, Value>>,
  path: string,
): BySelection<Value> {
  const { type } = readMarketPath(path)
  const names = new Map<string, string>()
  const bySelection = new Map<string, Value>()
  for (const [name, value] of Object.entries(record)) {
    const selection = selectionNamed(type, name.toLowerCase())
    if (selection === undefined) return { kind: 'unknown' }
    const other = names.get(selection)
    if (other !== undefined)
      return { kind: 'twice', detail: `${path}: ${other} and ${name} are one selection` }
    names.set(selection, name)
    bySelection.set(selection, value)
  }
  return { kind: 'read', bySelection }
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
  const path = pathOf(event, prices.market)
  const read = path === undefined ? undefined : readBySelection(prices.odds, path)
  if (path === undefined || read === undefined || read.kind === 'unknown')
    return refuse({ reason: 'unknown_market', detail: prices.market })
  if (read.kind === 'twice') return refuse({ reason: 'malformed_row', detail: read.detail })
  const odds = readOdds(gathered, read.bySelection)
  const isVoid = isClose && event.close_status === 'void'
  if (Object.keys(odds).length === 0 && !isVoid)
    return refuse({ reason: 'no_price', detail: prices.market })
  const isWhole = prices.is_whole === true
  const accepted = {
    market: path,
    book: prices.book,
    odds,
    ...(isWhole ? { isWhole } : {}),
    ...(captured === undefined ? {} : { capturedAtSeconds: captured }),
  }
  return acceptBook(gathered, accepted, place)
}

type UploadResults = NonNullable<UploadEvent['outcomes'][number]['results']>

type ReadResults =
  | { readonly kind: 'read'; readonly results: UploadResults }
  | { readonly kind: 'refused'; readonly detail: string }

/** Results by canonical market and selection. */
function resultsOf(event: UploadEvent, results: UploadResults): ReadResults {
  const read: UploadResults = {}
  for (const [market, record] of Object.entries(results)) {
    const path = pathOf(event, market)
    const selections = path === undefined ? undefined : readBySelection(record, path)
    if (path === undefined || selections === undefined || selections.kind === 'unknown')
      return { kind: 'refused', detail: 'results of an unknown market or selection' }
    if (selections.kind === 'twice') return { kind: 'refused', detail: selections.detail }
    if (Object.hasOwn(read, path))
      return { kind: 'refused', detail: `results of ${path} under two names` }
    read[path] = Object.fromEntries(selections.bySelection)
  }
  return { kind: 'read', results: read }
}

function readOutcomes(
  gathered: Gathered,
  event: UploadEvent,
  place: string,
): Observation['outcomes'] {
  return event.outcomes.flatMap((outcome, index) => {
    const { period, status, score, results } = outcome
    const read = results === undefined ? undefined : resultsOf(event, results)
    const detail =
      read?.kind === 'refused'
        ? read.detail
        : status === 'final' && score === undefined && results === undefined
          ? 'a final outcome without a score or results'
          : undefined
    if (detail !== undefined) {
      const at = `${place}.outcomes[${index}]`
      gathered.refusals.push({ reason: 'malformed_row', place: at, detail })
      return []
    }
    return [
      {
        period,
        status,
        ...(score === undefined ? {} : { score }),
        ...(read?.kind === 'read' ? { results: read.results } : {}),
      },
    ]
  })
}

/** Reads a parsed upload. Each price is judged by itself, so that one bad price does not cost the others. */
export function normaliseManualUpload(upload: Upload, receivedAtSeconds: number): Normalised {
  const feed: FeedInfo = {
    feed: upload.source,
    isRedistributable: upload.redistributable,
    isSynthetic: upload.synthetic,
  }
  const gathered: Gathered = { refusals: [], receivedAtSeconds, missingPrices: 0 }
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
      event: infoOf(event),
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
