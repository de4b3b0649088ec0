/**
 * Rows of a service's own, on either engine: a statement that SQLite and PostgreSQL both take is said once, and asked through
 * this port. SqliteConnection and PostgresConnection are its two halves.
 */
import type { Awaitable, Durability } from './journal-store.ts'

/**
 * Rows of a statement in which `$1` stands for a value and a table's name has no schema. What is sent before an answer is
 * waited for is run in its order. Flags come as 0 and 1 or as booleans, bytes as a Uint8Array.
 */
export type SqlQuery = <Row extends Readonly<Record<string, unknown>>>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>

/**
 * The same with rows as arrays, which both drivers build faster than objects, and without a wait where the engine is embedded: for
 * what is asked with each request. Columns have no names, and bytes are as the engine keeps them.
 */
export type TupleQuery = <Row extends readonly unknown[]>(
  text: string,
  values?: readonly unknown[],
) => Awaitable<readonly Row[]>

/** A connection to either engine. Failures of disk, lock or server are the service's own error; anything else stays as it is. */
export type SqlConnection = {
  /** Asks by itself; on PostgreSQL not beside `transaction`. */
  readonly read: SqlQuery
  /**
   * Runs statements in a transaction of their own, one transaction after the other. Behind a server it may run twice, where only
   * the answer of its COMMIT was lost: it changes nothing but the store.
   */
  transaction<Result>(
    run: (query: SqlQuery) => Promise<Result>,
    durability?: Durability,
  ): Promise<Result>
  /** Waits for what was asked, and takes nothing more. */
  end(): Promise<void>
}
