/** The verbs of `tallystick-issuer`: people and signing keys. Passwords come from standard input, never from an argument. */
import {
  BadUsage,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  type ExitCode,
  runCommand,
} from '@tallystick/service-kit/command'
import { PrivateFileUnusable } from './adapters/private-file.ts'
import { rotateSigningKeys } from './adapters/signing-keys.ts'
import { addUser } from './adapters/users-file.ts'

/** NIST SP 800-63B: length is what counts. */
const PASSWORD_CHARACTERS_MIN = 12

async function readPassword(stdin: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of stdin) parts.push(part)
  const password = Buffer.concat(parts)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (password.length < PASSWORD_CHARACTERS_MIN)
    throw new BadUsage(
      `A password of at least ${PASSWORD_CHARACTERS_MIN} characters is read from standard input.`,
    )
  return password
}

const addUserVerb: CommandVerb = {
  name: 'add-user',
  usage: '--file PATH --name NAME --scope SCOPE [--scope SCOPE] [--label LABEL] [--role ROLE]',
  summary: 'adds a person or replaces one; the password comes from standard input',
  options: { file: 'text', name: 'text', scope: 'texts', label: 'text', role: 'texts' },
  run: async (call) => {
    const [path = '', name = ''] = [call.text('file'), call.text('name')]
    const scopes = call
      .texts('scope')
      .flatMap((text) => text.split(' '))
      .filter(Boolean)
    if (path === '' || !/^[^\s:|]{1,128}$/.test(name) || scopes.length === 0)
      throw new BadUsage('--file, --name (without spaces, `:` and `|`) and --scope are needed.')
    const password = await readPassword(call.terminal.stdin)
    const label = call.text('label')
    await addUser(path, { name, scopes, roles: [...call.texts('role')], label, password })
    call.terminal.print(`${name} may sign in.`)
    return EXIT.done
  },
}

const rotateVerb: CommandVerb = {
  name: 'rotate-keys',
  usage: '--file PATH',
  summary: 'adds a signing key that is used from the next start on; the one before stays published',
  options: { file: 'text' },
  run: async (call) => {
    const path = call.text('file')
    if (path === undefined) throw new BadUsage('--file is needed: the KEYS_PATH of the server.')
    rotateSigningKeys(path)
    call.terminal.print('Start the server again to sign with the new key.')
    return EXIT.done
  },
}

const NOTES = [
  'Without a verb it serves; its README lists the variables.',
  'Exit codes: 0 done; 1 a file cannot be used; 2 bad argument or input.',
]

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runAdmin(terminal: CommandTerminal): Promise<ExitCode> {
  return await runCommand(
    {
      name: 'tallystick-issuer',
      title: 'people and signing keys of the authorization server',
      verbs: [addUserVerb, rotateVerb],
      notes: NOTES,
      refusalOf: (error) => (error instanceof PrivateFileUnusable ? error.message : undefined),
    },
    terminal,
  )
}
