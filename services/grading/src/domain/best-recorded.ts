import type { EventState } from './event-state.ts'

/** The highest price of a selection that the ledger had of its very market at a time; undefined where it had none. */
export function bestRecorded(
  state: EventState | undefined,
  pick: {
    readonly market: string
    readonly selection: string
    readonly atSeconds: number
  },
): number | undefined {
  if (state === undefined) return undefined
  let best: number | undefined
  for (const price of [...state.snapshots, ...state.closes]) {
    if (price.market !== pick.market || (price.capturedAtSeconds ?? 0) > pick.atSeconds) continue
    const odds = price.odds[pick.selection]
    if (odds !== undefined && (best === undefined || odds > best)) best = odds
  }
  return best
}
