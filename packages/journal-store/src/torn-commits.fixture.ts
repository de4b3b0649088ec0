// A connection to a PostgreSQL server that can be cut at a COMMIT, before or after the server gets it, or whose answer can be
// late.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * Where a connection ends at its next COMMIT: before the server gets it, or before the answer arrives. `late` ends nothing:
 * the answer comes with `reopen`.
 */
type Tear = 'before' | 'behind' | 'late'

/**
 * Listens in one folder in place of the server in another. `url` leads there; `tearNext` ends the connection of the next
 * COMMIT that passes.
 */
export async function openTornCommits(server: {
  readonly url: string
  readonly socketFolder: string
  readonly folder: string
}) {
  const sockets: Socket[] = []
  let next: Tear | undefined
  let torn = 0
  let [isClosed, isClosedBehind] = [false, false]
  const proxy = createServer((client) => {
    if (isClosed) {
      client.destroy()
      return
    }
    const upstream = connect(join(server.socketFolder, '.s.PGSQL.5432'))
    sockets.push(client, upstream)
    let isTorn = false
    const tear = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) socket.on('error', tear).on('close', tear)
    client.on('data', (chunk) => {
      const how = chunk.includes('COMMIT\0') ? next : undefined
      if (how !== undefined) {
        next = undefined
        torn += 1
        isTorn = how !== 'late'
        isClosed = isClosedBehind
        if (how === 'late') upstream.pause()
      }
      if (how === 'before') tear()
      else upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (!isTorn) client.write(chunk)
      else if (chunk.includes('COMMIT\0') || chunk.includes('ROLLBACK\0')) tear()
    })
  })
  proxy.listen(join(server.folder, '.s.PGSQL.5432'))
  await once(proxy, 'listening')
  return {
    url: server.url.replace(
      encodeURIComponent(server.socketFolder),
      encodeURIComponent(server.folder),
    ),
    /** `closed` refuses new connections from then on, until `reopen`. */
    tearNext: (how: Tear, behind?: 'closed'): void => {
      next = how
      isClosedBehind = behind === 'closed'
    },
    reopen: (): void => {
      isClosed = false
      for (const socket of sockets) socket.resume()
    },
    /** How many COMMITs were torn. */
    torn: (): number => torn,
    end: (): void => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}
