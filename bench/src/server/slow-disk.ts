// A disk that takes longer: each commit that SQLite waits for the disk with takes so many milliseconds more, during which its
// process does nothing else, as during an fsync. A commit without an fsync takes no longer.
import { DatabaseSync, StatementSync } from 'node:sqlite'

type Method = (this: object, ...values: unknown[]) => unknown

/** Puts a function around a method of a class. */
function around(
  owner: { readonly prototype: object },
  name: string,
  wrap: (method: Method) => Method,
) {
  const method: unknown = Reflect.get(owner.prototype, name)
  if (typeof method !== 'function') throw new Error(`there is no ${name} to slow down`)
  Reflect.set(owner.prototype, name, wrap(method as Method))
}

/** Slows down every connection of this process that is opened from now on. */
export function slowDisk(waitMs: number): void {
  const isSynced = new WeakMap<object, boolean>()
  const databases = new WeakMap<object, object>()
  const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const waitIfSynced = (database: object | undefined): void => {
    if (database !== undefined && isSynced.get(database) === true) Atomics.wait(never, 0, 0, waitMs)
  }
  around(
    DatabaseSync,
    'exec',
    (exec) =>
      function slowExec(this: object, sql) {
        exec.call(this, sql)
        for (const [, level] of String(sql).matchAll(/PRAGMA synchronous = (\w+)/g))
          isSynced.set(this, level === 'FULL')
        if (sql === 'COMMIT') waitIfSynced(this)
      },
  )
  around(
    DatabaseSync,
    'prepare',
    (prepare) =>
      function slowPrepare(this: object, sql, ...options) {
        const statement = prepare.call(this, sql, ...options)
        if (sql === 'COMMIT' && statement instanceof StatementSync) databases.set(statement, this)
        return statement
      },
  )
  around(
    StatementSync,
    'all',
    (all) =>
      function slowAll(this: object, ...values) {
        const rows = all.call(this, ...values)
        waitIfSynced(databases.get(this))
        return rows
      },
  )
}
