// Rows beside the records: sessions, audit rows, revoked tokens, who read what, and webhook subscriptions. On SQLite they
// are in a second file, on PostgreSQL in the schema of the records.
import {
  errorMessage,
  openSqliteFile,
  openSqliteReader,
  readSchema,
  type SqlConnection,
  SqliteConnection,
  type SqliteFileKind,
} from '@tallystick/journal-store'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'

/** The file on SQLite. */
export const SIDE_ROWS = {
  applicationId: 0x54616c73, // Tals
  get migrations() {
    return [
      readSchema(new URL('./sqlite-side-rows.schema.sql', import.meta.url), RecordStoreUnavailable),
    ]
  },
  // A statement waits so long for a command's, which takes some milliseconds; the service is blocked meanwhile.
  busyTimeoutMs: 500,
  Unavailable: RecordStoreUnavailable,
} as const satisfies SqliteFileKind

/** Rows on either engine; every failure is RecordStoreUnavailable. */
export type SideRows = SqlConnection

/** SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGED: ReadonlySet<unknown> = new Set([11, 26])

/** What to do about a damaged file. An empty one in its place would make revoked tokens good again, so nobody makes it unasked. */
function explainRepair(error: unknown, path: string): string {
  const isDamaged =
    error instanceof Error && 'errcode' in error && DAMAGED.has(Number(error.errcode) & 0xff)
  return isDamaged
    ? `. The file is damaged; it holds revoked tokens, sessions, event subscriptions, and rows of refused writes and reads. Put it back from a backup of the disk; or give those up: replace TOKEN_SECRET, so that no token from before is good, move ${path}, ${path}-wal and ${path}-shm away, start, and revoke tokens of TRUSTED_ISSUERS again with care revoke`
    : ''
}

/** Opens rows in a file, and creates it unless it is only read. Throws RecordStoreUnavailable. */
export function openSqliteSideRows(path: string, to: 'read' | 'write' = 'write'): SideRows {
  try {
    const database =
      to === 'read' ? openSqliteReader(path, SIDE_ROWS) : openSqliteFile(path, SIDE_ROWS)
    // Erased and rotated rows must not stay readable in the file.
    if (to === 'write') database.exec('PRAGMA secure_delete = ON')
    return new SqliteConnection(database, RecordStoreUnavailable)
  } catch (error) {
    const cause = error instanceof RecordStoreUnavailable ? error.cause : error
    throw new RecordStoreUnavailable(errorMessage(error) + explainRepair(cause, path), { cause })
  }
}

async function orUnavailable<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer
  } catch (cause) {
    const reason = `the rows beside the records: ${errorMessage(cause)}`
    throw new RecordStoreUnavailable(reason, { cause })
  }
}

/** The same in the schema of the records; the caller ends the connection. */
export const postgresSideRows = (store: {
  readonly read: SqlConnection['read']
  readonly writeRows: SqlConnection['transaction']
}): SideRows => ({
  engine: 'postgres',
  textCell: (text) => Buffer.from(text),
  read: (text, values) => orUnavailable(store.read(text, values)),
  transaction: (run, durability) => orUnavailable(store.writeRows(run, durability)),
  end: async () => undefined,
})
