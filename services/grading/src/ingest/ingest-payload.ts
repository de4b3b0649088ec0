/** How often a slice's events are matched again because others filed the same matches meanwhile: once is rare, twice is nobody's luck. */
const MATCHES_MAX = 10

/** Files a slice's observations under the events that the ledger has of their matches, whoever else files at the same time. */
async function fileSlice(
  { isFirst, store }: { readonly store: GradingStore; readonly isFirst: boolean },
  { observations, ...batch }: IngestBatch,
): Promise<{ readonly ingested: IngestOutcome; readonly alike: readonly AlikeEvents[] }> {
  let [ingested, left] = [NOTHING_INGESTED, observations]
  let alike: readonly AlikeEvents[] = []
  for (let tries = 0; left.length > 0; tries += 1) {
    if (tries === MATCHES_MAX)
      throw new GradingStoreUnavailable('others file the same matches again and again')
    const matchedAt = await store.lastEventId()
    const matched = await matchFeedEvents(store, left)
    // A ledger that another feed began meanwhile is not empty any more.
    const joined =
      isFirst && tries === 0
        ? { observations: matched, alike: [] }
        : await joinFeeds({ store, feed: batch.feed.feed, observations: matched })
    const outcome = await store.ingest({ ...batch, matchedAt, observations: joined.observations })
    ingested = addIngested(ingested, outcome)
    const done = left.length - (outcome.unmatched ?? 0)
    const filed = new Set(joined.observations.slice(0, done).map(({ event }) => event.path))
    alike = [...alike, ...joined.alike.filter(({ event }) => filed.has(event))]
    left = left.slice(done)
  }
  return { ingested, alike }
}

/** Ingests a payload into the ledger once per content, slice by slice, with a running account. */
import { hash } from 'node:crypto'
import { addIngested, NOTHING_INGESTED } from '../domain/closes/advance-event.ts'
import {
  type GradingStore,
  GradingStoreUnavailable,
  type IngestBatch,
  type IngestOutcome,
} from '../domain/closes/grading-store.ts'
import type { Normalised, Refusal } from '../domain/closes/observation.ts'
import { uploadSchema } from '../wire/upload.ts'
import { parseJson } from './accept-price.ts'
import { isBetfairBsp, readBetfairBsp } from './betfair-bsp.ts'
import { isBrokenOff, withoutLastNumber } from './csv-rows.ts'
import { matchFeedEvents } from './event-ids.ts'
import { isFootballData, readFootballData } from './football-data.ts'
import { type AlikeEvents, joinFeeds } from './join-feeds.ts'
import { normaliseManualUpload } from './manual-upload.ts'
import { normalisePredictionMarkets, readPredictionFile } from './prediction-markets.ts'
import { normaliseOddsApi, type OddsApiReading } from './the-odds-api.ts'
import { isUsTable, readUsTable } from './us-tables.ts'

/** Refusals an account keeps in full; the rest are counted. */
const REFUSALS_KEPT_MAX = 100

export type PayloadAccount = IngestOutcome & {
  /** The same bytes were ingested before: nothing was read. */
  readonly isRepeated: boolean
  readonly rawSha256: string
  readonly observations: number
  readonly missingPrices: number
  readonly refused: number
  readonly refusals: readonly Refusal[]
  /** Events that may be the same match as another feed's, but were not joined with it. */
  readonly alike: readonly AlikeEvents[]
  /** Columns of a table that were not read. */
  readonly ignoredColumns: readonly string[]
}

/** Combines slices until they hold this many observations. */
function* gathered(slices: Iterable<Normalised>, atOnce: number): Generator<Normalised> {
  let all: Normalised | undefined
  for (const slice of slices) {
    all =
      all === undefined
        ? slice
        : {
            feed: slice.feed,
            observations: [...all.observations, ...slice.observations],
            refusals: [...all.refusals, ...slice.refusals],
            missingPrices: all.missingPrices + slice.missingPrices,
            ignoredColumns: slice.ignoredColumns ?? [],
          }
    if (all.observations.length < atOnce) continue
    yield all
    all = undefined
  }
  if (all !== undefined) yield all
}

/** Ingests a payload, idempotent on its bytes' hash. `onSlice` receives the account so far. */
export async function ingestPayload(options: {
  readonly store: GradingStore
  readonly raw: Uint8Array
  readonly receivedAtSeconds: number
  /** What else decides how the bytes are read, such as `final`: another reading is another payload. */
  readonly reading?: string
  /** A command's file: until it is taken whole, no service starts on the ledger. */
  readonly file?: string
  readonly read: () => Iterable<Normalised>
  readonly onSlice?: (account: PayloadAccount) => void
}): Promise<PayloadAccount> {
  const { file, store, raw, receivedAtSeconds, onSlice } = options
  const rawSha256 = hash('sha256', raw)
  const name = options.reading === undefined ? rawSha256 : `${rawSha256} ${options.reading}`
  let account: PayloadAccount = {
    ...NOTHING_INGESTED,
    isRepeated: await store.hasPayload(name),
    rawSha256,
    observations: 0,
    missingPrices: 0,
    refused: 0,
    refusals: [],
    alike: [],
    ignoredColumns: [],
  }
  if (file !== undefined && !account.isRepeated) await store.beginImport(name, file)
  const ended = async (): Promise<PayloadAccount> => {
    if (file !== undefined) await store.endImport(name)
    return account
  }
  if (account.isRepeated) return ended()
  // The first feed of a ledger finds no other's matches.
  const isFirst = (await store.head()).size === 0
  const batch = { receivedAtSeconds, rawSha256 }
  let feedName: string | undefined
  const slices = gathered(options.read(), store.ingestedAtOnce ?? 0)
  for (const { feed, observations, refusals, missingPrices, ignoredColumns = [] } of slices) {
    feedName = feed.feed
    const { alike, ingested } = await fileSlice(
      { store, isFirst },
      { ...batch, feed, observations },
    )
    account = {
      ...account,
      ...addIngested(account, ingested),
      observations: account.observations + observations.length,
      missingPrices: account.missingPrices + missingPrices,
      refused: account.refused + refusals.length + ingested.declined.length,
      refusals: [...account.refusals, ...refusals, ...ingested.declined].slice(
        0,
        REFUSALS_KEPT_MAX,
      ),
      declined: [],
      alike: [...account.alike, ...alike].slice(0, REFUSALS_KEPT_MAX),
      ignoredColumns,
    }
    onSlice?.(account)
  }
  if (account.observations > 0 && feedName !== undefined)
    await store.markPayload({ rawSha256: name, feed: feedName, receivedAtSeconds })
  return ended()
}

/** A payload whose form was recognised, or what is wrong with it. */
type PayloadReading =
  /** `read` reads it slice by slice. */
  | { readonly kind: 'payload'; readonly read: () => Iterable<Normalised> }
  | { readonly kind: 'unreadable'; readonly problem: string }

/** Tables by their headers: a football-data.co.uk CSV, one of MLB or NFL, Betfair's starting prices. */
const TABLES = [
  { isOne: isFootballData, read: readFootballData },
  { isOne: isUsTable, read: readUsTable },
  { isOne: isBetfairBsp, read: readBetfairBsp },
]

const payload = (read: () => Iterable<Normalised>): PayloadReading => ({ kind: 'payload', read })
const unreadable = (problem: string): PayloadReading => ({ kind: 'unreadable', problem })

const CUT_NUMBER: Refusal = {
  reason: 'malformed_row',
  place: 'last line',
  detail: 'its last number was not taken: without a line end behind it, it may have broken off',
}

/** A table's slices, without the number at its end that may be a part of one. */
function* readTable(
  raw: Uint8Array,
  read: (raw: Uint8Array) => Iterable<Normalised>,
): Generator<Normalised> {
  const whole = withoutLastNumber(raw)
  let cut = whole === undefined ? [] : [CUT_NUMBER]
  for (const slice of read(whole ?? raw)) {
    yield { ...slice, refusals: [...slice.refusals, ...cut] }
    cut = []
  }
}

/** Recognises bytes: one of the tables, price histories of a prediction market, a payload of The Odds API, or one of our uploads. */
export function readPayload(raw: Uint8Array, reading: OddsApiReading): PayloadReading {
  const { receivedAtSeconds } = reading
  const table = TABLES.find(({ isOne }) => isOne(raw))
  if (table !== undefined)
    return isBrokenOff(raw)
      ? unreadable('the table ends within a row: it broke off, or its last line wants a line end')
      : payload(() => readTable(raw, table.read))
  const json = parseJson(raw)
  const histories = readPredictionFile(json)
  if (histories !== undefined)
    return payload(() => [normalisePredictionMarkets(histories, receivedAtSeconds)])
  const upload = uploadSchema.safeParse(json)
  if (upload.success) return payload(() => [normaliseManualUpload(upload.data, receivedAtSeconds)])
  const isOddsApi =
    Array.isArray(json) || (typeof json === 'object' && json !== null && 'timestamp' in json)
  if (isOddsApi) return payload(() => [normaliseOddsApi(raw, reading)])
  if (json === undefined)
    return unreadable('neither JSON nor a CSV with a football-data.co.uk header')
  const [issue] = upload.error.issues
  return unreadable(`not an upload: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`)
}
