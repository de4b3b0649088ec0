// Network namespaces on one bridge, where the system lets this user make them. A server in one of its own is cut off by taking its
// link down: the kernel drops every packet, and tells nobody.
import { spawnSync } from 'node:child_process'

function ip(words: string): void {
  const { error, status, stderr } = spawnSync('ip', words.split(' '), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words}: ${error?.message ?? stderr.trim()}`)
}

/** Throws if the system has none for us. */
function openNamespaces(names: readonly string[]) {
  // Names of interfaces have 15 letters at most.
  const prefix = `ts${process.pid}`
  const network = `10.213.${process.pid % 256}`
  const namespace = (name: string): string => `${prefix}-${name}`
  const link = (name: string): string => `${prefix}${name}`
  const remove = (): void => {
    // What was not made is not there.
    for (const words of [
      ...names.map((name) => `netns del ${namespace(name)}`),
      `link del ${prefix}`,
    ])
      spawnSync('ip', words.split(' '))
  }
  try {
    ip(`link add ${prefix} type bridge`)
    ip(`addr add ${network}.1/24 dev ${prefix}`)
    ip(`link set ${prefix} up`)
    for (const [at, name] of names.entries()) {
      ip(`netns add ${namespace(name)}`)
      ip(`link add ${link(name)} type veth peer name eth0 netns ${namespace(name)}`)
      ip(`link set ${link(name)} master ${prefix} up`)
      ip(`-n ${namespace(name)} addr add ${network}.${at + 2}/24 dev eth0`)
      ip(`-n ${namespace(name)} link set eth0 up`)
      ip(`-n ${namespace(name)} link set lo up`)
    }
  } catch (error) {
    remove()
    throw error
  }
  return {
    /** The way to a server that listens in a namespace. */
    plug: (name: string, port: number) => ({
      host: `${network}.${names.indexOf(name) + 2}`,
      port,
      namespace: namespace(name),
      cut: () => ip(`link set ${link(name)} down`),
      mend: () => ip(`link set ${link(name)} up`),
      stop: () => undefined,
    }),
    remove,
  }
}

/** One for each name; or why there are none. */
export function tryNamespaces(names: readonly string[]) {
  try {
    return openNamespaces(names)
  } catch (error) {
    return String(error)
  }
}
