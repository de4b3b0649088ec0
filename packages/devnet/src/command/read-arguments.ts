/** What `tallystick-devnet` was told to do. */
export type Arguments =
  | {
      kind: 'start'
      host: string
      rpcPort: number
      mirrorPort: number
      consensusPort: number
      /** Port of the X Layer stand-in, where one is wanted. */
      xLayerPort?: number
    }
  | { kind: 'help' }
  | { kind: 'invalid'; message: string }

/** The ports that the SDKs and the public tools expect of a local Hedera. */
const PORTS = { '--rpc-port': 7546, '--mirror-port': 5551, '--consensus-port': 50211 }

/** Where the X Layer stand-in listens unless told otherwise. */
const X_LAYER_PORT = 8546

/** What `--help` prints. */
export const HELP = `A local Hedera in one process: JSON-RPC relay, mirror node REST, consensus node gRPC, schedule service.

Usage: npm run devnet -- [options]      or: tallystick-devnet [options]

  --rpc-port N        JSON-RPC port, default 7546; 0 takes a free one
  --mirror-port N     mirror REST port, default 5551
  --consensus-port N  consensus gRPC port, default 50211, where Client.forLocalNode() looks
  --xlayer            starts an X Layer stand-in too: chain id 196, a dollar token with signed transfers
  --xlayer-port N     its JSON-RPC port, default ${X_LAYER_PORT}; implies --xlayer
  --host ADDRESS      address to listen on, default 127.0.0.1
  --help              this text

Ctrl-C ends it and leaves nothing behind.
`

/** Reads the command line (without the program's name). */
export function readArguments(words: readonly string[]): Arguments {
  const ports: { [option: string]: number } = { ...PORTS, '--xlayer-port': X_LAYER_PORT }
  let host = '127.0.0.1'
  let isXLayerWanted = false
  for (let index = 0; index < words.length; index += 1) {
    const [option = '', inline] = (words[index] ?? '').split('=', 2)
    if (option === '--help' || option === '-h') return { kind: 'help' }
    if (option === '--xlayer' && inline === undefined) {
      isXLayerWanted = true
      continue
    }
    const isPort = Object.hasOwn(ports, option)
    if (!isPort && option !== '--host') return invalid(`There is no option ${option}.`)
    const value = inline ?? words[(index += 1)]
    if (value === undefined || value === '') return invalid(`${option} needs a value.`)
    if (option === '--xlayer-port') isXLayerWanted = true
    if (!isPort) host = value
    else if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) ports[option] = Number(value)
    else return invalid(`${option} needs a port, 0 to 65535, and got ${value}.`)
  }
  return {
    kind: 'start',
    host,
    rpcPort: ports['--rpc-port'] ?? 0,
    mirrorPort: ports['--mirror-port'] ?? 0,
    consensusPort: ports['--consensus-port'] ?? 0,
    ...(isXLayerWanted ? { xLayerPort: ports['--xlayer-port'] ?? 0 } : {}),
  }
}

function invalid(message: string): Arguments {
  return { kind: 'invalid', message }
}
