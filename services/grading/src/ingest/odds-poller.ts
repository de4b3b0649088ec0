/**
 * Polls The Odds API: each payload goes into the ledger as it arrives, and once an event has started its last price
 * before the start becomes its final close. If that price was too old there is no close, and the grade says so.
 */
import { hash } from 'node:crypto'
import { type Clock, pause } from '@tallystick/service-kit'
import type { CloseRecord, EventState } from '../domain/closes/event-state.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Observation } from '../domain/closes/observation.ts'
import { isCloseAge } from './accept-price.ts'
import { ingestPayload, type PayloadAccount } from './ingest-payload.ts'
import { normaliseOddsApi, ODDS_API_FEED } from './the-odds-api.ts'

/** A feed that returns raw bytes; an adapter fetches them and gives up at the signal. */
export type OddsFeed = { fetchOdds(signal: AbortSignal): Promise<Uint8Array> }

export type PollOutcome = {
  readonly account: PayloadAccount
  /** Events whose closes became final, and those whose last price was too old. */
  readonly finalised: number
  readonly stale: number
}

/** How far back to look for events that still need a final close, seconds: a day of missed rounds. */
const LOOK_BACK_SECONDS = 86_400
/** Events looked at in one round. */
const EVENTS_MAX = 2_000

const oddsTexts = (odds: Readonly<Record<string, number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(odds).map(([selection, price]) => [selection, String(price)]))

const isFresh = ({ capturedAtSeconds }: CloseRecord, startAtSeconds: number): boolean =>
  capturedAtSeconds !== undefined && isCloseAge(startAtSeconds - capturedAtSeconds)

/** The observation that makes a started event's last prices final; undefined if none is provisional. */
function finalClose(
  state: EventState,
  nowSeconds: number,
): { readonly observation: Observation; readonly stale: number } | undefined {
  const { info, closes } = state
  if (nowSeconds < info.startAtSeconds) return undefined
  const waiting = closes.filter(
    (close) => close.status === 'provisional' && close.feed === ODDS_API_FEED.feed,
  )
  if (waiting.length === 0) return undefined
  const fresh = waiting.filter((close) => isFresh(close, info.startAtSeconds))
  return {
    stale: waiting.length - fresh.length,
    observation: {
      event: info,
      rule: 'last_before_start',
      snapshots: [],
      closes: fresh.map(({ market, book, odds, capturedAtSeconds, isAlternative }) => ({
        market,
        book,
        odds: oddsTexts(odds),
        ...(isAlternative === true ? { isAlternative } : {}),
        ...(capturedAtSeconds === undefined ? {} : { capturedAtSeconds }),
      })),
      closeStatus: 'final',
      outcomes: [],
    },
  }
}

/** Finalises events that have started. Idempotent. */
async function finaliseStarted(
  store: GradingStore,
  nowSeconds: number,
): Promise<{ readonly finalised: number; readonly stale: number }> {
  const states = await store.searchEvents({
    from: nowSeconds - LOOK_BACK_SECONDS,
    to: nowSeconds + 1,
    words: [],
    limit: EVENTS_MAX,
  })
  const found = states.flatMap((state) => finalClose(state, nowSeconds) ?? [])
  const observations = found
    .map(({ observation }) => observation)
    .filter(({ closes }) => closes.length > 0)
  if (observations.length > 0)
    await store.ingest({
      feed: ODDS_API_FEED,
      observations,
      receivedAtSeconds: nowSeconds,
      // There are no new bytes: the hash is over the ledger's own entries, by number.
      rawSha256: hash('sha256', JSON.stringify(observations)),
    })
  return {
    finalised: observations.length,
    stale: found.filter(({ stale }) => stale > 0).length,
  }
}

/** One round: ingests the feed's payload, then finalises started events, even if the feed throws. */
export async function pollOdds(options: {
  readonly store: GradingStore
  readonly feed: OddsFeed
  readonly clock: Clock
  readonly signal: AbortSignal
}): Promise<PollOutcome> {
  const { store, feed, clock, signal } = options
  const raw = await feed.fetchOdds(signal).catch(async (error: unknown) => {
    // Started events still become final: their last prices are in the ledger.
    await finaliseStarted(store, Math.floor(clock.unixMs() / 1_000))
    throw error
  })
  const receivedAtSeconds = Math.floor(clock.unixMs() / 1_000)
  const account = await ingestPayload({
    store,
    raw,
    receivedAtSeconds,
    read: () => [normaliseOddsApi(raw, { receivedAtSeconds, stage: 'provisional' })],
  })
  return { account, ...(await finaliseStarted(store, receivedAtSeconds)) }
}

/** Between two looks of a process whether it is the one that polls, milliseconds. */
const LOOK_MS = 1_000

export type PollRoundsOptions = {
  /** What is stored in it after another process has become the one that polls is refused. */
  readonly store: GradingStore
  /** Whether this process is the one that polls. */
  readonly mayPoll: () => Promise<boolean>
  readonly feeds: readonly OddsFeed[]
  readonly clock: Clock
  readonly pauseMs: number
  readonly onPolled: (outcome: PollOutcome) => void
  readonly onFailed: (error: unknown) => void
}

/**
 * The poller's rounds: one sport after another, then a pause; a failure costs one sport one round. A process that may not poll
 * looks every second: it begins once the one that polled is gone.
 */
export function createPollRounds(options: PollRoundsOptions) {
  const { clock, feeds, mayPoll, onFailed, onPolled, pauseMs, store } = options
  const closing = new AbortController()
  const { signal } = closing
  let running: Promise<void> = Promise.resolve()
  const poll = async (feed: OddsFeed): Promise<void> => {
    // Asked before each request: another process may have taken over.
    if (!(await mayPoll()) || signal.aborted) return
    try {
      onPolled(await pollOdds({ store, feed, clock, signal }))
    } catch (error) {
      if (!signal.aborted) onFailed(error)
    }
  }
  let nextRoundAtMs = Number.NEGATIVE_INFINITY
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      if (clock.unixMs() >= nextRoundAtMs && (await mayPoll())) {
        nextRoundAtMs = clock.unixMs() + pauseMs
        for (const feed of feeds) await poll(feed)
      }
      const leftMs = nextRoundAtMs - clock.unixMs()
      await pause(clock, leftMs > 0 ? leftMs : LOOK_MS, signal)
    }
  }
  return {
    /** Starts the first round at once. */
    start(): void {
      running = run()
    },
    /** Ends the rounds without waiting for a feed's answer. */
    async close(): Promise<void> {
      closing.abort()
      await running
    },
  }
}
