import { createTokenVerifier, mintToken } from '@tallystick/jwt-lite'
import { chooseSeed, manualClock, readConfig } from '@tallystick/service-kit'
import { testConfig } from '@tallystick/service-kit/service-contract'
import { describe, expect, test } from 'vitest'
import { careConfigSchema } from './config.ts'

const SECRET = 'hunter2-hunter2-hunter2-hunter2-hunter2'
const good = { WRITE_SECRET: SECRET, TOKEN_SECRET: SECRET }

const findFault = (environment: Readonly<Record<string, string>>) => {
  const reading = readConfig(careConfigSchema, environment)
  return reading.kind === 'valid' ? undefined : reading.problems
}
/** What is said of the keys of chains. */
const refused = (expected: RegExp) => [
  { variable: 'CHAIN_KEYS_URL', expected: expect.stringMatching(expected) as string },
]

const languageFor = (LANGUAGE: string) => {
  const reading = readConfig(careConfigSchema, { ...good, LANGUAGE })
  return reading.kind === 'invalid' ? reading : reading.config.LANGUAGE
}

const KEY = Buffer.alloc(32, 65).toString('base64')

testConfig({
  schema: careConfigSchema,
  good,
  defaults: {
    PORT: 3002,
    SERVICE_NAME: 'care',
    BASE_URL: 'http://localhost:3002',
    AUTHORIZATION_SERVERS: [],
    DATABASE_PATH: '.local/care.db',
    SESSIONS_MAX: 20_000,
  },
  bad: {
    WRITE_SECRET: 'hunter2',
    TOKEN_SECRET: `${SECRET}\nhunter2`,
    SEAL_KEYS: 'k1:hunter2',
    CHECKPOINT_KEY: 'hunter2',
    AUTHORIZATION_SERVERS: 'https://hunter2.test',
    ALLOWED_HOSTS: 'hunter2/x',
    SERVICE_NAME: 'Hunter2',
    SESSIONS_MAX: '0',
  },
  secrets: {
    WRITE_SECRET: SECRET,
    TOKEN_SECRET: SECRET,
    SEAL_KEYS: `k1:${KEY}`,
    CHECKPOINT_KEY: KEY,
  },
})

describe('S3: the environment of care', () => {
  test('C43: with DATABASE_URL and SEAL_KEYS one says where the keys of chains are, apart from the records', () => {
    const CHECKPOINT_KEY = KEY
    const onServer = { ...good, CHECKPOINT_KEY, DATABASE_URL: 'postgres://care_app@db1,db2/care' }
    const sealed = { ...onServer, SEAL_KEYS: `k1:${KEY}` }
    expect(findFault(onServer)).toBe(undefined)
    expect(findFault(sealed)).toEqual(refused(/or CHAIN_KEYS_PATH.*one of the two must be said/))
    const [CHAIN_KEYS_PATH, CHAIN_KEYS_URL] = ['/keys', 'postgres://care_keys@db3/care']
    expect(findFault({ ...sealed, CHAIN_KEYS_PATH })).toBe(undefined)
    expect(findFault({ ...sealed, CHAIN_KEYS_URL })).toBe(undefined)
    expect(findFault({ ...sealed, CHAIN_KEYS_PATH, CHAIN_KEYS_URL })).toEqual(refused(/not both/))
    for (const same of ['postgres://other@db2/care', 'postgresql://x:y@DB1:5432/care?ssl=true'])
      expect(findFault({ ...sealed, CHAIN_KEYS_URL: same })).toEqual(
        refused(/another database than DATABASE_URL’s/),
      )
    for (const other of ['postgres://x@db1:5433/care', 'postgres://x@db1/keys'])
      expect(findFault({ ...sealed, CHAIN_KEYS_URL: other })).toBe(undefined)
    // The file stays the default with SQLite.
    expect(findFault({ ...good, SEAL_KEYS: `k1:${KEY}` })).toBe(undefined)
    expect(findFault({ ...good, SEAL_KEYS: `k1:${KEY}`, CHAIN_KEYS_URL })).toEqual(
      refused(/without DATABASE_URL/),
    )
    expect(findFault({ ...sealed, CHAIN_KEYS_URL: 'hunter2' })).toMatchObject([
      { variable: 'CHAIN_KEYS_URL' },
    ])
  })

  test('CHECKPOINT_KEY is a seed of 32 bytes in base64, and no byte of it can be printed', () => {
    const reading = readConfig(careConfigSchema, { ...good, CHECKPOINT_KEY: KEY })
    if (reading.kind === 'invalid') throw new Error('it was refused')
    expect(JSON.stringify(reading.config)).not.toContain('AAAAAAAA')
    expect(chooseSeed(reading.config)).toEqual(Buffer.alloc(32, 65))
  })

  test('C37: LANGUAGE is a BCP 47 tag; a desktop’s list of languages says nothing about records', () => {
    expect(languageFor('PT-br')).toBe('pt-BR')
    expect(languageFor('en_GB:en')).toBeUndefined()
    for (const wrong of ['de_DE', 'German', 'deutsch sprache'])
      expect(languageFor(wrong)).toMatchObject({ problems: [{ variable: 'LANGUAGE' }] })
  })

  test('C37: TIME_ZONE is one that is known, UTC by default', () => {
    expect(findFault({ ...good, TIME_ZONE: 'Europe/Berlin' })).toBeUndefined()
    for (const wrong of ['Mars/Olympus', 'Berlin', 'CET+1'])
      expect(findFault({ ...good, TIME_ZONE: wrong })).toMatchObject([{ variable: 'TIME_ZONE' }])
  })

  test('C20: TOKEN_SECRET is a ring, AUTHORIZATION_SERVERS a JSON array', () => {
    const reading = readConfig(careConfigSchema, {
      ...good,
      TOKEN_SECRET: `${SECRET}\n${SECRET}-old`,
      AUTHORIZATION_SERVERS: '["https://a.test", "https://b.test/"]',
      ALLOWED_HOSTS: 'Care.example.org, care.internal:8443',
    })
    if (reading.kind === 'invalid') throw new Error('it was refused')
    const { TOKEN_SECRET: keys, AUTHORIZATION_SERVERS, ALLOWED_HOSTS } = reading.config
    const verifier = createTokenVerifier({ keys, audience: 'care', clock: manualClock(0) })
    const claims = {
      sub: 'ann',
      scope: 'care.write',
      audience: 'care',
      typ: 'care+jwt',
      nowSeconds: 0,
    }
    for (const secret of [SECRET, `${SECRET}-old`])
      expect(verifier.verify(mintToken({ ...claims, jti: '1', key: Buffer.from(secret) }))).toEqual(
        expect.objectContaining({ kind: 'valid' }),
      )
    expect(AUTHORIZATION_SERVERS).toEqual(['https://a.test', 'https://b.test/'])
    expect(ALLOWED_HOSTS).toEqual(['care.example.org', 'care.internal:8443'])
  })
})
