/** The Odds API v4 over HTTP: one sport's odds as raw bytes. The key is in each address, which no error repeats. */
import type { Clock } from '@tallystick/service-kit'
import type { OddsFeed } from '../ingest/odds-poller.ts'

export type OddsApiFeedOptions = {
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

/** The feed did not answer, or with another status than 200. */
export class OddsFeedUnavailable extends Error {
  override readonly name = 'OddsFeedUnavailable'
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > ANSWER_BYTES_MAX) throw new OddsFeedUnavailable('the feed answered too much')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What went wrong, without the address that it went wrong at. */
const causeName = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')

/** A feed of one sport. Throws OddsFeedUnavailable. */
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
  return {
    async fetchOdds() {
      const giveUp = new AbortController()
      const cancel = clock.after(TIMEOUT_MS, () => giveUp.abort())
      try {
        const response = await (options.fetch ?? fetch)(address, {
          signal: giveUp.signal,
          redirect: 'error',
        })
        if (response.status !== 200) {
          await response.body?.cancel()
          throw new OddsFeedUnavailable(`the feed answered ${response.status} for ${sport}`)
        }
        return await readBounded(response)
      } catch (error) {
        if (error instanceof OddsFeedUnavailable) throw error
        throw new OddsFeedUnavailable(`the feed did not answer for ${sport}: ${causeName(error)}`)
      } finally {
        cancel()
      }
    },
  }
}
