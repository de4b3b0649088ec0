/** The heads that a process knows to be committed, and who hears that they grew, on either engine. */
import { eachJournal, headOfRow } from './journal.ts'
import type { JournalTable, StoreKind } from './store-kind.ts'
import type { Heads } from './write-group.ts'

/** The heads that rows of `journals` have. Throws the service's error if one is missing. */
export function headsInRows<Name extends string>(
  kind: Pick<StoreKind<Name, JournalTable>, 'journals' | 'Unavailable'>,
  rows: readonly (readonly [name: string, size: number, peaks: Uint8Array])[],
): Heads<Name> {
  const heads = new Map(rows.map(([name, size, peaks]) => [name, headOfRow(size, peaks)]))
  return eachJournal(kind, ({ noun }, name) => {
    const head = heads.get(name)
    if (head === undefined) throw new kind.Unavailable(`${noun} has no head`)
    return head
  })
}

export type KnownHeads<Name extends string> = ReturnType<typeof keepHeads<Name>>

export function keepHeads<Name extends string>(
  opened: Heads<Name>,
  onProblem: (error: unknown) => void = () => undefined,
) {
  const listeners = new Set<(grown: readonly Name[]) => void>()
  let heads = opened
  /** Whatever it throws, a listener say: what is committed is acknowledged (S12). */
  const attempt = (run: () => void): void => {
    try {
      run()
    } catch (error) {
      onProblem(error)
    }
  }
  return {
    attempt,
    now: (): Heads<Name> => heads,
    /** Returns the names of those that grew. */
    take: (found: Heads<Name>): readonly Name[] => {
      const before = heads
      heads = found
      const names = Object.keys(found) as Name[]
      return names.filter((name) => found[name].size > before[name].size)
    },
    /** Tells listeners what grew, if anything did. */
    tell: (grown: readonly Name[]): void => {
      if (grown.length > 0) for (const listener of listeners) attempt(() => listener(grown))
    },
    /** Returns what stops it. */
    onGrown: (listener: (grown: readonly Name[]) => void): (() => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
