/** What anyone may read of the ledger: single entries with their proofs, and pages of them. */
import type { LedgerPage, PublicEntry } from '../wire/ledger.ts'
import type { GradingStore, StoredEntry } from './grading-store.ts'
import { hexOf, publicView } from './ledger-entry.ts'
import { eventPathOf } from './markets.ts'

type Parts = {
  readonly store: GradingStore
  /** Unix seconds. */
  readonly nowSeconds: () => number
}

/** Entries on one page: a screen or two. */
const LEDGER_PAGE_ENTRIES = 20

async function viewOf({ store, nowSeconds }: Parts, stored: StoredEntry) {
  const pick = stored.entry.type === 'pick' ? await store.pickBySeq(stored.seq) : undefined
  const [state] =
    pick === undefined ? [undefined] : await store.events([eventPathOf(pick.opening.market)])
  return publicView(stored, { pick, info: state?.info, nowSeconds: nowSeconds() })
}

/** An entry with its inclusion proof; prices only of redistributable sources. */
export async function publicEntry(parts: Parts, seq: number): Promise<PublicEntry | undefined> {
  const { store } = parts
  const stored = await store.entry(seq)
  if (stored === undefined) return undefined
  const head = await store.head()
  const proof = await store.inclusionProof(seq, head.size)
  return {
    ...(await viewOf(parts, stored)),
    inclusion: { size: head.size, root: hexOf(head.rootHash), proof },
  }
}

/** The entries before `before`, or the newest, newest first. */
export async function publicEntries(parts: Parts, before: number | undefined): Promise<LedgerPage> {
  const { size, rootHash } = await parts.store.head()
  const to = Math.min(size, before ?? size)
  const entries = []
  const from = Math.max(0, to - LEDGER_PAGE_ENTRIES)
  for await (const stored of parts.store.entries({ from, to }))
    entries.push(await viewOf(parts, stored))
  return { size, root: hexOf(rootHash), entries: entries.toReversed() }
}
