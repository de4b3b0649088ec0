import type { Hex } from 'viem'
import { formatTransactionId, type TransactionRecord } from './transaction-record.ts'

/** Every record of the ledger in consensus order. Nothing is forgotten: a local ledger lives for hours, not years. */
export type RecordStore = {
  /** Appends a record. Its consensus timestamp is later than that of every one before. */
  add(record: TransactionRecord): void
  /** Records of a transaction id in its mirror form: several when duplicates reached consensus. */
  byTransactionId(mirrorId: string): readonly TransactionRecord[]
  /** The record of an EVM transaction by the hash that its sender knows. */
  byEthereumHash(hash: Hex): TransactionRecord | undefined
  /** Records with `fromNs <= consensusNs <= toNs`, ascending. */
  between(range: { fromNs: bigint; toNs: bigint }): readonly TransactionRecord[]
}

/** An empty store. */
export function createRecordStore(): RecordStore {
  const records: TransactionRecord[] = []
  const byId = new Map<string, TransactionRecord[]>()
  const byHash = new Map<Hex, TransactionRecord>()

  function firstIndexAtOrAfter(nanoseconds: bigint): number {
    let low = 0
    let high = records.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((records[middle]?.consensusNs ?? 0n) < nanoseconds) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    add(record) {
      records.push(record)
      const key = formatTransactionId(record.id)
      const twins = byId.get(key)
      if (twins === undefined) byId.set(key, [record])
      else twins.push(record)
      if (record.evm !== undefined) byHash.set(record.evm.hash, record)
    },
    byTransactionId: (mirrorId) => byId.get(mirrorId) ?? [],
    byEthereumHash: (hash) => byHash.get(hash),
    between: ({ fromNs, toNs }) =>
      records.slice(firstIndexAtOrAfter(fromNs), firstIndexAtOrAfter(toNs + 1n)),
  }
}
