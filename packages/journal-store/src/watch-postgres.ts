/** Hearing of other processes' commits: a listener on a connection of its own, and a look now and then behind it. */
import { PostgresConnection, type PostgresOptions } from './postgres-connection.ts'

/** A notification may be lost with its connection: one looks so often all the same, milliseconds. */
const LOOK_MS = 250

type WatchOptions = PostgresOptions & {
  /** Notified by whoever commits; the notification says nothing. */
  readonly channel: string
  readonly look: () => Promise<void>
  readonly onProblem: (error: unknown) => void
}

const nothing = (): void => undefined

/** Looks when woken, and every quarter of a second; `end` resolves when no look is under way any more. */
export function watchPostgres(of: WatchOptions): { end(): Promise<void> } {
  const ended = new AbortController()
  let wake = nothing
  const listener = new PostgresConnection({
    ...of,
    onConnected: async (client) => {
      client.on('notification', () => wake())
      await client.query(`LISTEN ${of.channel}`)
      // What was told while nobody listened is looked up.
      wake()
    },
  })
  const loop = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      try {
        // Finds out a connection that is lost.
        await listener.read('SELECT 1')
        await Promise.race([woken, of.pause(LOOK_MS)])
        if (!ended.signal.aborted) await of.look()
      } catch (error) {
        if (!ended.signal.aborted) of.onProblem(error)
        await of.pause(LOOK_MS)
      }
    }
  }
  const looping = loop()
  return {
    end: async () => {
      ended.abort()
      wake()
      await looping
      await listener.end()
    },
  }
}
