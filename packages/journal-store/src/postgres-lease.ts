/**
 * A lease on PostgreSQL: a row that its holder renews by the database's clock. A stopped process cannot say that it stopped, so
 * two things guard what it does when it wakes: its own clock what it sends, its epoch what it stores.
 */
import { keepBeating } from './heartbeat.ts'
import type { Lease } from './lease.ts'
import { PostgresConnection } from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'

/** How long a lease goes on without a heartbeat, milliseconds: three of them. */
const TTL_MS = 6_000

type LeaseName = {
  /** Unique in its schema. */
  readonly name: string
  readonly schema: string
  /** Unique to the process, and to this opening. */
  readonly process: string
}

type LeaseOptions = {
  readonly onProblem: (error: unknown) => void
  /** A clock that is never set, milliseconds. */
  readonly nowMs?: () => number
}

/** Opens a lease; resolves once the first attempt to take it is over. It is taken whenever it is free. */
export async function openPostgresLease(
  door: PostgresDoor,
  { name, process, schema }: LeaseName,
  { nowMs = () => performance.now(), onProblem }: LeaseOptions,
): Promise<Lease> {
  const connection = new PostgresConnection(door, { schema })
  const listeners: ((epoch: number) => void)[] = []
  let holding: { readonly epoch: number; readonly endMs: number } | undefined
  const beat = async (): Promise<void> => {
    // Before it is asked: the database counts from later on.
    const endMs = nowMs() + TTL_MS
    const [row] = await connection.transaction((query) =>
      query<{ readonly epoch: number | null }>(
        "SELECT take_lease($1, $2, $3 * interval '1 ms') AS epoch",
        [name, process, TTL_MS],
      ),
    )
    const before = holding?.epoch
    holding = typeof row?.epoch === 'number' ? { epoch: row.epoch, endMs } : undefined
    if (holding !== undefined && holding.epoch !== before)
      for (const listener of listeners) listener(holding.epoch)
  }
  const beating = await keepBeating(beat, { onProblem, pause: door.pause })
  const close = async (): Promise<void> => {
    await beating.end()
    holding = undefined
    // Whoever cannot say so loses it by itself.
    await connection
      .transaction((query) => query('SELECT leave_lease($1, $2)', [name, process]))
      .catch(onProblem)
    await connection.end()
  }
  let closing: Promise<void> | undefined
  const epoch = (): number | undefined =>
    holding !== undefined && nowMs() < holding.endMs ? holding.epoch : undefined
  return {
    isHeld: () => epoch() !== undefined,
    epoch,
    onHeld: (listener) => {
      listeners.push(listener)
      const now = epoch()
      if (now !== undefined) listener(now)
    },
    require: async (query, mine) => {
      await query(`SELECT ${schema}.require_lease($1, $2)`, [name, mine])
    },
    close: () => (closing ??= close()),
  }
}
