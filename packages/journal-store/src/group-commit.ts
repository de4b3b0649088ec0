/**
 * Group commit: writes that come in one iteration of the event loop share a transaction and its fsync, and resolve when it is
 * on the disk. A failing transaction leaves nothing behind, in the store or in memory. What a transaction is, the engine says.
 */
import { type Durability, messageOf, type UnavailableError } from './journal-store.ts'

/** Writes that may wait; a request or a slice of an import holds each, so that this is far above what sockets allow. */
const WAITING_WRITES_MAX = 20_000

type Write = {
  readonly durability: Durability
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What the engine does around a group of writes. */
export type GroupTransaction = {
  begin(durability: Durability): void
  /** Stores what memory holds, and commits. */
  commit(durability: Durability): void
  /** Rolls back, and brings memory back to what is stored. */
  goBack(): void
  /** Told when a group is durable, before its writers are. */
  committed(): void
  /** Whether an error is the engine's, which concerns the whole group, or a bug of the one write that threw it. */
  isOfEngine(error: unknown): boolean
}

type GroupCommitOptions = {
  readonly transaction: GroupTransaction
  /** Writes in one transaction at most: together they hold up the event loop. */
  readonly writesMax: number
  readonly Unavailable: UnavailableError
}

/** Writes in one transaction; where one write alone failed, returns the others, which are still to be written. */
function openWriter({
  transaction,
  Unavailable,
}: GroupCommitOptions): (writes: readonly Write[]) => readonly Write[] {
  /** Whether memory could not be brought back after a failure, because the store could not be read either. */
  let isAhead = false

  function goBack(): void {
    isAhead = true
    transaction.goBack()
    isAhead = false
  }

  function fail(writes: readonly Write[], cause: unknown): void {
    const error = new Unavailable(`nothing was written: ${messageOf(cause)}`, { cause })
    try {
      goBack()
    } catch {
      // The same trouble again; the next write goes back first.
    }
    for (const { reject } of writes) reject(error)
  }

  return (writes) => {
    const isRelaxed = writes.every(({ durability }) => durability === 'relaxed')
    const durability = isRelaxed ? 'relaxed' : 'synced'
    let running: Write | undefined
    try {
      if (isAhead) goBack()
      transaction.begin(durability)
      for (running of writes) running.run()
      running = undefined
      transaction.commit(durability)
    } catch (error) {
      if (running === undefined || transaction.isOfEngine(error)) {
        fail(writes, error)
        return []
      }
      running.reject(error)
      const others = writes.filter((write) => write !== running)
      try {
        goBack()
      } catch (trouble) {
        fail(others, trouble)
        return []
      }
      return others
    }
    transaction.committed()
    for (const { resolve } of writes) resolve()
    return []
  }
}

/** The writes of one connection. */
export function openGroupCommit(options: GroupCommitOptions) {
  const { Unavailable, writesMax } = options
  const writeTogether = openWriter(options)
  const waiting: Write[] = []
  let [isDue, isClosed] = [false, false]

  function flush(): void {
    let writes: readonly Write[] = waiting.splice(0, writesMax)
    while (writes.length > 0) writes = writeTogether(writes)
  }

  function flushSoon(): void {
    if (isDue) return
    isDue = true
    setImmediate(() => {
      isDue = false
      flush()
      if (waiting.length > 0) flushSoon()
    })
  }

  return {
    /** Runs a write within a transaction; resolves with its result when that is committed. */
    write: <Result>(run: () => Result, durability: Durability = 'synced'): Promise<Result> =>
      new Promise<Result>((resolve, reject) => {
        if (isClosed || waiting.length >= WAITING_WRITES_MAX) {
          reject(new Unavailable(isClosed ? 'the store is closed' : 'too many writes are waiting'))
          return
        }
        let result: { readonly value: Result } | undefined
        waiting.push({
          durability,
          run: () => {
            result = { value: run() }
          },
          resolve: () => {
            if (result === undefined) reject(new Error('a write was committed without having run'))
            else resolve(result.value)
          },
          reject,
        })
        flushSoon()
      }),
    /** Commits what waits and takes nothing more. */
    close: (): void => {
      isClosed = true
      while (waiting.length > 0) flush()
    },
  }
}
