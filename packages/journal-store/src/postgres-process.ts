/**
 * The place of a process among the equal processes that serve one store: a row that says that it lives. Whoever was silent for
 * too long is forgotten, and goes on under a new id.
 */
import { randomUUID } from 'node:crypto'
import { keepBeating } from './heartbeat.ts'
import { FORGOTTEN_MS, type ProcessPlace } from './lease.ts'
import { PostgresConnection } from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'
import { findSchemaFault, type PostgresStoreKind } from './postgres-store-kind.ts'
import type { SqlQuery } from './sql-connection.ts'

/** An answer that took longer says too little of the database's clock: half of it may be the error, milliseconds. */
const MEASURED_MS_MAX = 500

type ProcessOptions = {
  readonly onProblem: (error: unknown) => void
  /** A clock that is never set, milliseconds. */
  readonly nowMs?: () => number
}

type Seen = { readonly is_known: boolean; readonly living: number; readonly unix_ms: number }

const SEE = "SELECT is_known, living, unix_ms FROM see_process($1, $2, $3 * interval '1 ms', $4)"

/** Refuses whoever would change the store under a process that serves it, and keeps new ones out until the transaction ends. */
export async function requireNobody(query: SqlQuery, schema: string): Promise<void> {
  await query(`SELECT ${schema}.require_nobody($1 * interval '1 ms')`, [FORGOTTEN_MS])
}

/**
 * Opens it; resolves once it was seen, or could not be. Whoever contracts the schema waits for all who were seen, so each new
 * one looks at the schema behind its row: one that was away while it was contracted shuts the door.
 */
export async function openPostgresProcess(
  door: PostgresDoor,
  { migrations, schema }: Pick<PostgresStoreKind<string>, 'migrations' | 'schema'>,
  { nowMs = () => performance.now(), onProblem }: ProcessOptions,
): Promise<ProcessPlace> {
  const connection = new PostgresConnection(door, { schema })
  const listeners: ((id: string) => void)[] = []
  let [id, isNew, knownUntilMs, living] = [randomUUID(), true, Number.NEGATIVE_INFINITY, 1]
  /** What to add to this process's clock to get the database's time. */
  let aheadMs: number | undefined
  const see = async (): Promise<boolean> => {
    const askedMs = nowMs()
    const [row] = await connection.transaction(async (query, rows) => {
      const found = await query<Seen>(SEE, [id, isNew, FORGOTTEN_MS, migrations.length])
      const fault = isNew ? await findSchemaFault(rows, { migrations, schema }) : undefined
      if (fault !== undefined) door.shut(fault)
      return found
    }, 'relaxed')
    const tookMs = nowMs() - askedMs
    if (row !== undefined && (aheadMs === undefined || tookMs <= MEASURED_MS_MAX))
      aheadMs = row.unix_ms - (askedMs + tookMs / 2)
    if (row?.is_known !== true) return false
    isNew = false
    knownUntilMs = askedMs + FORGOTTEN_MS
    living = row.living
    return true
  }
  const beat = async (): Promise<void> => {
    if (await see()) return
    id = randomUUID()
    isNew = true
    for (const listener of listeners) listener(id)
    await see()
  }
  let current: Promise<void> | undefined
  const beatOnce = (): Promise<void> =>
    (current ??= beat().finally(() => {
      current = undefined
    }))
  const beating = await keepBeating(beatOnce, { onProblem, pause: door.pause })
  const close = async (): Promise<void> => {
    await beating.end()
    knownUntilMs = Number.NEGATIVE_INFINITY
    await connection
      .transaction((query) => query('SELECT leave_process($1)', [id]), 'relaxed')
      .catch(onProblem)
    await connection.end()
  }
  let closing: Promise<void> | undefined
  return {
    id: () => id,
    isKnown: () => nowMs() < knownUntilMs,
    living: () => living,
    unixMs: () => (aheadMs === undefined ? Date.now() : Math.round(nowMs() + aheadMs)),
    beat: beatOnce,
    onForgotten: (listener) => void listeners.push(listener),
    close: () => (closing ??= close()),
  }
}
