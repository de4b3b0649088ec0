import type { Clock } from '../clock.ts'
import type { TransactionRecord } from '../ledger/transaction-record.ts'

/** How long a transaction id is remembered for duplicates and receipts, milliseconds of wall time. */
const REMEMBERED_MS = 180_000

/** What the network remembers of a transaction id. */
export type RememberedTransaction = {
  seenAtMs: number
  /** Nodes that took it. */
  nodes: Set<number>
  /** Ends when consensus has handled it; undefined while it is held back, or lost. */
  handling: Promise<void> | undefined
  /** What consensus made of it first; undefined while it is on its way. */
  record: TransactionRecord | undefined
}

/** Transaction ids of the last three minutes. */
export type TransactionMemory = {
  find(id: string): RememberedTransaction | undefined
  /** Writes down that `node` was given it. True when the node had it before. */
  add(id: string, node: number): boolean
  /** Undoes `add` for a transaction that the node turned away. */
  remove(id: string, node: number): void
}

/** An empty memory that goes by `wall`. */
export function createTransactionMemory(wall: Pick<Clock, 'unixMs'>): TransactionMemory {
  const entries = new Map<string, RememberedTransaction>()

  function forgetOld(): void {
    // Insertion order is order of time, so the old ones are in front.
    for (const [id, entry] of entries) {
      if (wall.unixMs() - entry.seenAtMs <= REMEMBERED_MS) return
      entries.delete(id)
    }
  }

  return {
    find(id) {
      forgetOld()
      return entries.get(id)
    },
    add(id, node) {
      forgetOld()
      const entry = entries.get(id) ?? {
        seenAtMs: wall.unixMs(),
        nodes: new Set<number>(),
        handling: undefined,
        record: undefined,
      }
      const isKnown = entry.nodes.has(node)
      entry.nodes.add(node)
      entries.set(id, entry)
      return isKnown
    },
    remove(id, node) {
      const entry = entries.get(id)
      entry?.nodes.delete(node)
      if (entry?.nodes.size === 0) entries.delete(id)
    },
  }
}
