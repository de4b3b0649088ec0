import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'

/**
 * Below the ports that systems hand out by themselves (Linux from 32768, IANA from 49152): a port that is free here stays free
 * until it is bound, however many other processes connect or listen meanwhile.
 */
const FIRST_PORT = 20_000
/** The block of one process: more ports than it has servers at once. Holding the first one marks the block as taken. */
const BLOCK_PORTS = 64
const BLOCKS = 199

/** Undefined if something else listens there. */
function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server
      .once('error', () => resolve(undefined))
      .listen(port, '127.0.0.1', () => resolve(server.unref()))
  })
}

/** Whether nothing listens on a port of 127.0.0.1. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = await listenOn(port)
  if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  return server !== undefined
}

/** Takes a block for as long as this process lives: the system gives it back even after a kill. Returns its ports. */
async function takeBlock(): Promise<readonly number[]> {
  const start = randomInt(BLOCKS)
  for (let tried = 0; tried < BLOCKS; tried += 1) {
    const first = FIRST_PORT + ((start + tried) % BLOCKS) * BLOCK_PORTS
    if ((await listenOn(first)) !== undefined)
      return Array.from({ length: BLOCK_PORTS - 1 }, (_, at) => first + 1 + at)
  }
  throw new Error('no block of ports is free')
}

let block: Promise<readonly number[]> | undefined
let taken = 0

/**
 * A free port of 127.0.0.1 for a server whose address must be known before it starts. No other process is given it, and
 * this one is given it again only after its other 62.
 *
 * @throws Error if none is free.
 */
export async function freePort(): Promise<number> {
  block ??= takeBlock()
  const ports = await block
  for (let tried = 0; tried < ports.length; tried += 1) {
    const port = ports[taken++ % ports.length]
    if (port !== undefined && (await isPortFree(port))) return port
  }
  throw new Error('no port is free')
}
