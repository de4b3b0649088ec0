import { preimageHash } from '@tallystick/hashchain'
import type { LedgerEntry } from './ledger-entry.ts'

/**
 * The entry as a ledger takes it. One whose prices may not be shown gets a salt: everything else of it is public, its hash
 * too, and a price has so few digits that whoever hashes every likely one would find it. A function of the ledger's secret
 * and the entry's place, so that no two entries share one.
 */
export function saltEntry(
  entry: LedgerEntry,
  { secret, seq }: { readonly secret: string; readonly seq: number },
): LedgerEntry {
  if (entry.type === 'pick' || entry.type === 'outcome' || entry.isRedistributable) return entry
  return { ...entry, salt: preimageHash(`${secret} entry ${seq}`) }
}
