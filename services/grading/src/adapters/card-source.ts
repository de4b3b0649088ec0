/** What cards are made from, read on either engine: by the service's store, and by the reader of long work. */
import { preimageHash } from '@tallystick/hashchain'
import { type Awaitable, whenAnswered } from '@tallystick/journal-store'
import type { LedgerReader } from '../domain/grading-store.ts'
import { openEventSearch, type SearchDialect } from './event-search.ts'
import type { LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'

/** Runs a read once memory is as new as the store. */
export type Look = <Result>(run: () => Awaitable<Result>) => Promise<Result>

export function cardSource(
  {
    memory,
    search,
    source,
  }: {
    readonly memory: LedgerMemory
    readonly search: SearchDialect
    readonly source: Pick<LedgerSource, 'ask'>
  },
  look: Look,
): LedgerReader {
  const { ask } = source
  const events = (paths: readonly string[]) => look(() => memory.events(ask, paths))
  const find = openEventSearch(search, (text, values) =>
    look(() =>
      whenAnswered([ask<readonly [string]>(text, values)], ([rows]) => rows.map(([path]) => path)),
    ),
  )
  return {
    events,
    searchEvents: async (wanted) =>
      (await events(await find(wanted))).flatMap((state) => state ?? []),
    truth: () => look(() => memory.truth),
    payerTag: async (payer) => preimageHash(`${memory.secret} ${payer}`).slice(0, 32),
  }
}
