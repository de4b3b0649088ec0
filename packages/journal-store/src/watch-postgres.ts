/**
 * Hearing of other processes' commits: a listener on a connection of its own, and a look now and then behind it. The same
 * connection keeps the place of a service that is one process.
 */
import type { Client } from 'pg'
import { type PostgresOptions } from './connect-postgres.ts'
import { PostgresConnection, type PostgresQuery } from './postgres-connection.ts'

/** A notification may be lost with its connection: one looks so often all the same, milliseconds. */
const LOOK_MS = 250

type WatchOptions = PostgresOptions & {
  /** Notified by whoever commits; the notification says who, and nothing else. */
  readonly channel: string
  /** Whose notifications need no look. */
  readonly ownName: string
  /** Reads by the connection that listens: it has nothing else to do. */
  readonly look: (read: PostgresQuery) => Promise<void>
  readonly onProblem: (error: unknown) => void
  /** Whether another listener that is alone is refused. */
  readonly isAlone?: boolean | undefined
}

/** How often the place of an only process is asked for, and the pause between, milliseconds: a killed one's is free soon. */
const PLACE_TRIES_MAX = 20
const PLACE_PAUSE_MS = 50

/** Takes the place of an only process, for as long as the connection lives. Rejects with the service's error. */
export async function takePlace(
  client: Client,
  of: Pick<WatchOptions, 'channel' | 'pause' | 'Unavailable'>,
): Promise<void> {
  for (let tries = 0; tries < PLACE_TRIES_MAX; tries += 1) {
    const { rows } = await client.query<{ readonly is_mine: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 1)) AS is_mine',
      [of.channel],
    )
    if (rows[0]?.is_mine === true) return
    await of.pause(PLACE_PAUSE_MS)
  }
  await client.end()
  throw new of.Unavailable(
    'another process has this store open (one process at a time may serve it)',
  )
}

/**
 * Looks when woken, and every quarter of a second; `end` resolves when no look is under way any more. Rejects with the
 * service's error where another process is alone.
 */
export async function watchPostgres(of: WatchOptions): Promise<{ end(): Promise<void> }> {
  const ended = new AbortController()
  // What is told while a look is under way may have come too late for it: it is kept, and looked at next.
  let woken = Promise.withResolvers<void>()
  const listener = new PostgresConnection({
    ...of,
    onConnected: async (client) => {
      if (of.isAlone === true) await takePlace(client, of)
      client.on('notification', ({ payload }) => {
        if (payload !== of.ownName) woken.resolve()
      })
      await client.query(`LISTEN ${of.channel}`)
      // What was told while nobody listened is looked up.
      woken.resolve()
    },
  })
  const loop = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await Promise.race([woken.promise, of.pause(LOOK_MS)])
      if (ended.signal.aborted) return
      woken = Promise.withResolvers()
      try {
        // Finds out a connection that is lost, too.
        await of.look(listener.read)
      } catch (error) {
        if (!ended.signal.aborted) of.onProblem(error)
        await of.pause(LOOK_MS)
      }
    }
  }
  await listener.use()
  const looping = loop()
  return {
    end: async () => {
      ended.abort()
      woken.resolve()
      await looping
      await listener.end()
    },
  }
}
