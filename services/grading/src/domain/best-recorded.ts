import type { EventState } from './event-state.ts'
import { ownValue } from './own-value.ts'

type Standing = { readonly atSeconds: number; readonly odds: number | undefined }

/**
 * The highest price of a selection that stood in the ledger at a time: of every book its last price by then. A price that
 * the book has changed since is nobody's any more. Undefined where the ledger had none of this very market.
 */
export function bestRecorded(
  state: EventState | undefined,
  pick: {
    readonly market: string
    readonly selection: string
    readonly atSeconds: number
  },
): number | undefined {
  if (state === undefined) return undefined
  const standing = new Map<string, Standing>()
  for (const price of [...state.snapshots, ...state.closes]) {
    if (price.market !== pick.market || price.recordedAtSeconds > pick.atSeconds) continue
    const atSeconds = price.capturedAtSeconds ?? price.recordedAtSeconds
    if (atSeconds > pick.atSeconds) continue
    const source = `${price.feed} ${price.book}`
    const known = standing.get(source)
    if (known !== undefined && known.atSeconds > atSeconds) continue
    standing.set(source, { atSeconds, odds: ownValue(price.odds, pick.selection) })
  }
  let best: number | undefined
  for (const { odds } of standing.values())
    if (odds !== undefined && (best === undefined || odds > best)) best = odds
  return best
}
