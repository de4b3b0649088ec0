/**
 * The engine on PostgreSQL, apart from `index.ts`, so that a service on SQLite alone loads no `pg`.
 *
 * @example
 * const memory = { read: () => undefined, save: () => [] }
 * const store = await openPostgresStore<'notes', undefined, never>(NOTES, { ...options, memory })
 * await store.write(({ append, run }) => {
 *   run('INSERT INTO authors VALUES ($1)', ['ann']) // in the same transaction
 *   return append('notes', leafHash(Buffer.from('first')), ['first'])
 * }) // 0, on the disk
 */

export { moveToPostgres, moveToSqlite } from './move-store.ts'
export type { StoreMove } from './moved-rows.ts'
export { acceptPostgresBackup } from './postgres-backup.ts'
export { MAKE_OWN, PostgresConnection, type PostgresRun } from './postgres-connection.ts'
export { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
export { openPostgresLease } from './postgres-lease.ts'
export { UPKEEP_ANSWER_MS } from './postgres-line.ts'
export { openPostgresProcess } from './postgres-process.ts'
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
  type SchemaPart,
} from './postgres-store-kind.ts'
export { openWriteProbe } from './write-probe.ts'
