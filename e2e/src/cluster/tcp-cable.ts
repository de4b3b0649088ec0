// A cable between clients and a server's socket, which can be cut: then nothing passes and nobody is told, as with dropped packets.
import { connect, createServer, type Socket } from 'node:net'
import { readPort } from './round-robin-proxy.ts'

export async function startCable(socketPath: string) {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    const far = connect(socketPath)
    for (const [from, to] of [
      [client, far],
      [far, client],
    ] as const) {
      open.add(from)
      from.on('data', (bytes) => void (isCut || to.write(bytes)))
      from.on('error', () => undefined)
      from.on('close', () => {
        open.delete(from)
        // Cut, neither end learns that the other is gone.
        if (!isCut) to.destroy()
      })
    }
  })
  const port = await readPort(server)
  return {
    host: '127.0.0.1',
    port,
    cut: (): void => {
      isCut = true
    },
    /** What was dropped is gone: the connections of before end. */
    mend: (): void => {
      isCut = false
      for (const socket of open) socket.destroy()
    },
    stop: (): void => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}
