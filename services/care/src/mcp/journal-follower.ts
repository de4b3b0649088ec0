/**
 * Follows the journals for all streams of the process: what a commit added is read once, and each stream writes what of it is
 * for its listener. A stream that stands further back than what is kept here reads the journals by itself until it has caught
 * up. Nothing that is told is stored a second time.
 */
import type { Clock } from '@tallystick/service-kit'
import { countVersions, isBefore, type Position } from '../domain/position.ts'
import type { Happening } from './frames.ts'
import { JournalPages, type Page, type PagesStore } from './journal-pages.ts'
import type { SessionLooks } from './session-looks.ts'

/** What happened last, kept for streams that lag or come back at once: about 2 MB. */
const KEPT_MAX = 512

export type JournalFollower = ReturnType<typeof createJournalFollower>

type FollowerDeps = {
  readonly store: PagesStore
  /** Up to where everything may be told, and to whom. */
  readonly looks: Pick<SessionLooks, 'isFresh' | 'reach' | 'sizes'>
  readonly serviceName: string
  readonly clock: Pick<Clock, 'unixMs'>
  /** Whether anybody would be told. */
  readonly isHeard: () => boolean
  /** Something happened, by `sinceMs` at the latest: the streams stand behind. */
  readonly tell: (happenings: readonly Happening[], sinceMs: number) => Promise<void>
  readonly onFailure: (error: unknown) => void
}

export function createJournalFollower(deps: FollowerDeps) {
  const { clock, isHeard, looks, onFailure, store, tell } = deps
  const pages = new JournalPages(store, deps.serviceName)
  let end: Position = { ...looks.sizes, frames: 0 }
  /** Everything from `floor` to `end`. */
  let [floor, recent]: [Position, readonly Happening[]] = [end, []]
  let [isLooking, isFreeDue, clears] = [false, false, 0]
  /** Since when something may have been written that nobody looked for. */
  let dueMs: number | undefined

  const clear = (): void => {
    clears += 1
    recent = []
    floor = end
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
    const to = looks.sizes
    if (!isHeard()) end = { ...to, frames: 0 }
    if (!isHeard()) return clear()
    if (countVersions(to) <= countVersions(end) && !isFreeDue)
      // Streams have waited for a look.
      return wasFresh ? undefined : tell([], sinceMs)
    const clearsBefore = clears
    const page = await pages.everything(end, to)
    if (clears !== clearsBefore || countVersions(page.end) < countVersions(to)) dueMs = sinceMs
    // What was erased meanwhile may be in it.
    if (clears !== clearsBefore) return
    isFreeDue = false
    keep(page)
    await tell(page.happenings, sinceMs)
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
