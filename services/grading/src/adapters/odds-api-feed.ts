/** The Odds API v4 over HTTP: one sport's odds as raw bytes. The key is in each address, which no error repeats. */
import { type BackOffLimits, type Clock, createBackOff, readLimited } from '@tallystick/service-kit'
import type { OddsFeed } from '../ingest/odds-poller.ts'

type OddsApiFeedOptions = {
  /** Origin, without a trailing slash. */
  readonly url: string
  readonly apiKey: string
  /** A sport's key there, `soccer_epl`. */
  readonly sport: string
  readonly regions: readonly string[]
  readonly markets: readonly string[]
  readonly clock: Clock
  readonly fetch?: typeof fetch
}

/** Its answers come within a second; a round must not hang on one sport. */
const TIMEOUT_MS = 20_000

/** A sport with all its books and markets is some 2 MB. */
const ANSWER_BYTES_MAX = 33_554_432

/** A recovered feed is asked again within the hour; a spent quota returns only with the next month. */
const BACK_OFF: BackOffLimits = { firstMs: 60_000, maxMs: 3_600_000 }

/** The feed did not answer, or answered with a status other than 200. */
export class OddsFeedUnavailable extends Error {
  override readonly name = 'OddsFeedUnavailable'
}

/** What went wrong, without the address, which holds the key. */
const causeName = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')

/** A header's number; undefined if it is absent or not a number. */
function numberIn(response: Response, name: string): number | undefined {
  const text = response.headers.get(name)
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** One sport's feed. Throws OddsFeedUnavailable; if it is too early to ask again, without sending anything. */
export function createOddsApiFeed(options: OddsApiFeedOptions): OddsFeed {
  const { apiKey, clock, markets, regions, sport, url } = options
  const query = new URLSearchParams({
    apiKey,
    regions: regions.join(','),
    markets: markets.join(','),
    oddsFormat: 'decimal',
    dateFormat: 'iso',
  })
  const address = `${url}/v4/sports/${encodeURIComponent(sport)}/odds?${query.toString()}`
  const backOff = createBackOff({ ...BACK_OFF, clock })
  return {
    async fetchOdds(signal) {
      const leftMs = backOff.leftMs()
      if (leftMs > 0)
        throw new OddsFeedUnavailable(`${sport} is asked again in ${Math.ceil(leftMs / 1_000)} s`)
      let retryAfterSeconds: number | undefined
      const giveUp = new AbortController()
      const cancel = clock.after(TIMEOUT_MS, () => giveUp.abort())
      try {
        const response = await (options.fetch ?? fetch)(address, {
          signal: AbortSignal.any([giveUp.signal, signal]),
          redirect: 'error',
        })
        if (response.status !== 200) {
          retryAfterSeconds = numberIn(response, 'retry-after')
          await response.body?.cancel()
          throw new OddsFeedUnavailable(`the feed answered ${response.status} for ${sport}`)
        }
        const bytes = await readLimited(response.body, ANSWER_BYTES_MAX)
        if (bytes === 'too_large') throw new OddsFeedUnavailable('the feed answered too much')
        const isSpent = numberIn(response, 'x-requests-remaining') === 0
        backOff.succeeded(isSpent ? BACK_OFF.maxMs : 0)
        return bytes
      } catch (error) {
        backOff.failed((retryAfterSeconds ?? 0) * 1_000)
        if (error instanceof OddsFeedUnavailable) throw error
        throw new OddsFeedUnavailable(`the feed did not answer for ${sport}: ${causeName(error)}`)
      } finally {
        cancel()
      }
    },
  }
}
