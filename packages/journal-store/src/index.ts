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
export { readStoredHead } from './sqlite-journal.ts'
export { openSqliteJournalStore } from './sqlite-journal-store.ts'
export type { SqliteKind } from './sqlite-journals.ts'
export { openSqliteRows, openWritingRows, runAtOnce } from './sqlite-rows.ts'
export {
  openSqliteStore,
  openSqliteStoreReader,
  type SqliteStoreOpening,
} from './sqlite-store.ts'
export type { SqliteStoreKind } from './sqlite-store-kind.ts'
export type {
  GroupMemory,
  Journal as CommittedJournal,
  Rows,
  Statement,
  Store,
} from './store.ts'
export { verifyJournal } from './verify-journal.ts'
export { type WitnessProblem, WitnessPush } from './witness-push.ts'
