import type { GradingStore } from './grading-store.ts'
import { isoText } from './iso-time.ts'
import { formatMarketKey } from './market-key.ts'
import type { AskedPick } from './pick-request.ts'
import { searchWords } from './search-words.ts'

/** Candidates named for free text that fits several events. */
const CANDIDATES_MAX = 10

/**
 * Turns team names in a pick's key into the one event that they fit: several fit, and the pick is ambiguous with the
 * candidates; none, and it stays as it is, which the ledger does not know. Ids (without spaces) are never guessed at.
 */
export async function resolveEvent(store: GradingStore, pick: AskedPick): Promise<AskedPick> {
  if (pick.kind === 'ambiguous' || !pick.key.event.includes(' ')) return pick
  const { key, selection, ref } = pick
  const found = await store.searchEvents({
    sport: key.sport,
    words: searchWords(key.event),
    limit: CANDIDATES_MAX,
  })
  const keys = found.map((info) => ({ ...key, event: info.path.slice(key.sport.length + 1) }))
  const [only] = keys
  if (only === undefined) return pick
  if (keys.length === 1) return { ...pick, key: only }
  return {
    kind: 'ambiguous',
    market: formatMarketKey(key),
    selection,
    ...(ref === undefined ? {} : { ref }),
    candidates: keys.map(
      (one, index) =>
        `${formatMarketKey(one)} (${isoText(found[index]?.startAtSeconds ?? 0).slice(0, 10)})`,
    ),
  }
}
