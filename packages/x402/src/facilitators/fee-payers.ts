import type { Clock } from '../clock.ts'
import type { Facilitator } from './facilitator.ts'

/** Who pays fees on each network, as last known (X11). */
export type FeePayerDirectory = ReturnType<typeof createFeePayerDirectory>

/** Fee payers change with a facilitator's deployment, not more often. */
const REFRESH_MS = 300_000

/** After a failure; a facilitator that comes up later is noticed this soon. */
const RETRY_MS = 5_000

/**
 * Fee payers from configuration or the facilitator's last good `/supported`, read in the background: a service starts
 * while its facilitator is down, and keeps the last answer when it goes down later.
 */
export function createFeePayerDirectory(options: {
  readonly facilitator: Facilitator
  readonly clock: Clock
  /** Fee payers by network from configuration; they win over what the facilitator says. */
  readonly configured?: ReadonlyMap<string, readonly string[]>
  readonly refreshMs?: number | undefined
}) {
  const { clock, configured = new Map(), facilitator, refreshMs = REFRESH_MS } = options
  let known: ReadonlyMap<string, readonly string[]> = new Map()
  let readAtMs: number | undefined
  let failure: unknown
  let isClosed = false
  let cancel: (() => void) | undefined

  async function refresh(): Promise<void> {
    try {
      known = await facilitator.feePayers()
      readAtMs = clock.unixMs()
      failure = undefined
    } catch (error) {
      failure = error
    }
    if (isClosed) return
    cancel = clock.after(failure === undefined ? refreshMs : RETRY_MS, () => void refresh())
  }

  const feePayers = (network: string): readonly string[] =>
    configured.get(network) ?? known.get(network) ?? []
  const firstAttempt = refresh()
  return {
    /** All that a payment may name. */
    feePayers,
    /** The fee payer for a challenge; undefined while none is known, which makes the challenge a 502. */
    feePayer: (network: string): string | undefined => feePayers(network)[0],
    /** For readiness: Unix milliseconds of the last good answer, and what has failed since. */
    state: () => ({ readAtMs, failure }),
    /** Resolves after the first attempt, whatever its outcome. */
    firstAttempt,
    close(): void {
      isClosed = true
      cancel?.()
    },
  }
}
