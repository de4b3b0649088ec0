/**
 * Group commit: writes that come in one turn of the event loop share a transaction and its fsync, and resolve when it is on
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

/** Writes on one connection. */
export type WriteQueue = {
  /** Runs a write within a transaction; resolves with its result when it is durable. */
  write<Result>(run: () => Result): Promise<Result>
  /** Commits what waits and takes nothing more. */
  close(): void
}

/** Opens the queue of a connection. `before` brings memory up to date inside the transaction; `commit` stores what memory has; `undo` goes back. */
export function openWriteQueue(options: {
  readonly database: DatabaseSync
  readonly before: () => void
  readonly commit: () => void
  readonly undo: () => void
}): WriteQueue {
  const { database, before, commit, undo } = options
  const waiting: Write[] = []
  let [isDue, isClosed] = [false, false]

  function fail(writes: readonly Write[], cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error = new GradingStoreUnavailable(`nothing was written: ${reason}`, { cause })
    try {
      if (database.isTransaction) database.exec('ROLLBACK')
      undo()
    } finally {
      for (const { reject } of writes) reject(error)
    }
  }

  function flush(): void {
    const writes = waiting.splice(0, COMMIT_WRITES_MAX)
    if (writes.length === 0) return
    try {
      database.exec('BEGIN IMMEDIATE')
      before()
      for (const { run } of writes) run()
      commit()
      database.exec('COMMIT')
    } catch (error) {
      fail(writes, error)
      return
    }
    for (const { resolve } of writes) resolve()
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
    write: <Result>(run: () => Result) =>
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
    close: () => {
      isClosed = true
      while (waiting.length > 0) flush()
    },
  }
}
