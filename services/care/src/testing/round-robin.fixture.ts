// A proxy without stickiness in front of several processes: each request goes to the next one that takes it.
import { once } from 'node:events'
import { createServer, request } from 'node:http'

export type RoundRobin = {
  readonly url: string
  /** To whom it sends from now on. */
  targets: readonly { readonly port: number }[]
  close(): void
}

export async function openRoundRobin(
  targets: readonly { readonly port: number }[],
): Promise<RoundRobin> {
  let next = 0
  const server = createServer(async (near, answer) => {
    const body = Buffer.concat(await near.toArray())
    const ask = (triesLeft: number): void => {
      next += 1
      const target = proxy.targets[next % proxy.targets.length]
      const { headers, method, url: path } = near
      const far = request({
        host: '127.0.0.1',
        port: target?.port,
        method,
        path,
        headers,
        agent: false,
      })
      far.on('response', (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers).flushHeaders()
        response.pipe(answer)
        // A broken answer stays broken.
        response.on('close', () => answer.destroy())
        answer.on('close', () => far.destroy())
      })
      far.on('error', () => {
        if (answer.headersSent) answer.destroy()
        else if (triesLeft > 0) ask(triesLeft - 1)
        else answer.writeHead(502).end()
      })
      far.end(body)
    }
    ask(proxy.targets.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const proxy: RoundRobin = {
    url: `http://127.0.0.1:${address.port}`,
    targets,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return proxy
}
