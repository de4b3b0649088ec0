/** The verbs of `tallystick-issuer`: people and signing keys. Passwords come from standard input, never from an argument. */

import { existsSync } from 'node:fs'
import { databaseUrlField, isoNow, withCauses } from '@tallystick/service-kit'
import {
  BadUsage,
  type CommandCall,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  type ExitCode,
  readVariables,
  runCommand,
} from '@tallystick/service-kit/command'
import { z } from 'zod'
import { type GrantDatabase, GrantStoreUnavailable } from './adapters/grant-database.ts'
import { createGrantStore } from './adapters/grant-store.ts'
import { openGrantDatabase } from './adapters/open-grants.ts'
import { PrivateFileUnusable } from './adapters/private-file.ts'
import { dropSharedKey, rotateSharedKeys } from './adapters/shared-signing-keys.ts'
import { dropSigningKey, rotateSigningKeys } from './adapters/signing-keys.ts'
import { openSqliteGrants } from './adapters/sqlite-grants.ts'
import { signOutUpstream } from './adapters/upstream-sign-in.ts'
import { addUser, changeUser } from './adapters/users-file.ts'
import { UPSTREAM_PREFIX } from './domain/account.ts'

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
  summary:
    'adds a person or replaces one, whose sign-ins end; the password comes from standard input',
  example: 'add-user --file users.json --name ann --scope care.read.user < password.txt',
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

/** The one word after a verb, and its file. Throws BadUsage. */
function wordAndFile(call: CommandCall, word: string) {
  const path = call.text('file') ?? ''
  if (path === '') throw new BadUsage(`${word} and --file are needed.`)
  return { name: requireWord(call, word), path }
}

function requireWord({ words: [name = ''] }: CommandCall, word: string): string {
  if (name === '') throw new BadUsage(`${word} is needed.`)
  return name
}

/** Does something in the database that all processes share; undefined without DATABASE_URL. Throws BadUsage. */
async function inDatabase<Result>(
  { terminal }: CommandCall,
  work: (database: GrantDatabase) => Promise<Result>,
): Promise<Result | undefined> {
  const { DATABASE_URL } = readVariables(terminal, z.object({ DATABASE_URL: databaseUrlField() }))
  if (DATABASE_URL === undefined) return undefined
  const opened = await openGrantDatabase({ DATABASE_URL, DATABASE_PATH: '' }, terminal.clock)
  if ('file' in opened) return undefined
  try {
    return await work(opened.postgres)
  } finally {
    await opened.postgres.close()
  }
}

const TOKENS_LIVE_ON =
  'Access tokens that were issued end by themselves; `care revoke --sub` refuses them at once.'

/** Prints what happened, or that there is nobody of that name. */
function endedFor(call: CommandCall, name: string, isKnown: boolean): ExitCode {
  if (isKnown) call.terminal.print(`All sign-ins of ${name} have ended. ${TOKENS_LIVE_ON}`)
  else call.terminal.printError(`The file knows nobody of the name ${name}.`)
  return isKnown ? EXIT.done : EXIT.failed
}

const removeUserVerb: CommandVerb = {
  name: 'remove-user',
  usage: 'NAME --file PATH',
  summary: 'removes a person, whose sign-ins end; a later one of that name inherits nothing',
  example: 'remove-user ann --file users.json',
  options: { file: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const { name, path } = wordAndFile(call, 'NAME')
    const isKnown = changeUser(path, name, () => undefined)
    return endedFor(call, name, isKnown)
  },
}

async function signOutOfStore(call: CommandCall, id: string): Promise<boolean> {
  const signOut = (database: GrantDatabase): Promise<boolean> =>
    signOutUpstream(createGrantStore(database, call.terminal.clock), id)
  const path = call.text('file')
  if (path === undefined) {
    const isKnown = await inDatabase(call, signOut)
    if (isKnown === undefined) throw new BadUsage('--file or DATABASE_URL is needed.')
    return isKnown
  }
  if (!existsSync(path)) return false
  const database = openSqliteGrants(path)
  try {
    return await signOut(database)
  } finally {
    await database.close()
  }
}

const signOutVerb: CommandVerb = {
  name: 'sign-out',
  usage: 'NAME [--file PATH]',
  summary:
    'ends all sessions and refresh tokens of a person; the file is USERS_PATH or, for `up:…`, DATABASE_PATH; with DATABASE_URL `up:…` needs none',
  example: 'sign-out ann --file users.json',
  options: { file: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const id = requireWord(call, 'NAME')
    if (id.startsWith(UPSTREAM_PREFIX)) return endedFor(call, id, await signOutOfStore(call, id))
    const { name, path } = wordAndFile(call, 'NAME')
    const signedOutAt = isoNow(call.terminal.clock)
    return endedFor(
      call,
      name,
      changeUser(path, name, (user) => ({ ...user, signedOutAt })),
    )
  },
}

/** Where keys are. */
const NO_KEYS = '--file, the KEYS_PATH of the server, or DATABASE_URL is needed.'

const dropKeyVerb: CommandVerb = {
  name: 'drop-key',
  usage: 'KID [--file PATH]',
  summary:
    'removes a signing key that others may know; its tokens are refused from the next start on, with DATABASE_URL within seconds',
  example: 'drop-key KID --file keys.json',
  options: { file: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const kid = requireWord(call, 'KID')
    const path = call.text('file')
    const outcome =
      path === undefined
        ? await inDatabase(call, (database) => dropSharedKey(database, kid))
        : dropSigningKey(path, kid)
    if (outcome === undefined) throw new BadUsage(NO_KEYS)
    if (outcome.kind === 'unknown') {
      call.terminal.printError(`There is no such key. The keys: ${outcome.kids.join(', ')}`)
      return EXIT.failed
    }
    const next =
      path === undefined ? 'Every process drops it within seconds.' : 'Start the server again.'
    call.terminal.print(`${next} Care refuses tokens of that key ten minutes later.`)
    return EXIT.done
  },
}

const rotateVerb: CommandVerb = {
  name: 'rotate-keys',
  usage: '[--file PATH]',
  summary:
    'adds a signing key that is used from the next start on, with DATABASE_URL by every process after a minute; the one before stays published',
  example: 'rotate-keys --file keys.json',
  options: { file: 'text' },
  run: async (call) => {
    const path = call.text('file')
    if (path !== undefined) {
      rotateSigningKeys(path)
      call.terminal.print('Start the server again to sign with the new key.')
      return EXIT.done
    }
    const isDone = await inDatabase(call, async (database) => {
      await rotateSharedKeys(database)
      return true
    })
    if (isDone === undefined) throw new BadUsage(NO_KEYS)
    call.terminal.print(
      'Every process publishes the new key within seconds, and signs with it after a minute.',
    )
    return EXIT.done
  },
}

const NOTES = [
  'Without a verb it serves; its README lists the variables.',
  'Exit codes: 0 done; 1 a file cannot be used, or does not hold what was named; 2 bad argument or input.',
]

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runAdmin(terminal: CommandTerminal): Promise<ExitCode> {
  return await runCommand(
    {
      name: 'tallystick-issuer',
      title: 'people and signing keys of the authorization server',
      verbs: [addUserVerb, removeUserVerb, signOutVerb, rotateVerb, dropKeyVerb],
      notes: NOTES,
      explainRefusal: (error) =>
        error instanceof PrivateFileUnusable || error instanceof GrantStoreUnavailable
          ? withCauses(error.message, error)
          : undefined,
    },
    terminal,
  )
}
