// Loaded into a service before its own code (`node --import`): look-ups of names and an internet, on one machine. The
// service resolves, judges and connects by its own code in its production configuration; this is the network beneath it.
import { appendFileSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

/** A name's addresses: at a connection's first look-up, and at any later one before it. */
export type NameAnswers = { readonly first: readonly string[]; readonly after: readonly string[] }

/** The internet's one address: receivers are there. */
export const PUBLIC_ADDRESS = '93.184.215.14'
/** Where it really is, and where every other address leads. */
const RECEIVER_HOST = '127.0.0.1'
export const TRAP_HOST = '127.0.0.2'

type Found = { readonly address: string; readonly family: number }
type Lookup = (
  name: string,
  options: object,
  found: (error: Error | null, addresses: Found[] | string, family?: number) => void,
) => void

const findPlace = (address: string): string =>
  address === PUBLIC_ADDRESS ? RECEIVER_HOST : TRAP_HOST

/** Installs it into this process. Each look-up reads the names anew and notes any with another address. */
function installNetwork(source: {
  readonly port: number
  readonly namesPath: string
  readonly notesPath: string
}): void {
  /** Names looked up but not yet connected to. */
  const lookedUp = new Set<string>()
  const listAddresses = (name: string): Found[] => {
    const names = JSON.parse(readFileSync(source.namesPath, 'utf8')) as Record<string, NameAnswers>
    const { first, after } = names[name] ?? { first: [PUBLIC_ADDRESS], after: [PUBLIC_ADDRESS] }
    const answer = lookedUp.delete(name) ? after : first
    if (answer === first) lookedUp.add(name)
    if (answer.some((address) => address !== PUBLIC_ADDRESS))
      appendFileSync(source.notesPath, `${name} ${answer.join(' ')}\n`)
    return answer.map((address) => ({ address, family: net.isIP(address) }))
  }
  // The guard's way to look up a name.
  const promises = process.getBuiltinModule('node:dns/promises')
  Object.assign(promises, { lookup: async (name: string) => listAddresses(name) })
  syncBuiltinESMExports()
  // A connection's own way, unless it is given one.
  const own: Lookup = (name, _options, found) => found(null, listAddresses(name))
  const connect = Object.getOwnPropertyDescriptor(net.Socket.prototype, 'connect')?.value
  net.Socket.prototype.connect = function (...args: unknown[]) {
    const [input] = args
    const list = Array.isArray(input) ? input : args
    const options = list[0] as { host?: string; port?: number | string; lookup?: Lookup }
    if (Number(options.port) === source.port) {
      const { host = '', lookup = own } = options
      const routed: Lookup = (name, wanted, found) =>
        lookup(name, wanted, (error, addresses, family = 4) => {
          lookedUp.delete(name)
          const all = Array.isArray(addresses) ? addresses : [{ address: addresses, family }]
          const routes = all.map(({ address }) => ({ address: findPlace(address), family: 4 }))
          const isAll = 'all' in wanted && wanted.all === true
          return isAll ? found(error, routes) : found(error, routes[0]?.address ?? '', 4)
        })
      const to = net.isIP(host) === 0 ? host : findPlace(host)
      list[0] = { ...options, host: to, lookup: routed }
    }
    return Reflect.apply(connect, this, args)
  }
}

const { CLOCK_AHEAD_MS, NETWORK_NAMES, NETWORK_NOTES, NETWORK_PORT } = process.env
if (NETWORK_NAMES !== undefined)
  installNetwork({
    port: Number(NETWORK_PORT),
    namesPath: NETWORK_NAMES,
    notesPath: NETWORK_NOTES ?? '',
  })
if (CLOCK_AHEAD_MS !== undefined) {
  const { now } = Date
  Date.now = () => now() + Number(CLOCK_AHEAD_MS)
}
