/**
 * Notices other processes' commits: a listener on its own connection, and a regular look in case it missed one. The same
 * connection holds the place of a single-process service.
 */
import type { Client } from 'pg'
import { type PostgresOptions } from './connect-postgres.ts'
import { PostgresConnection, type PostgresQuery } from './postgres-connection.ts'

/** A notification may be lost with its connection, so there is a look this often anyway, milliseconds. */
const LOOK_MS = 250

type WatchOptions = PostgresOptions & {
  /** Notified by whoever commits; the notification says only who. */
  readonly channel: string
  /** Whose notifications need no look. */
  readonly ownName: string
  /** Reads on the listening connection, which has nothing else to do. */
  readonly look: (read: PostgresQuery) => Promise<void>
  readonly onProblem: (error: unknown) => void
  /** Whether to be the only listener of this kind: a second one is refused. */
  readonly isAlone?: boolean | undefined
}

/** How often to ask for the place of a single process, and the pause between, milliseconds: a killed one's is soon free. */
const PLACE_TRIES_MAX = 20
const PLACE_PAUSE_MS = 50

/** Takes the place of a single process for as long as the connection lives. Rejects with the service's error. */
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
 * Looks when woken, and every quarter of a second; `end` resolves once no look is under way. Rejects with the service's error
 * if another process has the place.
 */
export async function watchPostgres(of: WatchOptions): Promise<{ end(): Promise<void> }> {
  const ended = new AbortController()
  // A notification during a look may be too late for it, so it is kept for the next one.
  let woken = Promise.withResolvers<void>()
  const listener = new PostgresConnection({
    ...of,
    onConnected: async (client) => {
      if (of.isAlone === true) await takePlace(client, of)
      client.on('notification', ({ payload }) => {
        if (payload !== of.ownName) woken.resolve()
      })
      await client.query(`LISTEN ${of.channel}`)
      // Looks for what was committed while nobody listened.
      woken.resolve()
    },
  })
  const loop = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await Promise.race([woken.promise, of.pause(LOOK_MS)])
      if (ended.signal.aborted) return
      woken = Promise.withResolvers()
      try {
        // This also finds a lost connection.
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
