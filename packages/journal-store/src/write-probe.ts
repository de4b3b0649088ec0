/** Asks whether a write would be committed now, for `/ready` (S13): a database can answer every read and commit nothing. */

import { keepFinding } from './keep-finding.ts'
import {
  COMMITS_WAIT,
  MAKE_OWN,
  PostgresConnection,
  type PostgresRun,
} from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'
import { sqlCode } from './postgres-line.ts'
import { TOO_OLD } from './postgres-store-kind.ts'
import { errorMessage, type WriteTrouble } from './unavailable.ts'

/** Asked, connected anew and asked again, it answers before a probe of readiness gives up after 3 s, milliseconds. */
const LIMITS = { answerMs: 1_000, findMs: 300 }

/** A server whose disk is full is often set to this; the message that makes a commit's own is no write to it. */
const READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean AS is_read_only"
/** Some 300 kB of the server's disk, given back at once: a small write may find room where the next record's will not. */
const ASK_ROOM = `SELECT count(*) FROM (SELECT FROM generate_series(1, 20000) AS number ORDER BY -number OFFSET 0) AS room`
const LITTLE_MEMORY = "SET LOCAL work_mem = '64kB'"
/** Temporary files may have a disk of their own. */
const DISK_OF_RECORDS = "SET LOCAL temp_tablespaces = ''"
/** The disk is full, or temporary files have reached their limit. */
const NO_ROOM = new Set(['53100', '53400'])
const DISK_FULL = 'the disk of the database server has no room for a write'
const TAKES_NO_WRITES = 'the database server takes no writes'
const HEADS_LOCKED =
  'writes wait: another session of the database has locked the heads of the journals'
/** The server says this of a lock that it waited for too long. */
const LOCK_TIMEOUT = '55P03'

/** The public words: those of the driver name hosts. */
function describeTrouble(message: string): WriteTrouble {
  const says = (sentence: string): boolean => message.endsWith(sentence)
  if (says(COMMITS_WAIT)) return { reason: 'commits_wait', sentence: COMMITS_WAIT }
  if (says(DISK_FULL)) return { reason: 'disk_full', sentence: DISK_FULL }
  if (says(HEADS_LOCKED)) return { reason: 'writes_locked', sentence: HEADS_LOCKED }
  const sentence = [TAKES_NO_WRITES, TOO_OLD].find(says) ?? 'no database server commits in time'
  return { reason: 'database_unavailable', sentence }
}

/** Takes the heads and lets go of them within one statement: whoever writes must not wait for the answer to reach a busy process. */
export const tryHeads = (schema: string): string =>
  `DO $$ BEGIN
     PERFORM ${schema}.take_heads();
     RAISE SQLSTATE 'TS001';
   EXCEPTION WHEN SQLSTATE 'TS001' THEN
   END $$`

/** Rejects if nobody can append to the journals: their heads stay locked, and nothing is written meanwhile. */
async function requireHeads(connection: PostgresConnection, schema: string): Promise<void> {
  const countEntries = async (): Promise<number> => {
    const sizes = `SELECT sum(size)::bigint AS entries FROM ${schema}.journals`
    const run: PostgresRun<readonly { readonly entries: number }[]> = (query) => query(sizes)
    return (await connection.transaction(run, 'relaxed'))[0]?.entries ?? 0
  }
  const before = await countEntries()
  try {
    await connection.transaction((query) => query(tryHeads(schema)), 'relaxed')
  } catch (error) {
    if (sqlCode(unwrapCause(error)) !== LOCK_TIMEOUT) throw error
    if ((await countEntries()) === before) throw new Error(HEADS_LOCKED, { cause: error })
  }
}

async function requireRoom(connection: PostgresConnection): Promise<void> {
  try {
    await connection.transaction(
      (query) => Promise.all([query(LITTLE_MEMORY), query(DISK_OF_RECORDS), query(ASK_ROOM)]),
      'relaxed',
    )
  } catch (error) {
    throw NO_ROOM.has(sqlCode(unwrapCause(error))) ? new Error(DISK_FULL, { cause: error }) : error
  }
}

const unwrapCause = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? error.cause : error

/** Asks for a commit, and for the lock of whoever appends if the database has journals in a schema. */
export function openWriteProbe(
  door: PostgresDoor,
  onProblem: (error: unknown) => void,
  { schema }: { readonly schema?: string } = {},
) {
  const connection = new PostgresConnection(door, LIMITS)
  const look = async (): Promise<WriteTrouble | undefined> => {
    try {
      await connection.transaction(async (query) => {
        const [row] = await query<{ readonly is_read_only: boolean }>(READ_ONLY)
        if (row?.is_read_only === true) throw new Error(TAKES_NO_WRITES)
        await query(MAKE_OWN)
      })
      await requireRoom(connection)
      if (schema !== undefined) await requireHeads(connection, schema)
      return undefined
    } catch (error) {
      onProblem(error)
      return describeTrouble(errorMessage(error))
    }
  }
  return {
    /** Why a write would fail or wait now; undefined if it would not. */
    trouble: keepFinding(look),
    end: () => connection.end(),
  }
}
