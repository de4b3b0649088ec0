import type { Clock } from '../clock.ts'
import type { Facilitator } from './facilitator.ts'

/** Who pays the fees on each network, as last known (X11). */
export type FeePayerDirectory = ReturnType<typeof createFeePayerDirectory>

/** This is known of a facilitator, or of the best of several. */
type FacilitatorState = {
  /** Unix milliseconds of its last good `/supported`. */
  readonly readAtMs: number | undefined
  /** Its failure since then. */
  readonly failure: unknown
  /** A sentence that says how it turned the last settlements away, and until when nothing is sold for it (X23). */
  readonly turningAway?: string | undefined
}

/** Fee payers change only when a facilitator is redeployed. */
const REFRESH_MS = 300_000

/** Pause after a failure, so that a recovered facilitator is soon noticed. */
const RETRY_MS = 5_000

/**
 * Fee payers from configuration or from the facilitator's last good `/supported`, read in the background. A service
 * starts while its facilitator is down, and keeps the last answer if the facilitator goes down later.
 */
export function createFeePayerDirectory(options: {
  readonly facilitator: Facilitator
  readonly clock: Clock
  /** Configured fee payers by network; they take precedence over the facilitator's. */
  readonly configured?: ReadonlyMap<string, readonly string[]> | undefined
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
    /** Every fee payer that a payment may name. */
    feePayers,
    /** The fee payer for a challenge; undefined while none is known, in which case the answer is a 502. */
    feePayer: (network: string): string | undefined => feePayers(network)[0],
    /** For readiness: Unix milliseconds of the last good answer, and failures since then. */
    state: (): FacilitatorState => ({ readAtMs, failure }),
    /** Resolves after the first attempt, whatever its outcome. */
    firstAttempt,
    close(): void {
      isClosed = true
      cancel?.()
    },
  }
}
