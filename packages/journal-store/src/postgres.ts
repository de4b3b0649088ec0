/**
 * The engine on PostgreSQL, apart from `index.ts`, so that a service on SQLite alone loads no `pg`.
 *
 * @example
 * const store = await openPostgresJournalStore<'notes'>(NOTES, options)
 * await store.write(async ({ journals, query, send }) => {
 *   // Under the lock of the heads.
 *   const [author] = await query('SELECT name FROM notes.authors WHERE name = $1', ['ann'])
 *   // In the same transaction.
 *   if (author === undefined) send('INSERT INTO notes.authors VALUES ($1)', ['ann'])
 *   return journals.notes.append(leafHash(Buffer.from('first')), ['first'])
 * }) // 0, on the disk
 */

export { moveToPostgres, moveToSqlite } from './move-store.ts'
export type { StoreMove } from './moved-rows.ts'
export { acceptPostgresBackup } from './postgres-backup.ts'
export { MAKE_OWN, PostgresConnection, type PostgresQuery } from './postgres-connection.ts'
export { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
export type { PostgresTransaction } from './postgres-group.ts'
export { readHeads } from './postgres-heads.ts'
export {
  openPostgresJournalReader,
  openPostgresJournalStore,
  type PostgresJournalReader,
  type PostgresJournalStore,
  type PostgresStoreOptions,
} from './postgres-journal-store.ts'
export { UPKEEP_ANSWER_MS } from './postgres-line.ts'
export { openPostgresPlace, type PostgresPlace, placesSql } from './postgres-place.ts'
export {
  openPostgresStore,
  openPostgresStoreReader,
  type PostgresOpening,
  type PostgresReaderOptions,
  type PostgresStore,
  type PostgresStoreReader,
} from './postgres-store.ts'
export {
  migratePostgresStore,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'
export { openWriteProbe } from './write-probe.ts'
