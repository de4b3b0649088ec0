// What this server keeps: people, keys, grants; and the command that keeps people and keys.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, readConfig } from '@tallystick/service-kit'
import { afterAll, describe, expect, it } from 'vitest'
import { issuerConfigSchema } from '../config.ts'
import { createRegistrationLimit, SignInLimits } from '../domain/sign-in-limits.ts'
import { runIssuerCommand as admin } from '../testing/command.fixture.ts'
import { openSigningKeys } from './signing-keys.ts'
import { addUser, openUsersFile } from './users-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'tallystick-issuer-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('people in a file', () => {
  it('the command adds them, with a salted hash that costs half a second a guess, and replaces them', async () => {
    const file = join(folder, 'users.json')
    const line = `add-user --file ${file} --name ada --scope care.write`
    expect((await admin(line, 'correct horse battery\n')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toMatch(/scrypt\$17\$8\$/)
    const users = openUsersFile(file)
    expect(await users.signIn('ada', 'correct horse battery')).toMatchObject({ id: 'ada' })
    await addUser(file, { name: 'ada', scopes: ['care.read.user'], roles: [], password: 'x' }, 10)
    expect(users.find('ada')).toMatchObject({ scopes: ['care.read.user'] })
    expect(await users.signIn('ada', 'y')).toBeUndefined()
  })

  it.each([
    ['add-user --file f --name ada --scope s', 'short', 'at least 12 characters'],
    ['add-user --file f --name up:ada --scope s', 'long enough to pass', 'without spaces'],
    ['add-user --file f --name ada', 'long enough to pass', '--scope'],
    ['add-user --file f --name ada --password hunter2hunter2', '', 'Usage'],
  ])('refused with 2, and no password repeated: %s', async (line, password, words) => {
    const { code, text } = await admin(line, password)
    expect(code).toBe(2)
    expect(text).toContain(words)
    expect(text).not.toContain('hunter2')
  })
})

describe('keys in a file', () => {
  it('a rotation signs with a new key and goes on publishing the one before', async () => {
    const file = join(folder, 'keys.json')
    const [first] = openSigningKeys(file).keys
    expect((await admin(`rotate-keys --file ${file}`)).code).toBe(0)
    const { keys } = openSigningKeys(file)
    expect(keys).toHaveLength(2)
    expect(keys[0]?.kid).not.toBe(first?.kid)
    expect(keys[1]).toEqual(first)
  })

  it('C49: a key that was stolen is dropped at once, also the one that signs; what matches nothing fails', async () => {
    const file = join(folder, 'stolen.json')
    const [stolen] = openSigningKeys(file).keys
    await admin(`rotate-keys --file ${file}`)
    expect((await admin(`drop-key ${stolen?.kid} --file ${file}`)).code).toBe(0)
    const [left, ...rest] = openSigningKeys(file).keys
    expect([left?.kid === stolen?.kid, rest]).toEqual([false, []])
    const unknown = await admin(`drop-key ${stolen?.kid} --file ${file}`)
    expect(unknown).toMatchObject({ code: 1, text: expect.stringContaining(left?.kid ?? '?') })
    expect((await admin(`drop-key ${left?.kid} --file ${file}`)).code).toBe(0)
    expect(openSigningKeys(file).keys.map(({ kid }) => kid)).not.toContain(left?.kid)
  })

  it('a file that others can read, or that holds something else, stops the start and shows nothing of itself', () => {
    const file = join(folder, 'wide.json')
    writeFileSync(file, '{"keys":"hunter2"}', { mode: 0o600 })
    expect(() => openSigningKeys(file)).toThrow(/does not hold signing keys$/)
    chmodSync(file, 0o640)
    expect(() => openSigningKeys(file)).toThrow(/can be read by others: chmod 600/)
  })
})

describe('how often passwords may be tried', () => {
  it('five for a name from one address, thirty from one address, a hundred for one name; then a quarter of an hour', () => {
    const clock = manualClock(0)
    const tries = (attempts: (index: number) => { name: string; network: string }) => {
      const limits = new SignInLimits(clock)
      let made = 0
      for (; made < 500 && limits.allows(attempts(made)); made += 1) limits.failed(attempts(made))
      return { made, limits }
    }
    const pair = tries(() => ({ name: 'ada', network: '1' }))
    expect(pair.made).toBe(5)
    expect(pair.limits.allows({ name: 'ada', network: '2' })).toBe(true)
    expect(tries((index) => ({ name: `n${index}`, network: '1' })).made).toBe(30)
    expect(tries((index) => ({ name: 'ada', network: `${index}` })).made).toBe(100)
    clock.advanceMs(900_000)
    expect(pair.limits.allows({ name: 'ada', network: '1' })).toBe(true)
  })
})

const findProblems = (environment: Record<string, string>) => {
  const reading = readConfig(issuerConfigSchema, environment)
  return reading.kind === 'invalid' ? reading.problems.map(({ variable }) => variable) : []
}

it('twenty programs an hour register from one network', () => {
  const clock = manualClock(0)
  const mayRegister = createRegistrationLimit(clock)
  const answers = Array.from({ length: 21 }, () => mayRegister('1'))
  expect(answers.filter(Boolean)).toHaveLength(20)
  expect(mayRegister('2')).toBe(true)
  clock.advanceMs(3_600_000)
  expect(mayRegister('1')).toBe(true)
})

describe('the environment', () => {
  it.each([
    [{}, ['USERS_PATH']],
    [{ USERS_PATH: 'u', BASE_URL: 'http://login.test' }, ['BASE_URL']],
    [{ USERS_PATH: 'u', BASE_URL: 'https://login.test/path' }, ['BASE_URL']],
    [{ UPSTREAM_ISSUER: 'http://login.test' }, ['UPSTREAM_ISSUER', 'UPSTREAM_CLIENT_ID']],
    [{ USERS_PATH: 'u', CLIENTS: '[{"client_id":"x","redirect_uris":[]}]' }, ['CLIENTS']],
    [{ USERS_PATH: 'u', BASE_URL: 'https://login.test' }, []],
  ])('%j: %j', (environment, names) => {
    expect(findProblems(environment)).toEqual(names)
  })
})
