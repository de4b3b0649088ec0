/** People in a file, with scrypt hashes of their passwords; read again whenever it changes. */
import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { statSync } from 'node:fs'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Account } from '../domain/account.ts'
import { PrivateFileUnusable, readPrivateFile, writePrivateFile } from './private-file.ts'

/** OWASP's advice for scrypt: 2^17 blocks of 1 KiB, 128 MiB and about 0.4 s a guess. */
const COST_LOG2 = 17
const BLOCK = 8
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Guesses at once: each takes 128 MiB. */
const CHECKS_AT_ONCE = 2
/** Callers beyond this queue must come back. */
const CHECKS_WAITING_MAX = 16

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

const usersFile = z.object({
  users: z.array(
    z.object({
      name: z.string().regex(/^[^\s:|]{1,128}$/),
      label: z.string().min(1).optional(),
      scopes: z.array(z.string().min(1)),
      roles: z.array(z.string().min(1)).default([]),
      password: z.string(),
      /** ISO 8601. */
      signedOutAt: z.string().optional(),
    }),
  ),
})

type User = z.output<typeof usersFile>['users'][number]

const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url')

/** A salted hash with its parameters, `scrypt$17$8$salt$hash`. */
async function hashPassword(password: string, cost: number): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await stretch(password, { salt, cost })
  return ['scrypt', cost, BLOCK, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

function stretch(
  password: string,
  { salt, cost }: { readonly salt: Uint8Array; readonly cost: number },
): Promise<Buffer> {
  const options = { N: 2 ** cost, r: BLOCK, p: 1, maxmem: 256 * 2 ** cost * BLOCK }
  return derive(password.normalize('NFKC'), salt, HASH_BYTES, options)
}

async function isPassword(password: string, stored: string): Promise<boolean> {
  const [kind, cost = '', block, salt = '', hash = ''] = stored.split('$')
  if (kind !== 'scrypt' || Number(block) !== BLOCK || !/^1\d$/.test(cost)) return false
  const found = await stretch(password, {
    salt: Buffer.from(salt, 'base64url'),
    cost: Number(cost),
  })
  const expected = Buffer.from(hash, 'base64url')
  return expected.length === found.length && timingSafeEqual(expected, found)
}

const readAccount = ({
  name,
  label = name,
  scopes,
  roles,
  password,
  signedOutAt,
}: User): Account => ({
  id: name,
  // The salt makes it another one even for the same password.
  credentials: createHash('sha256').update(`${password} ${signedOutAt}`).digest('base64url'),
  label,
  scopes,
  roles,
})

function readUsers(path: string): readonly User[] {
  const text = readPrivateFile(path)
  if (text === undefined) return []
  try {
    return usersFile.parse(JSON.parse(text)).users
  } catch {
    throw new PrivateFileUnusable(`${path} does not hold users`)
  }
}

export type UsersFile = ReturnType<typeof openUsersFile>

/** Throws `PrivateFileUnusable` if the file cannot be used; a missing one lists nobody. */
export function openUsersFile(path: string) {
  let read = { mark: '', users: readUsers(path) }
  const users = (): readonly User[] => {
    const found = statSync(path, { throwIfNoEntry: false })
    const mark = found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`
    if (mark !== read.mark) read = { mark, users: readUsers(path) }
    return read.users
  }
  // An unknown name takes as long as a known one.
  const nobody = ['scrypt', COST_LOG2, BLOCK, ...[SALT_BYTES, HASH_BYTES].map(randomText)].join('$')
  const waiting: (() => void)[] = []
  let running = 0
  const check = async (name: string, password: string): Promise<Account | undefined> => {
    const user = users().find((each) => each.name === name)
    const isRight = await isPassword(password, user?.password ?? nobody)
    return user !== undefined && isRight ? readAccount(user) : undefined
  }
  return {
    find(id: string): Account | undefined {
      const user = users().find((each) => each.name === id)
      return user && readAccount(user)
    },
    /** Who has this name and password; `busy` if too many are being checked. */
    async signIn(name: string, password: string): Promise<Account | 'busy' | undefined> {
      if (waiting.length >= CHECKS_WAITING_MAX) return 'busy'
      if (running >= CHECKS_AT_ONCE) await new Promise<void>((go) => waiting.push(go))
      running += 1
      try {
        return await check(name, password)
      } finally {
        running -= 1
        waiting.shift()?.()
      }
    },
  }
}

const writeUsers = (path: string, users: readonly User[]): void =>
  writePrivateFile(path, `${JSON.stringify(usersFile.parse({ users }), undefined, 2)}\n`)

/** Adds a person, or replaces the one of that name. Throws `PrivateFileUnusable`, or a ZodError for an invalid name. */
export async function addUser(
  path: string,
  user: User,
  /** Binary logarithm of a guess's cost. */
  costLog2 = COST_LOG2,
): Promise<void> {
  const password = await hashPassword(user.password, costLog2)
  const others = readUsers(path).filter(({ name }) => name !== user.name)
  writeUsers(path, [...others, { ...user, password }])
}

/** Replaces the person of that name, or removes it for undefined. False if there is none. Throws `PrivateFileUnusable`. */
export function changeUser(
  path: string,
  name: string,
  change: (user: User) => User | undefined,
): boolean {
  const users = readUsers(path)
  if (!users.some((user) => user.name === name)) return false
  writeUsers(
    path,
    users.flatMap((user) => (user.name === name ? (change(user) ?? []) : user)),
  )
  return true
}
