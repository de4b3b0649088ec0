/**
 * The command `tallystick-token`: mints a token for development. The secret comes from the environment or a file, never
 * from an argument, which other users of the machine can read.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from './mint-token.ts'
import { type ParsedTokenKeys, parseTokenKeys } from './token-keys.ts'

/** A year; longer-lived tokens need a real issuer. */
const LIFETIME_SECONDS_MAX = 31_536_000

const USAGE = `Usage: tallystick-token --sub NAME --scope "SCOPE SCOPE" --audience URL --typ TYPE [--lifetime-seconds N]

  --sub               the principal, such as nurse-ada
  --scope             scopes, separated by spaces, such as "care.read.user care.write"
  --audience          the resource that the token is for, such as http://localhost:3002/mcp
  --typ               the token's type, such as care+jwt
  --lifetime-seconds  1 to ${LIFETIME_SECONDS_MAX}, default ${DEFAULT_LIFETIME_SECONDS}

  --version           the version

Example: TOKEN_SECRET_FILE=secrets/token tallystick-token --sub nurse-ada --scope care.write --audience http://localhost:3002/mcp --typ care+jwt

The secret comes from TOKEN_SECRET, or from the file that TOKEN_SECRET_FILE names: one secret a line, the first signs.
`

type Environment = Readonly<Record<string, string | undefined>>

/** The command prints one of these: the token (0), a missing or unfit secret (1), or wrong arguments (2). */
type TokenCommandResult = {
  readonly exitCode: 0 | 1 | 2
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command. Nothing it prints contains any part of a secret. */
export function runTokenCommand(
  args: readonly string[],
  environment: Environment,
): TokenCommandResult {
  const options = readOptions(args)
  if (options?.help === true) return { exitCode: 0, stdout: USAGE, stderr: '' }
  if (options?.version === true)
    return { exitCode: 0, stdout: `tallystick-token ${readVersion()}\n`, stderr: '' }
  const problem = findProblem(options, args)
  if (options === undefined || problem !== undefined)
    return { exitCode: 2, stdout: '', stderr: `${problem}\n\n${USAGE}` }
  const parsed = readKeys(environment)
  if (parsed.kind === 'refused') return { exitCode: 1, stdout: '', stderr: `${parsed.problem}\n` }
  const token = mintToken({
    ...options,
    lifetimeSeconds: Number(options['lifetime-seconds']),
    key: parsed.keys,
    nowSeconds: Date.now() / 1000,
    jti: randomUUID(),
  })
  return { exitCode: 0, stdout: `${token}\n`, stderr: '' }
}

const text = { type: 'string', default: '' } as const
const OPTIONS = {
  sub: text,
  scope: text,
  audience: text,
  typ: text,
  'lifetime-seconds': { type: 'string', default: String(DEFAULT_LIFETIME_SECONDS) },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const

function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

/** The options by name; undefined if there are unknown ones. */
function readOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values
  } catch {
    // The parser's own message would repeat the argument, which may be a secret given by mistake.
    return undefined
  }
}

function findProblem(
  options: ReturnType<typeof readOptions>,
  args: readonly string[],
): string | undefined {
  if (options === undefined)
    return `There is an argument that this command does not know.${didYouMean(args)}`
  for (const name of ['sub', 'scope', 'audience', 'typ'] as const)
    if (options[name].trim() === '') return `--${name} is missing.`
  const lifetime = options['lifetime-seconds']
  return /^[1-9]\d*$/.test(lifetime) && Number(lifetime) <= LIFETIME_SECONDS_MAX
    ? undefined
    : `--lifetime-seconds: expected a whole number from 1 to ${LIFETIME_SECONDS_MAX}.`
}

/** The option that an unknown one begins or is the beginning of, without the text of either: it may be a secret. */
function didYouMean(args: readonly string[]): string {
  const names = args.flatMap((argument) => /^--([a-z-]+)/.exec(argument)?.[1] ?? [])
  const slip = names.find((name) => !Object.hasOwn(OPTIONS, name)) ?? ''
  const meant = Object.keys(OPTIONS).find(
    (name) => slip !== '' && (name.startsWith(slip) || slip.startsWith(name)),
  )
  return meant === undefined ? '' : ` Did you mean --${meant}?`
}

function readKeys(environment: Environment): ParsedTokenKeys {
  const secret = environment['TOKEN_SECRET'] ?? ''
  const path = environment['TOKEN_SECRET_FILE'] ?? ''
  if (secret !== '' && path !== '')
    return { kind: 'refused', problem: 'Set either TOKEN_SECRET or TOKEN_SECRET_FILE, not both.' }
  const variable = path === '' ? 'TOKEN_SECRET' : 'TOKEN_SECRET_FILE'
  try {
    const parsed = parseTokenKeys(path === '' ? secret : readFileSync(path, 'utf8'))
    return parsed.kind === 'keys'
      ? parsed
      : { kind: 'refused', problem: `${variable}: ${parsed.problem}.` }
  } catch {
    return { kind: 'refused', problem: `${variable}: expected the path of a readable file.` }
  }
}
