import { parseArgs } from 'node:util'

type Arguments =
  | {
      kind: 'start'
      host: string
      rpcPort: number
      mirrorPort: number
      consensusPort: number
      /** Port of the X Layer stand-in, if requested. */
      xLayerPort: number | undefined
    }
  | { kind: 'help' }
  | { kind: 'invalid'; message: string }

/** Default port of the X Layer stand-in. */
const X_LAYER_PORT = 8546

/** The default ports are those that SDKs and public tools expect of a local Hedera. */
const OPTIONS = {
  'rpc-port': { type: 'string', default: '7546' },
  'mirror-port': { type: 'string', default: '5551' },
  'consensus-port': { type: 'string', default: '50211' },
  xlayer: { type: 'boolean' },
  'xlayer-port': { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  help: { type: 'boolean', short: 'h' },
} as const

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
  try {
    const { values } = parseArgs({ args: [...words], options: OPTIONS })
    if (values.help === true) return { kind: 'help' }
    return {
      kind: 'start',
      host: values.host,
      rpcPort: portOf(values, 'rpc-port'),
      mirrorPort: portOf(values, 'mirror-port'),
      consensusPort: portOf(values, 'consensus-port'),
      xLayerPort:
        values.xlayer === true || values['xlayer-port'] !== undefined
          ? portOf({ 'xlayer-port': String(X_LAYER_PORT), ...values }, 'xlayer-port')
          : undefined,
    }
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    const unknown = /^Unknown option '(.+?)'/.exec(text)?.[1]
    return {
      kind: 'invalid',
      message: unknown === undefined ? text : `There is no option ${unknown}.`,
    }
  }
}

function portOf<Name extends string>(values: Readonly<Record<Name, string>>, name: Name): number {
  const text = values[name]
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new Error(`--${name} needs a port, 0 to 65535, and got ${text}.`)
}
