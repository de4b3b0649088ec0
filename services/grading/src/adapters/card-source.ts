/** What cards are made from, read on either engine: by the service's store, and by the reader of long work. */
import { preimageHash } from '@tallystick/hashchain'
import type { LedgerReader } from '../domain/grading-store.ts'
import { openEventSearch, type SearchDialect } from './event-search.ts'
import type { LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'

/** Brings memory up to date where nothing announces other processes' writes. */
export type Freshen = () => Promise<void>

export function cardSource(
  {
    memory,
    search,
    source,
  }: {
    readonly memory: LedgerMemory
    readonly search: SearchDialect
    readonly source: Pick<LedgerSource, 'rows'>
  },
  freshen: Freshen,
): LedgerReader {
  const { rows } = source
  const events = async (paths: readonly string[]) => {
    await freshen()
    return memory.events(rows, paths)
  }
  const find = openEventSearch(search, async (text, values) => {
    await freshen()
    return (await rows<readonly [string]>(text, values)).map(([path]) => path)
  })
  return {
    events,
    searchEvents: async (wanted) =>
      (await events(await find(wanted))).flatMap((state) => state ?? []),
    truth: async () => {
      await freshen()
      return memory.truth
    },
    payerTag: async (payer) => preimageHash(`${memory.secret} ${payer}`).slice(0, 32),
  }
}
