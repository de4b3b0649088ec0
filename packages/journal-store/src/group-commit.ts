/**
 * Group commit: writes share a transaction and its fsync, and resolve once it is on the disk. A group gathers while each
 * iteration of the event loop adds writes to it, so a lone write does not wait. A failed transaction leaves nothing behind, in
 * the store or in memory. The engine supplies the transaction: `inOneTransaction` if it answers at once, its own function if
 * it is behind a connection.
 */
import {
  type Awaitable,
  type Durability,
  messageOf,
  type UnavailableError,
} from './journal-store.ts'

/** Writes that may wait. A request or a slice of an import holds each of them, so this is far above what sockets allow. */
const WAITING_WRITES_MAX = 20_000

/** The most iterations that a group gathers for, some 10 ms at a request or two each; even endless writers get answers. */
const GATHERING_ITERATIONS_MAX = 64

/** A waiting write. It may run again if its transaction was rolled back. */
export type Write = {
  readonly durability: Durability
  readonly run: () => Awaitable<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What the engine does around a group of writes. */
export type GroupTransaction = {
  begin(durability: Durability): void
  /** Stores what memory holds, and commits. */
  commit(durability: Durability): void
  /** Brings memory back to what is committed, which reads nothing, then rolls back. */
  goBack(): void
  /** Called when a group is durable, before its writes resolve: memory follows, then others hear of it. */
  committed(): void
  /** Whether an error is the engine's, which affects the whole group, or a bug of the write that threw it. */
  isOfEngine(error: unknown): boolean
}

type GroupCommitOptions = {
  /** Settles writes in one transaction. If one write alone failed, returns the others, which still need writing. */
  readonly writeTogether: (writes: readonly Write[]) => Awaitable<readonly Write[]>
  /** Most writes in one transaction. */
  readonly writesMax: number
  readonly Unavailable: UnavailableError
}

/** `relaxed` if no write of a group needs to be on the disk. */
export const durabilityOf = (writes: readonly Write[]): Durability =>
  writes.every(({ durability }) => durability === 'relaxed') ? 'relaxed' : 'synced'

/** Settles writes in a transaction that answers at once. */
export function inOneTransaction(
  transaction: GroupTransaction,
  options: { readonly Unavailable: UnavailableError; readonly onProblem: (error: unknown) => void },
): (writes: readonly Write[]) => readonly Write[] {
  function goBack(): void {
    try {
      transaction.goBack()
    } catch (error) {
      // Memory is back. The next group rolls back first.
      options.onProblem(error)
    }
  }

  function fail(writes: readonly Write[], cause: unknown): void {
    goBack()
    const error = new options.Unavailable(`nothing was written: ${messageOf(cause)}`, { cause })
    for (const { reject } of writes) reject(error)
  }

  return (writes) => {
    const durability = durabilityOf(writes)
    let running: Write | undefined
    try {
      transaction.begin(durability)
      for (running of writes)
        if (running.run() instanceof Promise)
          throw new TypeError('a write of an engine that answers at once is synchronous')
      running = undefined
      transaction.commit(durability)
    } catch (error) {
      if (running === undefined || transaction.isOfEngine(error)) {
        fail(writes, error)
        return []
      }
      running.reject(error)
      goBack()
      return writes.filter((write) => write !== running)
    }
    try {
      transaction.committed()
    } catch (error) {
      // A bug of whoever hears of it: the group is durable all the same (S12).
      options.onProblem(error)
    }
    for (const { resolve } of writes) resolve()
    return []
  }
}

/** Runs once an iteration of the event loop adds no more writes, or enough are waiting. */
function whenGathered(waiting: readonly Write[], writesMax: number, run: () => void): void {
  let seen = waiting.length
  let iterationsLeft = GATHERING_ITERATIONS_MAX
  const look = (): void => {
    iterationsLeft -= 1
    const isGrowing = waiting.length > seen && waiting.length < writesMax && iterationsLeft > 0
    // A write that needs no fsync waits for no others.
    if (!isGrowing || durabilityOf(waiting) === 'relaxed') return run()
    seen = waiting.length
    setImmediate(look)
  }
  setImmediate(look)
}

/** The writes of one connection. */
export function openGroupCommit(options: GroupCommitOptions) {
  const { Unavailable, writesMax, writeTogether } = options
  const waiting: Write[] = []
  let [isDue, isClosed] = [false, false]
  /** The group that an engine behind a connection is working on. */
  let running: Promise<void> | undefined

  /** Settles a group. An engine that answers at once has done so when this returns. */
  function flush(): void {
    let writes: Awaitable<readonly Write[]> = waiting.splice(0, writesMax)
    while (Array.isArray(writes) && writes.length > 0) writes = writeTogether(writes)
    if (writes instanceof Promise) running = settle(writes)
  }

  async function settle(first: Promise<readonly Write[]>): Promise<void> {
    let writes = await first
    while (writes.length > 0) writes = await writeTogether(writes)
    running = undefined
    if (waiting.length > 0) flushSoon()
  }

  function flushSoon(): void {
    if (isDue || running !== undefined) return
    isDue = true
    whenGathered(waiting, writesMax, () => {
      isDue = false
      if (running !== undefined) return
      flush()
      if (waiting.length > 0) flushSoon()
    })
  }

  async function drained(): Promise<void> {
    while (running !== undefined) {
      await running
      while (waiting.length > 0 && running === undefined) flush()
    }
  }

  return {
    /** Runs a write within a transaction; resolves with its result once that is committed. */
    write: <Result>(
      run: () => Awaitable<Result>,
      durability: Durability = 'synced',
    ): Promise<Result> =>
      new Promise<Result>((resolve, reject) => {
        if (isClosed || waiting.length >= WAITING_WRITES_MAX) {
          reject(new Unavailable(isClosed ? 'the store is closed' : 'too many writes are waiting'))
          return
        }
        let result: { readonly value: Result } | undefined
        const keep = (value: Result): void => {
          result = { value }
        }
        waiting.push({
          durability,
          run: () => {
            const ran = run()
            if (ran instanceof Promise) return ran.then(keep)
            return keep(ran)
          },
          resolve: () => {
            if (result === undefined) reject(new Error('a write was committed without having run'))
            else resolve(result.value)
          },
          reject,
        })
        flushSoon()
      }),
    /** Commits waiting writes and takes no more. An engine that answers at once has done so when this returns. */
    close: (): Awaitable<void> => {
      isClosed = true
      while (waiting.length > 0 && running === undefined) flush()
      return running === undefined ? undefined : drained()
    },
  }
}
