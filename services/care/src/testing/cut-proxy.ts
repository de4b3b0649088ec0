import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy in front of a server on this machine, whose connections a test can cut: a network that fails and recovers. */
export type CutProxy = {
  readonly port: number
  /** Cuts every connection and refuses new ones. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

/** Opens a proxy on a free port to the given one. */
export async function openCutProxy(targetPort: number): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // A cut connection fails on both sides, which is its purpose.
    socket.on('error', () => socket.destroy())
    return socket
  }
  const server: Server = createServer((near) => {
    keep(near)
    if (isCut) return void near.destroy()
    const far = keep(connect(targetPort, '127.0.0.1'))
    far.on('close', () => near.destroy())
    near.on('close', () => far.destroy())
    near.pipe(far)
    far.pipe(near)
    return undefined
  })
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    cut() {
      isCut = true
      destroyAll()
    },
    mend() {
      isCut = false
    },
    async close() {
      server.close()
      destroyAll()
      await once(server, 'close')
    },
  }
}
