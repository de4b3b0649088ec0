/** Paid requests under way, on disk beside the ledger: each is committed with an fsync before its payment is settled. */
import { DatabaseSync } from 'node:sqlite'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import type { PaidRequest, PaidRequestLog } from '../domain/paid-request-log.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

/** "TalR" in ASCII. */
const APPLICATION_ID = 0x54616c52
/** How long a statement waits for another process's, milliseconds: transactions here are single rows. */
const BUSY_TIMEOUT_MS = 2_000

const SCHEMA = `
CREATE TABLE paid_requests (
  payment_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('grade', 'audit')),
  text TEXT NOT NULL, -- canonical JSON
  received_at REAL NOT NULL -- Unix seconds
) STRICT;`

/** [kind, text, received_at] */
type Row = readonly [PaidRequest['kind'], string, number]

const requestOf = ([kind, text, receivedAtSeconds]: Row): PaidRequest => ({
  kind,
  text,
  receivedAtSeconds,
})

function openDatabase(path: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    const { user_version: version } = database.prepare('PRAGMA user_version').get() ?? {}
    if (Number(version) === 0)
      database.exec(
        `BEGIN IMMEDIATE; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1; COMMIT`,
      )
    return database
  } catch (error) {
    database?.close()
    throw new GradingStoreUnavailable(`${path} cannot be opened`, { cause: error })
  }
}

function step<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw new GradingStoreUnavailable('a paid request could not be kept or read', { cause: error })
  }
}

/** A log that closes its file. */
export type SqlitePaidRequests = PaidRequestLog & { close(): void }

/** Opens the log beside a ledger, in `<path>.requests`. Throws GradingStoreUnavailable. */
export function openSqlitePaidRequests(databasePath: string): SqlitePaidRequests {
  const database = openDatabase(`${databasePath}.requests`)
  const find = prepareQuery<Row>(
    database,
    'SELECT kind, text, received_at FROM paid_requests WHERE payment_id = ?',
  )
  const insert = database.prepare(
    'INSERT OR IGNORE INTO paid_requests (payment_id, kind, text, received_at) VALUES (?, ?, ?, ?)',
  )
  const forget = database.prepare('DELETE FROM paid_requests WHERE payment_id = ?')
  const forgetAllBut = database.prepare(
    'DELETE FROM paid_requests WHERE payment_id NOT IN (SELECT value FROM json_each(?))',
  )
  return {
    keep: async (paymentId, request) =>
      step(() => {
        insert.run(paymentId, request.kind, request.text, request.receivedAtSeconds)
        const row = find.get(paymentId)
        return row === undefined ? request : requestOf(row)
      }),
    find: async (paymentId) =>
      step(() => {
        const row = find.get(paymentId)
        return row === undefined ? undefined : requestOf(row)
      }),
    forget: async (paymentId) =>
      step(() => {
        forget.run(paymentId)
      }),
    forgetAllBut: async (paymentIds) =>
      step(() => {
        forgetAllBut.run(JSON.stringify(paymentIds))
      }),
    close: () => {
      database.close()
    },
  }
}
