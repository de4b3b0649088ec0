/**
 * The service's own rows, on either engine: a statement that both SQLite and PostgreSQL take is written once, and runs through
 * this port. SqliteConnection implements it; on PostgreSQL its rows are those of a PostgresConnection.
 */
import type { Durability } from './store.ts'

/**
 * Rows of a statement in which `$1` stands for a value and a table's name has no schema. Statements sent without waiting for
 * answers run in order. Flags come as 0 and 1 or as booleans, bytes as a Uint8Array.
 */
export type SqlQuery = <Row extends Readonly<Record<string, unknown>>>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>

/** A connection to either engine. Failures of disk, lock or server are the service's own error; anything else stays as it is. */
export type SqlConnection = {
  readonly engine: 'sqlite' | 'postgres'
  /** Text that others send, as a cell: bytes on PostgreSQL, since it may hold a NUL. */
  readonly textCell: (text: string) => string | Uint8Array
  /** Runs outside a transaction; on PostgreSQL never during `transaction`. */
  readonly read: SqlQuery
  /**
   * Runs statements in a transaction of their own, one transaction after another. Behind a server it may run twice if only the
   * answer of its COMMIT was lost, so it must change nothing but the store.
   */
  transaction<Result>(
    run: (query: SqlQuery) => Promise<Result>,
    durability?: Durability,
  ): Promise<Result>
  /** Waits for what was asked, and takes no more. */
  end(): Promise<void>
}
