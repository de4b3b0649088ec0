import { createServer } from 'node:net'

/** TCP ports of the local stack. */
export type StackPorts = {
  readonly rpc: number
  readonly mirror: number
  readonly consensus: number
  readonly xlayer: number
  readonly facilitator: number
  readonly access: number
  readonly care: number
  readonly grading: number
  readonly issuer: number
}

/** The documented ports (S2): the services' defaults, and those that SDKs expect of a local Hedera. */
export const defaultPorts: StackPorts = {
  rpc: 7546,
  mirror: 5551,
  consensus: 50211,
  xlayer: 8546,
  facilitator: 4020,
  access: 3001,
  care: 3002,
  grading: 3003,
  issuer: 3004,
}

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}

/** Ports that were free a moment ago, for a stack beside another. */
export async function freePorts(): Promise<StackPorts> {
  const ports = new Set<number>()
  while (ports.size < Object.keys(defaultPorts).length) ports.add(await freePort())
  const free = [...ports]
  const names = Object.keys(defaultPorts) as (keyof StackPorts)[]
  return Object.fromEntries(names.map((name, at) => [name, free[at]])) as StackPorts
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return await new Promise((resolve) => {
    server
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** Names and numbers of the ports that something else listens on. */
export async function portsInUse(ports: StackPorts): Promise<readonly string[]> {
  const taken: string[] = []
  for (const [name, port] of Object.entries(ports)) {
    if (!(await isFree(port))) taken.push(`${name} ${port}`)
  }
  return taken
}
