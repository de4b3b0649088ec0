// What docker-compose.yml runs under its local profile, run without compose: each container's address is one of this machine.
import { freePort } from '@tallystick/service-kit'
import { composeServices, envFile } from './compose-file.ts'

const PLACES = [
  'rpc',
  'mirror',
  'consensus',
  'xlayer',
  'facilitator',
  'access',
  'care',
  'grading',
  'issuer',
] as const
export type LocalPorts = Readonly<Record<(typeof PLACES)[number], number>>

export const localCompose = composeServices(envFile('local.env'))

export async function findLocalPorts(): Promise<LocalPorts> {
  const ports: [string, number][] = []
  for (const name of PLACES) ports.push([name, await freePort()])
  return Object.fromEntries(ports) as LocalPorts
}

/** What the ledger is told to listen on. */
export function ledgerFlags({ consensus, mirror, rpc, xlayer }: LocalPorts): readonly string[] {
  const listen = Object.entries({ rpc, mirror, consensus, xlayer })
  return listen.flatMap(([name, port]) => [`--${name}-port`, `${port}`])
}

/** The environment that a service has there, with the places of this machine, and its own port if it has one. */
export function localEnvironment(
  name: string,
  ports: LocalPorts,
  dataFolder = '/data',
): Readonly<Record<string, string>> {
  const places: readonly (readonly [string, string])[] = [
    ['ledger:7546', `127.0.0.1:${ports.rpc}`],
    ['ledger:5551', `127.0.0.1:${ports.mirror}`],
    ['ledger:50211', `127.0.0.1:${ports.consensus}`],
    ['ledger:8546', `127.0.0.1:${ports.xlayer}`],
    ['facilitator:8080', `127.0.0.1:${ports.facilitator}`],
    ['/data', dataFolder],
  ]
  const here = (text: string) =>
    places.reduce((value, [there, place]) => value.replace(there, place), text)
  const values = Object.entries(localCompose[name]?.environment ?? {})
  const environment = Object.fromEntries(values.map(([key, value]) => [key, here(value)]))
  const port = ports[name as keyof LocalPorts]
  if (port !== undefined) environment['PORT'] = String(port)
  if ('BASE_URL' in environment) environment['BASE_URL'] = `http://127.0.0.1:${port}`
  return environment
}
