/**
 * What anybody may see of an entry (G7): prices only of sources that may be redistributed; of others keys, times, source
 * and the entry's hash. A committed pick is its commitment alone until its event has started, and then its opening.
 */

import type { PublicEntry } from '../wire/ledger.ts'
import type { PickOpening } from './commitment.ts'
import type { EventInfo } from './event-state.ts'
import type { StoredEntry, StoredPick } from './grading-store.ts'
import { hasStarted } from './has-started.ts'
import type { EntryPrices, LedgerEntry } from './ledger-entry.ts'

type Members = Readonly<Record<string, unknown>>

/** A market's prices without the prices. */
function withoutOdds({ odds, ...rest }: EntryPrices): Members {
  return { ...rest, selections: Object.keys(odds).toSorted() }
}

function redacted(entry: LedgerEntry): Members | undefined {
  if (entry.type === 'pick' || entry.type === 'outcome') return undefined
  if (entry.isRedistributable) return undefined
  // Neither the salt, which hides the prices from whoever tries them on the hash, nor the hash of the bytes that held them.
  const { prices, rawSha256: _raw, salt: _salt, ...rest } = entry
  return { ...rest, prices: prices.map(withoutOdds) }
}

function openingOf(
  pick: StoredPick | undefined,
  info: EventInfo | undefined,
  nowSeconds: number,
): PickOpening | undefined {
  if (pick === undefined || info === undefined) return undefined
  return hasStarted(info, nowSeconds) ? pick.opening : undefined
}

/** The public view of an entry, without its proof. */
export function publicView(
  { seq, hash, entry }: StoredEntry,
  context: {
    /** The pick whose commitment it is, and what is known of its event. */
    readonly pick: StoredPick | undefined
    readonly info: EventInfo | undefined
    readonly nowSeconds: number
  },
): Omit<PublicEntry, 'inclusion'> {
  const hidden = redacted(entry)
  const opened = openingOf(context.pick, context.info, context.nowSeconds)
  return {
    seq,
    hash,
    ...(hidden === undefined ? { entry: { ...entry } } : { redacted: hidden }),
    ...(opened === undefined ? {} : { opened: { ...opened } }),
  }
}
