import { createServer, isIPv6 } from 'node:net'

/** The address for connecting to a server on `host`: nobody can connect to a wildcard. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}

/** `host:port` as written in a URL: an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** Another program has a port that devnet needs. */
export class PortTaken extends Error {
  override name = 'PortTaken'
  readonly port: number
  constructor(options: { port: number; name: string; cause: unknown }) {
    super(
      `Port ${options.port} (${options.name}) is taken by another program. End it, or choose another port.`,
      { cause: options.cause },
    )
    this.port = options.port
  }
}

/** Listens on a port and releases it. @throws PortTaken if another program has it */
export async function requireFreePort(at: {
  name: string
  host: string
  port: number
}): Promise<void> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (cause) => {
      const isTaken = 'code' in cause && cause.code === 'EADDRINUSE'
      reject(isTaken ? new PortTaken({ port: at.port, name: at.name, cause }) : cause)
    })
    probe.listen(at.port, at.host, () => {
      probe.close(() => {
        resolve()
      })
    })
  })
}
