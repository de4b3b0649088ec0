/**
 * The place of a process among the equal processes that serve one store: a row that says that it lives. Whoever was silent for
 * too long is forgotten, and goes on under a new id.
 */
import { randomUUID } from 'node:crypto'
import { keepBeating } from './heartbeat.ts'
import { PostgresConnection } from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'

/** How long a silent process is remembered, milliseconds: longer than a lease, so that its work is another's before it is forgotten. */
const FORGOTTEN_MS = 10_000

export type PostgresProcess = {
  id(): string
  /** Whether nobody can have forgotten it yet, by its own clock. */
  isKnown(): boolean
  /** How many processes live, this one included: shared limits are divided by it. */
  living(): number
  /** Called with the new id when it was forgotten. */
  onForgotten(listener: (id: string) => void): void
  close(): Promise<void>
}

type ProcessOptions = {
  readonly onProblem: (error: unknown) => void
  /** A clock that is never set, milliseconds. */
  readonly nowMs?: () => number
}

const SEE = "SELECT is_known, living FROM see_process($1, $2, $3 * interval '1 ms')"

/** Opens it; resolves once it was seen, or could not be. */
export async function openPostgresProcess(
  door: PostgresDoor,
  schema: string,
  { nowMs = () => performance.now(), onProblem }: ProcessOptions,
): Promise<PostgresProcess> {
  const connection = new PostgresConnection(door, { schema })
  const listeners: ((id: string) => void)[] = []
  let [id, isNew, knownUntilMs, living] = [randomUUID(), true, Number.NEGATIVE_INFINITY, 1]
  const see = async (): Promise<boolean> => {
    const untilMs = nowMs() + FORGOTTEN_MS
    const [row] = await connection.transaction(
      (query) =>
        query<{ readonly is_known: boolean; readonly living: number }>(SEE, [
          id,
          isNew,
          FORGOTTEN_MS,
        ]),
      'relaxed',
    )
    if (row?.is_known !== true) return false
    isNew = false
    knownUntilMs = untilMs
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
  const beating = await keepBeating(beat, { onProblem, pause: door.pause })
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
    onForgotten: (listener) => void listeners.push(listener),
    close: () => (closing ??= close()),
  }
}
