/**
 * Notices other processes' commits: a listener on its own connection, and a regular look in case it missed one.
 */

import { PostgresConnection } from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'
import { errorMessage } from './unavailable.ts'

/** A notification may be lost with its connection, so there is a look this often anyway, milliseconds. */
const LOOK_MS = 250

type WatchOptions = {
  /** Notified by whoever commits; the notification says only who. */
  readonly channel: string
  /** Whose notifications need no look. */
  readonly ownName: string
  /** Reads on the listening connection, which has nothing else to do. */
  readonly look: (connection: Pick<PostgresConnection, 'read' | 'tuples'>) => Promise<void>
  readonly onProblem: (error: unknown) => void
}

/**
 * Looks when woken, and every quarter of a second; `end` resolves once no look is under way. Rejects with the service's error
 * if it cannot listen.
 */
export async function watchPostgres(
  door: PostgresDoor,
  options: WatchOptions,
): Promise<{ end(): Promise<void> }> {
  const ended = new AbortController()
  // A notification during a look may be too late for it, so it is kept for the next one.
  let woken = Promise.withResolvers<void>()
  const { channel } = options
  const listener = new PostgresConnection(door, {
    onConnected: async (line) => {
      line.onNotification((payload) => {
        if (payload !== options.ownName) woken.resolve()
      })
      await line.run(`LISTEN ${channel}`)
      // Looks for what was committed while nobody listened.
      woken.resolve()
    },
  })
  const loop = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await Promise.race([woken.promise, door.pause(LOOK_MS)])
      if (ended.signal.aborted) return
      woken = Promise.withResolvers()
      try {
        // This also finds a lost connection.
        await options.look(listener)
        last.atMs = performance.now()
      } catch (error) {
        if (!ended.signal.aborted) options.onProblem(error)
        await door.pause(LOOK_MS)
      }
    }
  }
  try {
    await listener.use()
  } catch (error) {
    if (error instanceof door.Unavailable) throw error
    throw new door.Unavailable(`${door.name} cannot be used: ${errorMessage(error)}`, {
      cause: error,
    })
  }
  const last = { atMs: performance.now() }
  door.looks.add(last)
  const looping = loop()
  return {
    end: async () => {
      ended.abort()
      woken.resolve()
      await looping
      door.looks.delete(last)
      await listener.end()
    },
  }
}
