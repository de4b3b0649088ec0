export {
  type CheckpointReading,
  checkpointOrigin,
  loadCheckpointSeed,
  type StoreOwner,
} from './checkpoint-file.ts'
export { openDiskProbe } from './disk-probe.ts'
export { headOfRow } from './journal.ts'
export { type Lease, OWN_LEASE, OWN_PROCESS, type ProcessPlace } from './lease.ts'
export { POSTGRES_FIGURES, type PostgresFigures, placeFigures } from './postgres-figures.ts'
export { besideDatabase, errorCode, replaceFile, replaceFileNow } from './private-file.ts'
export { readSchema } from './read-schema.ts'
export { bodyOfBytes } from './seal-keys.ts'
export type { SqlConnection, SqlQuery } from './sql-connection.ts'
export {
  type AcceptedJournal,
  acceptSqliteBackup,
  backupSqliteFile,
  backupSqliteStore,
} from './sqlite-backup.ts'
export {
  askOn,
  createGuards,
  openSqliteRows,
  openWritingRows,
  runAtOnce,
  SqliteConnection,
} from './sqlite-connection.ts'
export {
  openSqliteFile,
  openSqliteReader,
  type SqliteFileKind,
} from './sqlite-database.ts'
export type { SqliteKind } from './sqlite-journals.ts'
export {
  openSqliteStore,
  openSqliteStoreReader,
  type SqliteStoreOpening,
} from './sqlite-store.ts'
export type {
  GroupMemory,
  Journal,
  Rows,
  Statement,
  Store,
} from './store.ts'
export { errorMessage, type WriteTrouble } from './unavailable.ts'
export {
  moveImports,
  POSTGRES_IMPORTS,
  SQLITE_IMPORTS,
  UNFINISHED_IMPORTS,
} from './unfinished-import.ts'
export { verifyJournal } from './verify-journal.ts'
export {
  type WitnessLead,
  type WitnessNews,
  type WitnessProblem,
  WitnessPush,
} from './witness-push.ts'
export { sharedRuns } from './write-group.ts'
