/**
 * Group commit: writes that come in one iteration of the event loop share a transaction and its fsync, and resolve when it is on
 * the disk. A failing transaction leaves nothing behind, in the file or in memory.
 */
import type { DatabaseSync } from 'node:sqlite'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

/** Writes in one transaction, so that it holds up the event loop for some 100 ms at most. */
const COMMIT_WRITES_MAX = 256
/** Writes that may wait; each is held by a request or an import's slice. */
const WAITING_WRITES_MAX = 20_000

type Write = {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** `before` brings memory up to date inside the transaction; `commit` stores what memory has; `undo` goes back. */
type WriteQueueOptions = {
  readonly database: DatabaseSync
  readonly before: () => void
  readonly commit: () => void
  readonly undo: () => void
}

/** Writes in one transaction; where one write alone failed, returns the others, which are still to be written. */
function openWriter({
  database,
  before,
  commit,
  undo,
}: WriteQueueOptions): (writes: readonly Write[]) => readonly Write[] {
  /** Whether memory could not be brought back after a failure, because the file could not be read either. */
  let isAhead = false

  function goBack(): void {
    isAhead = true
    if (database.isTransaction) database.exec('ROLLBACK')
    undo()
    isAhead = false
  }

  function fail(writes: readonly Write[], cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error = new GradingStoreUnavailable(`nothing was written: ${reason}`, { cause })
    try {
      goBack()
    } catch {
      // The same trouble again; the next write goes back first.
    }
    for (const { reject } of writes) reject(error)
  }

  return (writes) => {
    let running: Write | undefined
    try {
      if (isAhead) goBack()
      database.exec('BEGIN IMMEDIATE')
      before()
      for (running of writes) running.run()
      running = undefined
      commit()
      database.exec('COMMIT')
    } catch (error) {
      // What SQLite throws has a code and concerns all; anything else is a bug of that one write.
      if (running === undefined || (error instanceof Error && 'errcode' in error)) {
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
    for (const { resolve } of writes) resolve()
    return []
  }
}

/** The writes of one connection. */
export function openWriteQueue(options: WriteQueueOptions) {
  const writeTogether = openWriter(options)
  const waiting: Write[] = []
  let [isDue, isClosed] = [false, false]

  function flush(): void {
    let writes: readonly Write[] = waiting.splice(0, COMMIT_WRITES_MAX)
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
    /** Runs a write within a transaction; resolves with its result when it is durable. */
    write: <Result>(run: () => Result): Promise<Result> =>
      new Promise<Result>((resolve, reject) => {
        if (isClosed || waiting.length >= WAITING_WRITES_MAX) {
          const reason = isClosed ? 'the ledger is closed' : 'too many writes are waiting'
          reject(new GradingStoreUnavailable(reason))
          return
        }
        let result: { readonly value: Result } | undefined
        waiting.push({
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
