/**
 * The command `tallystick-token`: mints a token for development. The secret comes from the environment or a file, never
 * from an argument, which other users of the machine can read.
 */
import { parseArgs } from 'node:util'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from '../mint-token.ts'
import { parseTokenKeys, type TokenKeys } from '../token-keys.ts'

/** A year; whoever wants a longer one wants an issuer. */
const LIFETIME_SECONDS_MAX = 31_536_000

/** What the command prints when asked or misused. */
const USAGE = `Usage: tallystick-token --sub NAME --scope "SCOPE SCOPE" --audience URL --typ TYPE [--lifetime-seconds N]

  --sub               the principal, such as nurse-ada
  --scope             scopes, separated by spaces, such as "care.read.user care.write"
  --audience          the resource that the token is for, such as http://localhost:3002/mcp
  --typ               the token's type, such as care+jwt
  --lifetime-seconds  1 to ${LIFETIME_SECONDS_MAX}, default ${DEFAULT_LIFETIME_SECONDS}

The secret comes from TOKEN_SECRET, or from the file that TOKEN_SECRET_FILE names: one secret a line, the first signs.
`

/** What the command was started with. */
export type TokenCommandInput = {
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Reads a secret file; throws when it cannot. */
  readonly readFile: (path: string) => string
  readonly nowSeconds: number
  /** Unique id of the token. */
  readonly jti: string
}

/** What the command answers: 0 and the token, 1 for a missing or unfit secret, 2 for wrong arguments. */
export type TokenCommandResult = {
  readonly exitCode: 0 | 1 | 2
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command. No answer holds any part of a secret. */
export function runTokenCommand(input: TokenCommandInput): TokenCommandResult {
  const options = readArguments(input.arguments)
  if (options.kind === 'help') return { exitCode: 0, stdout: USAGE, stderr: '' }
  if (options.kind === 'misuse')
    return { exitCode: 2, stdout: '', stderr: `${options.problem}\n\n${USAGE}` }
  const keys = readKeys(input)
  if (keys.kind === 'refused') return { exitCode: 1, stdout: '', stderr: `${keys.problem}\n` }
  const { nowSeconds, jti } = input
  const token = mintToken({ ...options.claims, key: keys.keys, nowSeconds, jti })
  return { exitCode: 0, stdout: `${token}\n`, stderr: '' }
}

type Arguments =
  | { readonly kind: 'help' }
  | { readonly kind: 'misuse'; readonly problem: string }
  | {
      readonly kind: 'claims'
      readonly claims: {
        readonly sub: string
        readonly scope: string
        readonly audience: string
        readonly typ: string
        readonly lifetimeSeconds: number
      }
    }

const stringOption = { type: 'string' } as const

function readArguments(args: readonly string[]): Arguments {
  const parsed = parseOptions(args)
  if (parsed === undefined)
    return { kind: 'misuse', problem: 'There is an argument that this command does not know.' }
  if (parsed.help === true) return { kind: 'help' }
  const { sub = '', scope = '', audience = '', typ = '' } = parsed
  for (const [name, value] of Object.entries({ sub, scope, audience, typ }))
    if (value.trim() === '') return { kind: 'misuse', problem: `--${name} is missing.` }
  const lifetimeText = parsed['lifetime-seconds'] ?? String(DEFAULT_LIFETIME_SECONDS)
  const lifetimeSeconds = Number(lifetimeText)
  if (!/^[1-9]\d*$/.test(lifetimeText) || lifetimeSeconds > LIFETIME_SECONDS_MAX)
    return {
      kind: 'misuse',
      problem: `--lifetime-seconds: expected a whole number from 1 to ${LIFETIME_SECONDS_MAX}.`,
    }
  return { kind: 'claims', claims: { sub, scope, audience, typ, lifetimeSeconds } }
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        sub: stringOption,
        scope: stringOption,
        audience: stringOption,
        typ: stringOption,
        'lifetime-seconds': stringOption,
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch {
    // The parser's own message would repeat an argument, which may be a secret given by mistake.
    return undefined
  }
}

function readKeys(
  input: TokenCommandInput,
):
  | { readonly kind: 'keys'; readonly keys: TokenKeys }
  | { readonly kind: 'refused'; readonly problem: string } {
  const text = input.environment['TOKEN_SECRET'] || undefined
  const path = input.environment['TOKEN_SECRET_FILE'] || undefined
  if (text !== undefined && path !== undefined)
    return { kind: 'refused', problem: 'Set either TOKEN_SECRET or TOKEN_SECRET_FILE, not both.' }
  if (path === undefined) return named('TOKEN_SECRET', text ?? '')
  try {
    return named('TOKEN_SECRET_FILE', input.readFile(path))
  } catch {
    return { kind: 'refused', problem: 'TOKEN_SECRET_FILE: expected the path of a readable file.' }
  }
}

function named(variable: string, text: string) {
  const parsed = parseTokenKeys(text)
  return parsed.kind === 'keys'
    ? parsed
    : ({ kind: 'refused', problem: `${variable}: ${parsed.problem}.` } as const)
}
