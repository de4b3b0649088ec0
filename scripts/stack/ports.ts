import { freePort, isPortFree } from '@tallystick/service-kit'

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

/** Free ports, for a stack beside another. */
export async function freePorts(): Promise<StackPorts> {
  const names = Object.keys(defaultPorts) as (keyof StackPorts)[]
  const ports = await Promise.all(names.map(async (name) => [name, await freePort()] as const))
  return Object.fromEntries(ports) as StackPorts
}

/** Names and numbers of the ports that something else listens on. */
export async function portsInUse(ports: StackPorts): Promise<readonly string[]> {
  const taken: string[] = []
  for (const [name, port] of Object.entries(ports)) {
    if (!(await isPortFree(port))) taken.push(`${name} ${port}`)
  }
  return taken
}
