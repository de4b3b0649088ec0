/**
 * SQLite's two files, the ledger and the reservations beside it: how they are opened. Every transaction
 * is fsynced (WAL, synchronous = FULL), so an acknowledged write is on disk (G4).
 */
import type { DatabaseSync } from 'node:sqlite'
import {
  besideDatabase,
  createGuards,
  openSqliteFile,
  readSchema,
  type SqliteFileKind,
  type SqliteKind,
} from '@tallystick/journal-store'
import { GradingStoreBehind, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'

/** The ledger's store, which several processes may write. */
export const LEDGER = {
  applicationId: 0x54616c47, // TalG
  get migrations() {
    return [
      readSchema(new URL('./sqlite-ledger.schema.sql', import.meta.url), GradingStoreUnavailable),
    ]
  },
  // An entry has about a kilobyte: three leave a quarter of a 4 KiB page empty, and an import would move four times as many pages.
  pageBytes: 16_384,
  // An import commits several times a second.
  busyTimeoutMs: 5_000,
  Unavailable: GradingStoreUnavailable,
  Behind: GradingStoreBehind,
  journals: {
    ledger: {
      noun: 'the ledger',
      originEnding: '',
      fileEnding: '.checkpoint',
      table: 'entries',
      columns: ['event', 'text'],
    },
  },
  // They block the event loop for some 100 ms at most.
  writesPerCommitMax: 256,
  acceptCommand: 'grading accept-backup',
  isAlone: false,
  // SQLite's default of 2 MB does not hold the indexes of a hundred thousand events.
  cacheKib: 32_768,
} as const satisfies SqliteKind<'ledger'>

export const RESERVATIONS: SqliteFileKind = {
  applicationId: 0x54616c50, // TalP
  get migrations() {
    return [
      readSchema(
        new URL('./sqlite-reservations.schema.sql', import.meta.url),
        GradingStoreUnavailable,
      ),
    ]
  },
  // Transactions of single rows.
  busyTimeoutMs: 2_000,
  Unavailable: GradingStoreUnavailable,
}

/** Opens the ledger's file, making it where there is none. Throws GradingStoreUnavailable. */
export const openGradingDatabase = (path: string): DatabaseSync => openSqliteFile(path, LEDGER)

/** Opens the reservations beside a ledger, in `<path>.payments`. Throws GradingStoreUnavailable. */
export const openReservationDatabase = (databasePath: string): DatabaseSync =>
  openSqliteFile(besideDatabase(databasePath, '.payments') ?? databasePath, RESERVATIONS)

export const { guardedNow } = createGuards(GradingStoreUnavailable)
