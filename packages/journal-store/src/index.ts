export {
  type CheckpointReading,
  checkpointOrigin,
  loadCheckpointSeed,
  type StoreOwner,
} from './checkpoint-file.ts'
export { openDiskProbe } from './disk-probe.ts'
export { type Awaitable, type Journal, messageOf, type WriteTrouble } from './journal-store.ts'
export { besideDatabase, makePrivateFile, PRIVATE_FILE_MODE, replaceFile } from './private-file.ts'
export {
  type BodySeal,
  bodyOfBytes,
  createBodySeal,
  sealReceipt,
} from './sealed-bodies.ts'
export type { SqlConnection, SqlQuery, TupleQuery } from './sql-connection.ts'
export {
  askEach,
  POSTGRES_DIALECT,
  SQLITE_DIALECT,
  type SqlDialect,
  whenAnswered,
} from './sql-dialect.ts'
export {
  type AcceptedJournal,
  acceptSqliteBackup,
  backupSqliteFile,
  backupSqliteStore,
} from './sqlite-backup.ts'
export { guardedTuples, SqliteConnection, sqliteAtOnce, sqliteTuples } from './sqlite-connection.ts'
export {
  guardsOf,
  openSqliteFile,
  openSqliteReader,
  prepareQuery,
  type SqliteFileKind,
} from './sqlite-database.ts'
export { readStoredHead, type SqliteJournalTable } from './sqlite-journal.ts'
export {
  openSqliteJournalReader,
  openSqliteJournalStore,
  type SqliteStoreOptions,
} from './sqlite-journal-store.ts'
export type { SqliteStoreKind } from './sqlite-store-kind.ts'
export { verifyJournal } from './verify-journal.ts'
export { type WitnessProblem, WitnessPush } from './witness-push.ts'
