/** The file of the reservations: its schema, and how it is opened. */
import { DatabaseSync } from 'node:sqlite'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { applyMigrations } from './apply-migrations.ts'
import { messageOf } from './sqlite-grading-database.ts'

/** "TalP". */
const APPLICATION_ID = 0x54616c50
/** How long a statement waits for another process's, milliseconds: transactions here are single rows. */
const BUSY_TIMEOUT_MS = 2_000
const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE reservations (
  payment_id TEXT PRIMARY KEY,
  payer TEXT NOT NULL, -- network and account
  fingerprint TEXT NOT NULL,
  idempotency_key TEXT,
  keeps_answer INTEGER NOT NULL CHECK (keeps_answer IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at REAL NOT NULL, -- Unix seconds
  body TEXT NOT NULL, -- payment and subject, JSON; the amount as text
  request TEXT, -- while there is no answer
  answer TEXT,
  answered_by TEXT, -- payment_id of the row whose answer this one was given
  is_delivered INTEGER NOT NULL DEFAULT 0 CHECK (is_delivered IN (0, 1))
) STRICT;
CREATE INDEX reservations_open ON reservations (payment_id) WHERE state <> 'answered';
CREATE INDEX reservations_by_expiry ON reservations (expires_at) WHERE state = 'answered';
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint) WHERE keeps_answer = 1 AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON reservations (payer, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON reservations (answered_by) WHERE answered_by IS NOT NULL;`,
]

/** Opens the reservations beside a ledger, in `<path>.payments`. Throws GradingStoreUnavailable. */
export function openReservationDatabase(databasePath: string): DatabaseSync {
  const path = `${databasePath}.payments`
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    // Every acknowledged write is on the disk (G4): WAL with a full fsync at each commit.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    applyMigrations(database, { applicationId: APPLICATION_ID, migrations: MIGRATIONS })
    return database
  } catch (error) {
    database?.close()
    throw new GradingStoreUnavailable(`${path} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    })
  }
}
