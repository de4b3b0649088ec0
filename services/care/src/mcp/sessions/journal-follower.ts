/**
 * Follows the journals for all streams of the process: what a commit added is read once, and each stream writes what of it is
 * for its listener. A stream that stands further back than what is kept here reads the journals by itself until it has caught
 * up. Nothing that is told is stored a second time.
 */
import type { Clock } from '@tallystick/service-kit'
import { countVersions, isBefore, type Position } from '../../domain/position.ts'
import type { Audience } from '../../wire/audience.ts'
import type { Happening } from './frames.ts'
import { JournalPages, type Page, type PagesStore } from './journal-pages.ts'
import type { SessionLooks } from './session-looks.ts'

/** What happened last, kept for streams that lag or come back at once: about 2 MB. */
const KEPT_MAX = 512

export type JournalFollower = ReturnType<typeof createJournalFollower>

type FollowerDeps = {
  readonly store: PagesStore
  /** Up to where everything may be told, and to whom. */
  readonly looks: Pick<SessionLooks, 'again' | 'hasOthers' | 'isFresh' | 'reach' | 'reached'>
  readonly serviceName: string
  readonly clock: Pick<Clock, 'unixMs'>
  /** All who hear of a version were told, so long after it may have been written. */
  readonly onFannedOut: (audience: Audience, seconds: number) => void
  readonly onFailure: (error: unknown) => void
}

/** Has the streams of a kind, some of which are open, say what happened. */
type Teller = (happenings: readonly Happening[]) => Promise<void>

function createTellers({ clock, onFannedOut }: Pick<FollowerDeps, 'clock' | 'onFannedOut'>) {
  const tellers = new Set<Teller>()
  return {
    areThere: () => tellers.size > 0,
    /** From now on somebody hears by it. */
    join: (tell: Teller): void => void tellers.add(tell),
    leave: (tell: Teller): void => void tellers.delete(tell),
    async tell(happenings: readonly Happening[], sinceMs: number): Promise<void> {
      for (const tell of tellers) await tell(happenings)
      const seconds = (clock.unixMs() - sinceMs) / 1_000
      for (const { slot, version } of happenings)
        if (version > 0) onFannedOut(slot.audience, seconds)
    },
  }
}

export function createJournalFollower(deps: FollowerDeps) {
  const { clock, looks, onFailure, store } = deps
  const tellers = createTellers(deps)
  const pages = new JournalPages(store, deps.serviceName)
  let end = looks.reached
  /** Everything from `floor` to `end`. */
  let [floor, recent]: [Position, readonly Happening[]] = [end, []]
  let [isLooking, isFreeDue, clears] = [false, false, 0]
  /** Since when something may have been written that nobody looked for. */
  let dueMs: number | undefined

  const clear = (to = end): void => {
    clears += 1
    recent = []
    floor = end = to
  }
  const keep = (page: Page): void => {
    const all = [...recent, ...page.happenings]
    const dropped = all.at(-KEPT_MAX - 1)
    recent = all.slice(-KEPT_MAX)
    if (dropped !== undefined) floor = dropped.end
    end = page.end
  }
  const lookOnce = async (sinceMs: number): Promise<void> => {
    const wasFresh = looks.isFresh
    await looks.reach()
    const to = looks.reached
    if (!tellers.areThere()) return clear(to)
    if (countVersions(to) <= countVersions(end) && !isFreeDue)
      // Streams have waited for a look.
      return wasFresh ? undefined : tellers.tell([], sinceMs)
    const clearsBefore = clears
    const page = await pages.everything(end, to)
    if (clears !== clearsBefore || countVersions(page.end) < countVersions(to)) dueMs = sinceMs
    // What was erased meanwhile may be in it.
    if (clears !== clearsBefore) return
    isFreeDue = false
    keep(page)
    await tellers.tell(page.happenings, sinceMs)
  }
  const look = async (): Promise<void> => {
    isLooking = true
    try {
      while (dueMs !== undefined) {
        const sinceMs = dueMs
        dueMs = undefined
        await lookOnce(sinceMs).catch((error: unknown) => {
          dueMs = sinceMs
          throw error
        })
      }
    } finally {
      // In the turn that found nothing due: a wake in between would be lost.
      isLooking = false
    }
  }
  const wake = (): void => {
    dueMs ??= clock.unixMs()
    if (!isLooking) void look().catch(onFailure)
  }

  return {
    pages,
    looks,
    /** Where streams stand that have heard everything. */
    end: () => end,
    floor: () => floor,
    /** What is kept from a position on, which is not before `floor`. */
    keptFrom: (from: Position): readonly Happening[] =>
      recent.slice(recent.findLastIndex(({ end: reached }) => !isBefore(from, reached)) + 1),
    ...tellers,
    /** Something may have been written. */
    wake,
    /** Chains were erased or freed: nothing of them may be told from memory. */
    forget(): void {
      clear()
      isFreeDue = true
      wake()
    },
  }
}
