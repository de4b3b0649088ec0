import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { anyCharacter } from './any-character.fixture.ts'
import {
  configMessage,
  describeConfig,
  environmentExample,
  environmentTable,
  readConfig,
  requireConfig,
} from './config.ts'
import {
  choiceField,
  httpUrlField,
  integerField,
  parseOtlpHeaders,
  secretField,
  serviceNameField,
  sharedConfigFields,
  strictBase64,
  switchField,
  textField,
} from './config-field.ts'

const folder = mkdtempSync(join(tmpdir(), 'config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const schema = z.object({
  ...sharedConfigFields({ port: 3001, baseUrl: 'http://localhost:3001' }),
  SIGNING_SECRET: secretField({ minBytes: 8 }).describe('Signs things.'),
  POLL_MS: integerField({ min: 10, max: 60_000 }).prefault('1000').describe('Time between polls.'),
  MARKETS: textField().prefault('h2h').describe('Markets | offers.'),
  UPSTREAM_URL: httpUrlField().optional().describe('Where it comes from.'),
  NAME: textField().describe('A name.'),
  EVENTS: choiceField(['off', 'chatgpt', 'sep']).prefault('off').describe('Which events.'),
  PRIVATE: switchField().prefault('false').describe('Whether it is private.'),
})
const good = { SIGNING_SECRET: '12345678', NAME: 'n' }

const valid = (environment: Record<string, string>) => requireConfig(schema, environment)
const problems = (environment: Record<string, string>) => {
  const reading = readConfig(schema, environment)
  return reading.kind === 'invalid' ? reading.problems : []
}

describe('S3: configuration', () => {
  test('defaults fill unset variables, and an empty variable counts as unset', () => {
    const config = valid({ ...good, PORT: '', UPSTREAM_URL: '', METRICS_TOKEN: '' })
    expect(config).toMatchObject({
      PORT: 3001,
      BASE_URL: 'http://localhost:3001',
      LOG_LEVEL: 'info',
      POLL_MS: 1000,
      MARKETS: 'h2h',
    })
    expect(config.UPSTREAM_URL).toBeUndefined()
    expect(config.METRICS_TOKEN).toBeUndefined()
    expect(['127.0.0.1', '0.0.0.0']).toContain(config.HOST)
  })

  test('one message names every bad variable and what was expected, never a value', () => {
    const found = problems({
      PORT: '99999hunter2',
      BASE_URL: 'ftp://hunter2',
      LOG_LEVEL: 'hunter2',
      SIGNING_SECRET: 'hunter2',
      POLL_MS: '9',
      EVENTS: 'hunter2',
      PRIVATE: 'hunter2',
    })
    const message = configMessage(found)
    expect(message).toBe(
      [
        'The configuration is not usable:',
        '  PORT: expected an integer from 0 to 65535',
        '  BASE_URL: expected an http or https URL',
        '  LOG_LEVEL: expected one of silent, error, warn, info, debug, trace',
        '  SIGNING_SECRET: expected a secret of at least 8 bytes',
        '  POLL_MS: expected an integer from 10 to 60000',
        '  NAME: expected a text (it is not set)',
        '  EVENTS: expected one of off, chatgpt, sep',
        '  PRIVATE: expected true or false',
      ].join('\n'),
    )
    expect(message).not.toContain('hunter2')
  })

  test('secrets are the UTF-8 bytes of the variable, never decoded further', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, unit: anyCharacter }), (text) => {
        const { SIGNING_SECRET } = valid({ ...good, SIGNING_SECRET: text })
        expect(SIGNING_SECRET.bytes()).toEqual(new TextEncoder().encode(text))
      }),
    )
    expect(valid({ ...good, SIGNING_SECRET: '0x000000' }).SIGNING_SECRET.bytes()).toHaveLength(8)
  })

  test('secrets are also read from NAME_FILE, without the trailing newline', () => {
    const path = join(folder, 'secret')
    writeFileSync(path, 'from a file\n')
    const config = valid({ NAME: 'n', SIGNING_SECRET_FILE: path })
    expect(config.SIGNING_SECRET.reveal()).toBe('from a file')
  })

  test('giving both forms at once, or an unreadable file, is refused by name', () => {
    expect(problems({ ...good, SIGNING_SECRET_FILE: '/x' })).toEqual([
      {
        variable: 'SIGNING_SECRET',
        expected: 'either SIGNING_SECRET or SIGNING_SECRET_FILE, not both',
      },
    ])
    expect(problems({ NAME: 'n', SIGNING_SECRET_FILE: join(folder, 'absent') })).toEqual([
      { variable: 'SIGNING_SECRET_FILE', expected: 'the path of a readable file' },
    ])
  })

  test('only secrets have a file form', () => {
    expect(problems({ SIGNING_SECRET: '12345678', NAME_FILE: '/etc/hostname' })).toEqual([
      { variable: 'NAME', expected: 'a text (it is not set)' },
    ])
  })

  test('a secret cannot be printed by accident', () => {
    const { SIGNING_SECRET } = valid({ ...good, SIGNING_SECRET: 'hunter2hunter2' })
    const printed = [
      String(SIGNING_SECRET),
      JSON.stringify({ SIGNING_SECRET }),
      inspect({ SIGNING_SECRET }, { depth: 9, showHidden: true }),
    ].join()
    expect(printed).not.toContain('hunter2')
  })

  test('trailing slashes of a URL are removed', () => {
    expect(valid({ ...good, BASE_URL: 'https://a.example/x//' }).BASE_URL).toBe(
      'https://a.example/x',
    )
  })

  test('whatever the environment holds, no message repeats it', () => {
    const marked = fc.string({ minLength: 1 }).map((text) => `hunter2${text}`)
    const environment = fc.record({
      PORT: marked,
      POLL_MS: marked,
      LOG_LEVEL: marked,
      BASE_URL: marked,
    })
    fc.assert(
      fc.property(environment, (values) => {
        const found = problems({ ...good, ...values })
        expect(found).toHaveLength(4)
        expect(JSON.stringify(found)).not.toContain('hunter2')
      }),
    )
  })
})

describe('S11: a variable one slip away from a known one', () => {
  const environment = { SIGNING_SECRET: 'hunter2hunter2', NAME: 'x' }

  test.each(['SIGNING_SECRETS', 'SIGNING_SECRE_FILE', 'SIGNNG_SECRET', 'PRIVATES'])(
    '%s is refused by name, since the known one guards data or a door',
    (variable) => {
      const guarded = schema.extend({ PRIVATE: choiceField(['on', 'off'], { isGuard: true }) })
      const variables = { ...environment, PRIVATE: 'on', [variable]: 'hunter2' }
      const reading = readConfig(guarded, variables)
      if (reading.kind === 'valid') throw new Error('it was taken')
      expect(configMessage(reading.problems)).toMatch(
        new RegExp(`^ {2}${variable}: expected the name (\\w+): nobody reads ${variable}$`, 'm'),
      )
      expect(configMessage(reading.problems)).not.toContain('hunter2')
    },
  )

  test('any other one is a warning; an empty one is none', () => {
    const variables = { ...environment, POLLMS: '5', MARKET: '' }
    expect(readConfig(schema, variables)).toMatchObject({
      kind: 'valid',
      slips: [{ variable: 'POLLMS', meant: 'POLL_MS' }],
    })
  })
})

describe('the configuration documents itself', () => {
  test('rows carry description, expectation, default and whether the field is secret', () => {
    const rows = describeConfig(schema)
    expect(rows.map((row) => row.variable)).toEqual(Object.keys(schema.shape))
    expect(rows.find((row) => row.variable === 'PORT')).toEqual({
      variable: 'PORT',
      description: 'TCP port to listen on; 0 takes a free one.',
      expected: 'an integer from 0 to 65535',
      defaultText: '3001',
      isDefaultLiteral: true,
      isRequired: false,
      isSecret: false,
    })
    expect(rows.filter((row) => row.isRequired).map((row) => row.variable)).toEqual([
      'SIGNING_SECRET',
      'NAME',
    ])
    expect(rows.filter((row) => row.isSecret).map((row) => row.variable)).toEqual([
      'METRICS_TOKEN',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'SIGNING_SECRET',
    ])
  })

  test('the table and the example do not depend on the machine', () => {
    expect(environmentTable(schema)).toContain(
      '| `HOST` | Address to listen on. | an IP address or host name | `127.0.0.1, in a container 0.0.0.0` |',
    )
    expect(environmentTable(schema)).toContain('Markets \\| offers.')
    expect(environmentTable(schema)).toContain('`SIGNING_SECRET` (or `SIGNING_SECRET_FILE`)')
    const example = environmentExample(schema)
    expect(example).toContain('\nSIGNING_SECRET=\n')
    expect(example).toContain('\n#POLL_MS=1000\n')
    expect(example).toContain('Default: 127.0.0.1, in a container 0.0.0.0.\n#HOST=\n')
  })
})

test('a check across fields sees a text that does not fit as it was written', () => {
  const seen: unknown[] = []
  const fields = z.object({ WORD: textField('a word', (text) => text === 'good') })
  const checked = fields.superRefine(({ WORD }) => void seen.push(WORD), { when: () => true })
  readConfig(checked, { WORD: 'bad' })
  expect(seen).toEqual(['bad'])
})

describe('a service’s name', () => {
  const name = serviceNameField('svc')

  test('is short, lower-case, and starts with a letter', () => {
    expect(name.parse(undefined)).toBe('svc')
    for (const fit of ['a', 'care-2', `a${'b'.repeat(31)}`]) expect(name.parse(fit)).toBe(fit)
    for (const unfit of ['', 'Care', '2care', '-a', 'a_b', 'a/b', 'a\n', `a${'b'.repeat(32)}`])
      expect(name.safeParse(unfit).success, unfit).toBe(false)
  })
})

describe('strictBase64', () => {
  test.each([
    ['', ''],
    ['AA==', '00'],
    ['AAA=', '0000'],
    ['+/+/', 'fbffbf'],
  ])('reads %j', (text, hex) => {
    expect(strictBase64(text)?.toString('hex')).toBe(hex)
  })

  test.each([
    ['without padding', 'AA'],
    ['with half its padding', 'AA='],
    ['with padding alone', '='],
    ['with padding alone, twice', '=='],
    ['with more padding than needed', 'AAA=='],
    ['with data after the padding', 'AA==AA=='],
    ['of the URL alphabet', '-_-_'],
    ['with white space', 'AA==\n'],
    ['with bits that a decoder drops', 'AB=='],
  ])('refuses a text %s', (_, text) => {
    expect(strictBase64(text)).toBeUndefined()
  })

  test('reads each value in one spelling only', () => {
    fc.assert(
      fc.property(fc.oneof(fc.base64String(), fc.string()), (text) => {
        const bytes = strictBase64(text)
        expect(bytes === undefined || bytes.toString('base64') === text).toBe(true)
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(strictBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes))
      }),
    )
  })
})

test('a variable that another one requires is reported by what the check across both says', () => {
  const fields = z.object({ URL: httpUrlField().optional(), KEY: textField('a key').optional() })
  const checked = fields.refine(({ URL, KEY }) => URL === undefined || KEY !== undefined, {
    path: ['KEY'],
    error: 'a key for URL',
    when: () => true,
  })
  expect(readConfig(checked, { URL: 'http://127.0.0.1' })).toEqual({
    kind: 'invalid',
    problems: [{ variable: 'KEY', expected: 'a key for URL (it is not set)' }],
  })
})

test.each([
  ['api-key=k%3D1, x-tenant = a b', { 'api-key': 'k=1', 'x-tenant': 'a b' }],
  ['api-key=', { 'api-key': '' }],
  ['api-key', undefined],
  ['a b=c', undefined],
  ['=c', undefined],
  ['a=b,', undefined],
  ['a=%zz', undefined],
  ['a=b%0d%0ac: d', undefined],
])(
  'S14: headers of a collector are pairs, percent-encoded, and can be sent: %s',
  (text, headers) => {
    expect(parseOtlpHeaders(text)).toEqual(headers)
  },
)
