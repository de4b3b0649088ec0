/** What anyone may read of the ledger: single entries with proofs, and pages of entries. */
import type { EntryView, LedgerPage, PublicEntry } from '../../wire/ledger.ts'
import { eventPathIn } from '../markets/markets.ts'
import { committedForm } from './committed-pick.ts'
import { hasStarted } from './event-state.ts'
import type { GradingStore, StoredEntry } from './grading-store.ts'
import { type LedgerEntry, toHex } from './ledger-entry.ts'

type Parts = {
  readonly store: GradingStore
  /** Unix seconds. */
  readonly nowSeconds: () => number
}

/** Entries on one page: a screen or two. */
const LEDGER_PAGE_ENTRIES = 20

/** The public part of an entry; undefined if all of it is public. */
function redacted(entry: LedgerEntry): EntryView['redacted'] {
  if (entry.type === 'pick' || entry.type === 'outcome' || entry.isRedistributable) return undefined
  // Leaves out the salt, which stops guessing prices against the hash, and the hash of the raw bytes.
  const { prices, rawSha256: _raw, salt: _salt, ...rest } = entry
  const selections = prices.map(({ odds, ...market }) => ({
    ...market,
    selections: Object.keys(odds).toSorted(),
  }))
  return { ...rest, prices: selections }
}

/** The committed pick of an entry, once its event has started. */
async function findOpened({ store, nowSeconds }: Parts, { entry, seq }: StoredEntry) {
  const pick = entry.type === 'pick' ? await store.pickBySeq(seq) : undefined
  if (pick === undefined) return undefined
  const [state] = await store.events([eventPathIn(pick.opening.market)])
  const isOpen = state !== undefined && hasStarted(state.info, nowSeconds())
  return isOpen ? committedForm(pick.opening) : undefined
}

async function makeView(parts: Parts, stored: StoredEntry): Promise<EntryView> {
  const { entry, hash, seq } = stored
  const hidden = redacted(entry)
  const opened = await findOpened(parts, stored)
  return {
    seq,
    hash,
    ...(hidden === undefined ? { entry: { ...entry } } : { redacted: hidden }),
    ...(opened === undefined ? {} : { opened: { ...opened } }),
  }
}

/** An entry with its inclusion proof; prices only of redistributable sources. */
export async function publicEntry(parts: Parts, seq: number): Promise<PublicEntry | undefined> {
  const { store } = parts
  const stored = await store.entry(seq)
  if (stored === undefined) return undefined
  const head = await store.head()
  const proof = await store.inclusionProof(seq, head.size)
  return {
    ...(await makeView(parts, stored)),
    inclusion: { size: head.size, root: toHex(head.rootHash), proof },
  }
}

/** The entries before `before`, or the newest, newest first. */
export async function publicEntries(parts: Parts, before: number | undefined): Promise<LedgerPage> {
  const { size, rootHash } = await parts.store.head()
  const to = Math.min(size, before ?? size)
  const entries = []
  const from = Math.max(0, to - LEDGER_PAGE_ENTRIES)
  for await (const stored of parts.store.entries({ from, to }))
    entries.push(await makeView(parts, stored))
  return { size, root: toHex(rootHash), entries: entries.toReversed() }
}
