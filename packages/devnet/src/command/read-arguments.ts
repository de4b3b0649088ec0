import { parseArgs } from 'node:util'
import { explainUnknownOption } from '@tallystick/service-kit/command'

type Arguments =
  | {
      kind: 'start'
      host: string
      rpcPort: number
      mirrorPort: number
      consensusPort: number
      /** Port of the X Layer stand-in, if requested. */
      xLayerPort: number | undefined
      /** Where the ledger is kept across restarts. */
      stateFile: string | undefined
      /** How far this machine's clock is ahead of the ledger's, milliseconds. */
      serverClockOffMs: number
      /** `devnet_*` methods to call once it is up, with their parameters. */
      controls: readonly ControlCall[]
    }
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'invalid'; message: string }

export type ControlCall = { name: string; parameters: readonly unknown[] }

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
  'like-testnet': { type: 'boolean' },
  seed: { type: 'string' },
  control: { type: 'string', multiple: true },
  state: { type: 'string' },
  'server-clock-off': { type: 'string', default: '0' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const

export const HELP = `A local Hedera in one process: JSON-RPC relay, mirror node REST, consensus node gRPC, schedule service.

Usage: npm run devnet -- [options]      or: tallystick-devnet [options]

  --rpc-port N        JSON-RPC port, default 7546; 0 takes a free one
  --mirror-port N     mirror REST port, default 5551
  --consensus-port N  consensus gRPC port, default 50211, where Client.forLocalNode() looks
  --xlayer            starts an X Layer stand-in too: chain id 196, a dollar token with signed transfers
  --xlayer-port N     its JSON-RPC port, default ${X_LAYER_PORT}; implies --xlayer
  --host ADDRESS      address to listen on, default 127.0.0.1
  --state FILE        keeps the ledger in FILE, and goes on from it next time; without it the ledger ends with the process
  --like-testnet      as slow and as unreliable as the public network: sends of 3 to 8 s, lagging reads, rate limits,
                      a node that is down, lost answers
  --seed N            where chance begins, for another run of latencies and losses
  --control NAME=JSON one control, such as setReadLagMs=5000 or 'setNodeDown=["0.0.4",true]'; may be repeated
  --server-clock-off N  this machine's clock is N seconds ahead of the ledger's; below 0, behind it
  --help              this text
  --version           the version

Example: npm run devnet -- --xlayer --state .local/ledger.json

Ctrl-C ends it and leaves nothing behind.
`

/** Reads the command line (without the program's name). */
export function readArguments(words: readonly string[]): Arguments {
  try {
    const { values } = parseArgs({ args: [...words], options: OPTIONS })
    if (values.help === true) return { kind: 'help' }
    if (values.version === true) return { kind: 'version' }
    return {
      kind: 'start',
      host: values.host,
      rpcPort: readPort(values, 'rpc-port'),
      mirrorPort: readPort(values, 'mirror-port'),
      consensusPort: readPort(values, 'consensus-port'),
      xLayerPort:
        values.xlayer === true || values['xlayer-port'] !== undefined
          ? readPort({ 'xlayer-port': String(X_LAYER_PORT), ...values }, 'xlayer-port')
          : undefined,
      stateFile: values.state,
      serverClockOffMs: readSeconds(values['server-clock-off']) * 1_000,
      controls: [
        ...(values.seed === undefined ? [] : [readControl(`seedChance=${values.seed}`)]),
        ...(values['like-testnet'] === true ? [{ name: 'likeTestnet', parameters: [] }] : []),
        ...(values.control ?? []).map(readControl),
      ],
    }
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    return { kind: 'invalid', message: explainUnknownOption(OPTIONS, words).trim() || text }
  }
}

/** Farthest that a clock may be set off, seconds: wrong clocks are off by less than an hour. */
const CLOCK_OFF_SECONDS_MAX = 3_600

function readSeconds(text: string): number {
  const seconds = Number(text)
  if (text !== '' && Math.abs(seconds) <= CLOCK_OFF_SECONDS_MAX) return seconds
  throw new Error(
    `--server-clock-off needs seconds, -${CLOCK_OFF_SECONDS_MAX} to ${CLOCK_OFF_SECONDS_MAX}, and got ${text}.`,
  )
}

/** `NAME=JSON`: a list holds the parameters, any other value is the only one; without `=` there is none. */
function readControl(text: string): ControlCall {
  const [, name = '', json] = /^(\w+)(?:=(.*))?$/s.exec(text) ?? []
  try {
    const value: unknown = json === undefined ? [] : JSON.parse(json)
    if (name !== '') return { name, parameters: Array.isArray(value) ? value : [value] }
  } catch {
    // Reported below.
  }
  throw new Error(`--control needs NAME=JSON, and got ${text}.`)
}

function readPort<Name extends string>(values: Readonly<Record<Name, string>>, name: Name): number {
  const text = values[name]
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new Error(`--${name} needs a port, 0 to 65535, and got ${text}.`)
}
