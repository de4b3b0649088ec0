/**
 * Group commit: writes that wait share a transaction and its fsync. A group gathers while each iteration of the event loop adds
 * writes to it, so a lone write waits for one iteration. Its writes are decided one after another, each seeing what those before
 * it did. Nothing reaches the database yet: a write's changes join the group when it has returned, the group's join the store at
 * COMMIT. So a write that throws, or takes too long, is rejected alone and leaves nothing to undo. The heads that are committed are
 * kept here too, and who hears that they grew.
 */
import type { CompactRange } from '@tallystick/hashchain'
import { eachJournal, type GrowingJournal, growFrom, headOfRow } from './journal.ts'
import { type Durability, type Rows, type Statement, type Tx, WriteTooSlow } from './store.ts'
import type { JournalTable, StoreKind } from './store-kind.ts'
import type { UnavailableError } from './unavailable.ts'

/** Writes that may wait. A request or a slice of an import holds each of them, so this is far above what sockets allow. */
const WAITING_WRITES_MAX = 20_000

/** The most iterations that a group gathers for, some 10 ms at a request or two each; even endless writers get answers. */
const GATHERING_ITERATIONS_MAX = 64

/** A waiting write. */
export type Write<Name extends string, Memory, Needs> = {
  readonly run: (tx: Tx<Name, Memory>) => unknown
  readonly needs: Needs | undefined
  readonly durability: Durability
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** Its caller has been answered: it must not run again when its group does. */
  isRejected: boolean
  /** The run returned this last. */
  result: unknown
}

/** `relaxed` if no write of a group needs to be on the disk. */
export const chooseDurability = (
  writes: readonly { readonly durability: Durability }[],
): Durability => (writes.every(({ durability }) => durability === 'relaxed') ? 'relaxed' : 'synced')

const nextIteration = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/**
 * Repeated work, one run after the other. A run begins no earlier than the end of the event loop's iteration. All who ask
 * before it begins share it, so their changes are written together.
 */
export function sharedRuns(run: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined
  const runAfter = async (before: Promise<unknown>): Promise<void> => {
    await before
    await nextIteration()
    next = undefined
    await run()
  }
  return () => {
    if (next !== undefined) return next
    next = runAfter(last)
    last = next.catch(() => undefined)
    return next
  }
}

/** Opens a queue in front of `commit`, which settles each write of a group, and never rejects. */
export function openWriteQueue<Name extends string, Memory, Needs>(options: {
  /** Most writes in one group. */
  readonly writesMax: number
  readonly Unavailable: UnavailableError
  readonly commit: (writes: readonly Write<Name, Memory, Needs>[]) => Promise<void>
}) {
  const { commit, Unavailable, writesMax } = options
  const waiting: Write<Name, Memory, Needs>[] = []
  let working: Promise<void> | undefined
  let isClosed = false

  async function gather(): Promise<void> {
    let seen = waiting.length
    for (let left = GATHERING_ITERATIONS_MAX; left > 0; left -= 1) {
      await nextIteration()
      const isGrowing = waiting.length > seen && waiting.length < writesMax
      // A write that needs no fsync waits for no others.
      if (isClosed || !isGrowing || chooseDurability(waiting) === 'relaxed') return
      seen = waiting.length
    }
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      await gather()
      await commit(waiting.splice(0, writesMax))
    }
    working = undefined
  }

  const add = <Result>(
    run: (tx: Tx<Name, Memory>) => Promise<Result> | Result,
    { durability, needs }: Pick<Write<Name, Memory, Needs>, 'durability' | 'needs'>,
  ): Promise<Result> =>
    new Promise<Result>((resolve, reject) => {
      if (isClosed || waiting.length >= WAITING_WRITES_MAX) {
        reject(new Unavailable(isClosed ? 'the store is closed' : 'too many writes are waiting'))
        return
      }
      const write: Write<Name, Memory, Needs> = {
        run,
        needs,
        durability,
        resolve: () => resolve(write.result as Result),
        reject: (error) => {
          write.isRejected = true
          reject(error)
        },
        isRejected: false,
        result: undefined,
      }
      waiting.push(write)
      working ??= work()
    })

  return {
    write: <Result>(run: (tx: Tx<Name, Memory>) => Promise<Result> | Result, needs?: Needs) =>
      add(run, { durability: 'synced', needs }),
    /** Runs a statement by itself. */
    note: (text: string, values: readonly unknown[]) =>
      add<void>(({ run }) => run(text, values), { durability: 'relaxed', needs: undefined }),
    /** Commits what waits, and takes no more. */
    close: async (): Promise<void> => {
      isClosed = true
      await working
    },
  }
}

/**
 * How long a write may decide, milliseconds. Nothing that it may await takes that long; on PostgreSQL it must stay below the
 * server's limit for idle transactions, or a write that hangs ends the transaction of all.
 */
const RUN_MS = 750

export type Heads<Name extends string> = Readonly<Record<Name, CompactRange>>

/** A statement of one write; if it is refused, so is its write. */
type WriteStatement<Name extends string, Memory, Needs> = Statement & {
  readonly write: Write<Name, Memory, Needs>
}

/** Writes that are decided, and what they change together. */
export type Group<Name extends string, Memory, Needs> = {
  readonly memory: Memory
  readonly journals: Readonly<Record<Name, GrowingJournal>>
  readonly decided: readonly Write<Name, Memory, Needs>[]
  readonly statements: readonly WriteStatement<Name, Memory, Needs>[]
}

/** The engine refused what a single write asked: that write is at fault, and no other. */
export class WriteRefused<Name extends string, Memory, Needs> extends Error {
  readonly write: Write<Name, Memory, Needs>
  constructor(write: Write<Name, Memory, Needs>, cause: unknown) {
    super('a statement of a write was refused', { cause })
    this.write = write
  }
}

/** The sizes of journals. */
export const measureJournals = <Name extends string>(
  journals: Readonly<Record<Name, { readonly size: number } | { readonly range: CompactRange }>>,
): Readonly<Record<Name, number>> =>
  eachJournal({ journals }, (journal) => ('range' in journal ? journal.range.size : journal.size))

/** One timer for all writes of a group; each has the whole time. */
function openLimit(ms: number) {
  let timer: NodeJS.Timeout
  let tooLate: Promise<never>
  const start = (): void => {
    const late = Promise.withResolvers<never>()
    timer = setTimeout(() => late.reject(new WriteTooSlow(`a write decided for over ${ms} ms`)), ms)
    tooLate = late.promise
    tooLate.catch(() => undefined)
  }
  start()
  return {
    keepTo: async <Result>(running: Promise<Result> | Result): Promise<Result> => {
      try {
        return await Promise.race([running, tooLate])
      } catch (error) {
        if (error instanceof WriteTooSlow) {
          Promise.resolve(running).catch(() => undefined)
          start()
        }
        throw error
      }
    },
    end: (): void => clearTimeout(timer),
  }
}

type Deciding<Name extends string, Memory, Needs> = {
  readonly writes: readonly Write<Name, Memory, Needs>[]
  readonly heads: Heads<Name>
  readonly memory: Memory
  readonly rows: Rows
  /** Whether the transaction is gone with a refused statement: then the others are decided again without its write. */
  readonly endsGroup: boolean
  /** Explains its error to a write's caller. */
  readonly explain: (error: unknown) => unknown
  readonly runMs?: number | undefined
}

/** Decides a group. Throws WriteRefused only if `endsGroup`. */
export async function decideGroup<Name extends string, Memory, Needs>(
  options: Deciding<Name, Memory, Needs>,
): Promise<Group<Name, Memory, Needs>> {
  const { endsGroup, explain, heads, memory, rows, runMs = RUN_MS, writes } = options
  const journals = eachJournal({ journals: heads }, growFrom)
  const decided: Write<Name, Memory, Needs>[] = []
  const statements: WriteStatement<Name, Memory, Needs>[] = []
  const limit = openLimit(runMs)
  try {
    for (const write of writes) {
      if (write.isRejected) continue
      const draft = openDraft({ journals, memory, rows })
      let failure: { readonly error: unknown } | undefined
      try {
        write.result = await limit.keepTo(write.run(draft.tx))
      } catch (error) {
        failure = { error }
      }
      draft.end()
      const refusal = draft.refusal()
      // Even if the write has caught it.
      if (refusal !== undefined && endsGroup) throw new WriteRefused(write, refusal.error)
      if (failure !== undefined) {
        write.reject(explain(failure.error))
        continue
      }
      draft.apply()
      for (const statement of draft.statements) statements.push({ ...statement, write })
      decided.push(write)
    }
  } finally {
    limit.end()
  }
  return { memory, journals, decided, statements }
}

/** One write changes these; they count once the write has returned. */
function openDraft<Name extends string, Memory>({
  journals,
  memory,
  rows,
}: {
  readonly journals: Readonly<Record<Name, GrowingJournal>>
  readonly memory: Memory
  readonly rows: Rows
}) {
  const changes: (() => void)[] = []
  const statements: Statement[] = []
  const appended: Partial<Record<Name, number>> = {}
  let isOpen = true
  let refusal: { readonly error: unknown } | undefined
  const requireOpen = (): void => {
    if (!isOpen) throw new Error('a write has ended: it reads and changes nothing any more')
  }
  const size = (name: Name): number => journals[name].range.size + (appended[name] ?? 0)
  const tx: Tx<Name, Memory> = {
    memory,
    rows: async (text, values) => {
      requireOpen()
      try {
        return await rows(text, values)
      } catch (error) {
        refusal ??= { error }
        throw error
      }
    },
    size,
    append: (name, leaf, cells) => {
      requireOpen()
      const index = size(name)
      appended[name] = (appended[name] ?? 0) + 1
      changes.push(() => journals[name].append(leaf, cells))
      return index
    },
    run: (text, values) => {
      requireOpen()
      statements.push({ text, values })
    },
    remember: (change) => {
      requireOpen()
      changes.push(change)
    },
  }
  return {
    tx,
    statements,
    refusal: () => refusal,
    end: (): void => {
      isOpen = false
    },
    apply: (): void => {
      for (const change of changes) change()
    },
  }
}

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
    /** Reads a journal's head, as it is then. */
    reader: (name: Name) => (): CompactRange => heads[name],
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
