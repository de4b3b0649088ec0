// A plain proxy: each request goes to the next process that is there. It keeps no client at one of them, asks the next one only
// if none of the request was taken, and gives up an answer that does not begin in time.
import { createServer, request } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** A process that refused or was silent is left out for so long, milliseconds. */
const LEFT_OUT_MS = 2_000
/**
 * An answer begins, and goes on, within this, milliseconds, as with nginx's proxy_read_timeout: longer than a write may wait for
 * its database, and than a stream's heartbeat.
 */
const SILENT_MS_MAX = 20_000

export async function readPort(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

export async function startProxy(ports: readonly number[]) {
  const outUntilMs = new Map<number, number>()
  let turn = 0
  const next = (tried: ReadonlySet<number>): number | undefined => {
    const left = ports.filter((port) => !tried.has(port))
    const good = left.filter((port) => (outUntilMs.get(port) ?? 0) < Date.now())
    turn += 1
    const from = good.length > 0 ? good : left
    return from[turn % from.length]
  }
  const leaveOut = (port: number) => outUntilMs.set(port, Date.now() + LEFT_OUT_MS)
  const server = createServer((incoming, outgoing) => {
    const tried = new Set<number>()
    const bytes: Buffer[] = []
    const send = (): void => {
      const port = next(tried)
      if (port === undefined) return void outgoing.writeHead(502).end()
      tried.add(port)
      const { headers, method, url: path } = incoming
      const options = { host: '127.0.0.1', port, path, method, headers, agent: false }
      const onward = request(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        outgoing.flushHeaders()
        answer.pipe(outgoing)
        answer.on('error', () => outgoing.destroy())
        answer.on('close', () => void (answer.complete || outgoing.destroy()))
      })
      onward.setTimeout(SILENT_MS_MAX, () => onward.destroy(new Error('silent')))
      onward.on('error', (error: NodeJS.ErrnoException) => {
        leaveOut(port)
        if (outgoing.headersSent) return void outgoing.destroy()
        if (error.code === 'ECONNREFUSED') return send()
        outgoing.writeHead(504).end()
      })
      outgoing.on('close', () => onward.destroy())
      onward.end(Buffer.concat(bytes))
    }
    incoming.on('data', (part: Buffer) => bytes.push(part))
    incoming.on('end', send)
  })
  const port = await readPort(server)
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    stop: (): void => {
      server.closeAllConnections()
      server.close()
    },
  }
}
