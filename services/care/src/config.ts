import { createSecretKey, type KeyObject } from 'node:crypto'
import { isCosignatureKey, type KeyRing, parseKeyRing } from '@tallystick/hashchain'
import { parseTokenKeys, TOKEN_SECRET_BYTES_MIN, type TokenKeys } from '@tallystick/jwt-lite'
import {
  choiceField,
  DAY_MS,
  DAY_SECONDS,
  databaseUrlField,
  httpUrlField,
  integerField,
  jsonField,
  MINUTE_MS,
  parsedField,
  Secret,
  secretField,
  serviceNameField,
  sharedConfigFields,
  spanConfigFields,
  storeConfigFault,
  storeConfigFields,
  switchField,
  textField,
  withFieldMeta,
} from '@tallystick/service-kit'
import { z } from 'zod'
import { authorLabelTable } from './domain/author-labels.ts'
import { trustedIssuers } from './domain/trusted-issuer.ts'
import { DEFAULT_MCP_LIMITS } from './mcp/sessions/limits.ts'
import { readLanguageTag } from './wire/language-tag.ts'

/** An HMAC key shorter than its hash is weaker than the hash (RFC 2104 §3). */
const WRITE_SECRET_BYTES_MIN = 32
const MS_PER_SECOND = 1_000
/** Beside the code, but never among it. */
export const DEFAULT_DATABASE_PATH = '.local/care.db'

/** A parsed secret leaves no text to print: keys live in `KeyObject`s. */
const tokenKeys = () =>
  parsedField(
    (text): TokenKeys | undefined => {
      const parsed = parseTokenKeys(text)
      return parsed.kind === 'keys' ? parsed.keys : undefined
    },
    {
      expected: `one or more secrets of at least ${TOKEN_SECRET_BYTES_MIN} bytes, one per line`,
      isSecret: true,
    },
  )

const writeKeys = () =>
  parsedField(
    (text): readonly KeyObject[] | undefined => {
      const lines = text.split(/\r?\n/).filter((line) => line !== '')
      const secrets = lines.map((line) => Buffer.from(line, 'utf8'))
      const isLong = secrets.every(({ length }) => length >= WRITE_SECRET_BYTES_MIN)
      return secrets.length > 0 && isLong ? secrets.map((part) => createSecretKey(part)) : undefined
    },
    {
      expected: `one or more secrets of at least ${WRITE_SECRET_BYTES_MIN} bytes, one per line`,
      isSecret: true,
    },
  )

const SEAL_KEYS_TEXT = 'id:base64 of 32 bytes, several separated by commas, the active one first'
const sealKeys = () =>
  parsedField(
    (text): KeyRing | undefined => {
      const parsed = parseKeyRing(text)
      return parsed.kind === 'ring' ? parsed.ring : undefined
    },
    {
      expected: SEAL_KEYS_TEXT,
      isSecret: true,
    },
  )

/** Each is asked with every checkpoint. */
const WITNESSES_MAX = 16
const witnessList = z
  .array(
    z.strictObject({
      url: z.url({ protocol: /^https?$/ }),
      vkey: z.string().refine(isCosignatureKey),
    }),
  )
  .max(WITNESSES_MAX)

/** A list of who may: texts separated by commas, in lower case. */
const listField = (expected: string, isGood: (text: string) => boolean) =>
  parsedField(
    (text) => {
      const hosts = text.split(',').map((part) => part.trim().toLowerCase())
      return hosts.every(isGood) ? hosts : undefined
    },
    { expected, isGuard: true },
  )

const hosts = () =>
  listField('host names, separated by commas; ports are ignored', (text) => /^[^\s/]+$/.test(text))

const origins = () =>
  listField(
    'origins such as https://app.example.org, separated by commas',
    (text) => URL.parse(text)?.origin === text,
  )

/** Desktops set LANGUAGE to a list of their own, gettext's `en_GB:en`: it says nothing about records. */
const languageField = () =>
  parsedField((text) => (text.includes(':') ? 'und' : readLanguageTag(text)), {
    expected: 'a BCP 47 tag, such as de or pt-BR',
  }).transform((tag) => (tag === 'und' ? undefined : tag))

const timeZoneField = () =>
  textField('an IANA time zone, such as Europe/Berlin', (text) => {
    try {
      return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== ''
    } catch {
      return false // a RangeError: no time zone
    }
  })

const shared = sharedConfigFields({ port: 3002, baseUrl: 'http://localhost:3002' })

const fields = z.object({
  PORT: shared.PORT,
  HOST: shared.HOST,
  BASE_URL: shared.BASE_URL,
  SERVICE_NAME: serviceNameField('care').describe(
    'Name in headers (x-<name>-signature), `_meta` keys, token types and card URIs.',
  ),
  WRITE_SECRET: writeKeys().describe(
    'Keys of signed writes, one per line: all are accepted, so that one can replace another. Their UTF-8 bytes are used unchanged.',
  ),
  BEARER_AUTHOR: choiceField(['any', 'sub'], { isGuard: true })
    .prefault('any')
    .describe(
      '`sub`: a write with a token names no other author than the token’s `sub`, and its label is AUTHOR_LABELS’ or the token’s `name`; `any`: it may, and labels are claims.',
    ),
  AUTHOR_LABELS: jsonField(authorLabelTable, {
    expected:
      'a JSON object of labels by principal, such as {"dr-osei": "Dr Osei"}, no label twice',
    isGuard: true,
  })
    .prefault('{}')
    .describe(
      'With BEARER_AUTHOR=sub, the name that is shown and spoken under the writes of each principal, and that no other may show.',
    ),
  TOKEN_SECRET: tokenKeys().describe(
    'Keys of HS256 tokens, one per line: all are trusted, the first signs development tokens.',
  ),
  AUTHORIZATION_SERVERS: jsonField(z.array(z.url({ protocol: /^https?$/ })), {
    expected: 'a JSON array of http or https URLs',
  })
    .prefault('[]')
    .describe(
      'Issuers of tokens, named in the protected-resource metadata; if empty, those of TRUSTED_ISSUERS.',
    ),
  TRUSTED_ISSUERS: jsonField(trustedIssuers, {
    expected:
      'a JSON array of issuers, each with its https `issuer`, as docs/how-to/sign-in.md describes',
    isGuard: true,
  })
    .prefault('[]')
    .describe(
      'Issuers whose RS256, ES256 and EdDSA tokens are accepted beside those of TOKEN_SECRET, by the keys that they publish.',
    ),
  WITNESSES: jsonField(witnessList, {
    expected: 'a JSON array of {"url", "vkey"}, at most 16',
  })
    .prefault('[]')
    .describe(
      'C2SP witnesses that checkpoints of the speakable journal are shown to: `url` has `add-checkpoint` below it, `vkey` checks its cosignatures.',
    ),
  ALLOWED_HOSTS: hosts()
    .optional()
    .describe('Further host names under which /mcp is reached, besides BASE_URL’s and loopback.'),
  ALLOWED_ORIGINS: origins()
    .optional()
    .describe(
      'Origins of pages that may call /mcp, besides BASE_URL’s; another one is 403. If unset, any may: a page sends only what its user gave it.',
    ),
  VERIFY_NAMES: choiceField(['public', 'private'], { isGuard: true })
    .prefault('public')
    .describe(
      '`private`: /verify asks for a token with one of this service’s scopes before it shows names of patients and topics; `public`: it does not.',
    ),
  LANGUAGE: languageField()
    .optional()
    .describe(
      'Language of records that name none, as a BCP 47 tag: what is said around their values, and the voice, follow it. If unset, it is unknown: nothing guesses it, English is said, and nothing is spoken. The pages and what they print are in it too.',
    ),
  CLINIC_NAME: textField('a name')
    .optional()
    .describe('The clinic’s name, on a printed list; if unset, the list names no clinic.'),
  TIME_ZONE: timeZoneField()
    .prefault('UTC')
    .describe(
      'By whose clock and calendar pages show the times of records, and it is "today" or "yesterday" where a person reads or hears an age.',
    ),
  READ_AUDIT: choiceField(['off', 'all'])
    .prefault('off')
    .describe(
      '`all`: keeps a row for each record that a token reads: `care reads` and `GET /reads` list them.',
    ),
  READ_AUDIT_DAYS: integerField({ min: 1, max: 36_500 })
    .prefault('365')
    .describe('Rows of reads are kept this long, days.'),
  ...storeConfigFields({
    databasePath: DEFAULT_DATABASE_PATH,
    description:
      'File of the record store; sessions, audit rows and checkpoints are kept beside it.',
  }),
  SEAL_KEYS: sealKeys()
    .optional()
    .describe(
      'Keys that seal the key of each chain, and so its values, at rest; without them values are stored in plaintext and nothing can be erased.',
    ),
  CHAIN_KEYS_PATH: withFieldMeta(textField('a path'), { expected: 'a path', isGuard: true })
    .optional()
    .describe(
      'File of the chains’ own keys, outside every backup of the records. If unset, and CHAIN_KEYS_URL too, it is DATABASE_PATH with .chain-keys.',
    ),
  CHAIN_KEYS_URL: databaseUrlField().describe(
    'PostgreSQL for the chains’ own keys, apart from that of the records, whose backups hold no keys then. With DATABASE_URL and SEAL_KEYS either this or CHAIN_KEYS_PATH is required.',
  ),
  CHAIN_KEYS_BACKUP_DAYS: withFieldMeta(
    integerField({ min: 0, max: 36_500 })
      .prefault('30')
      .describe(
        'How long backups of the chains’ keys are kept, days: an erasure is final when the last one from before it is gone, and `care erase` says when.',
      ),
    { isGuard: true },
  ),
  SESSION_IDLE_SECONDS: integerField({ min: 60, max: 7 * DAY_SECONDS })
    .prefault(String(DEFAULT_MCP_LIMITS.idleMs / MS_PER_SECOND))
    .describe('An MCP session without a request or stream ends after this, seconds.'),
  SESSION_TTL_SECONDS: integerField({ min: 300, max: 30 * DAY_SECONDS })
    .prefault(String(DEFAULT_MCP_LIMITS.absoluteMs / MS_PER_SECOND))
    .describe('Every MCP session ends after this, seconds.'),
  RETRACTION_DAYS: integerField({ min: 0, max: 365 })
    .prefault(String(DEFAULT_MCP_LIMITS.retractionMs / DAY_MS))
    .describe(
      'How long after a correction the text of a read, by any method or tool, also says what it takes back, days.',
    ),
  SILENT_SECONDS: integerField({ min: 1, max: DAY_SECONDS })
    .prefault(String(DEFAULT_MCP_LIMITS.silentMs / MS_PER_SECOND))
    .describe(
      'A session that follows a record and has had no event stream for longer than this is silent, seconds.',
    ),
  REPLAY_BEYOND: choiceField(['unknown', 'newest'])
    .prefault('unknown')
    .describe(
      'Answer to an event id with over 2,048 frames of its session behind it: `unknown` (400), or `newest`, what changed since, once for each record.',
    ),
  UNHEARD_MINUTES: integerField({ min: 0, max: 10_080 })
    .prefault(String(DEFAULT_MCP_LIMITS.unheardMs / MINUTE_MS))
    .describe(
      'A correction of a speakable record that nobody has heard for this long is an alert, minutes; 0 for never.',
    ),
  UNHEARD_WEBHOOK_URL: httpUrlField()
    .optional()
    .describe('Told of each such alert by a POST with the record’s URI, version and language.'),
  UNHEARD_WEBHOOK_SECRET: secretField({ minBytes: WRITE_SECRET_BYTES_MIN })
    .optional()
    .describe('Signs those POSTs as a write is signed.'),
  UNHEARD_WEBHOOK_PRIVATE: switchField()
    .prefault('false')
    .describe('Whether that webhook may stand at a private address.'),
  EVENTS: choiceField(['off', 'chatgpt', 'sep'])
    .prefault('off')
    .describe(
      'MCP Events by webhook on /mcp/2026-07-28: `chatgpt` as ChatGPT takes them, `sep` with the draft’s error codes and message ids. Needs SEAL_KEYS, which seal receivers’ secrets.',
    ),
  EVENTS_HOSTS: hosts()
    .optional()
    .describe('Host names that events may be sent to. If unset, any whose receiver asks for them.'),
  EVENTS_PRIVATE: switchField()
    .prefault('false')
    .describe('Whether receivers of events may stand at private addresses, also without TLS.'),
  SESSIONS_MAX: integerField({ min: 1, max: 1_000_000 })
    .prefault(String(DEFAULT_MCP_LIMITS.sessionsMax))
    .describe('Open MCP sessions in total; the next is 429.'),
  SESSIONS_PER_SUB_MAX: integerField({ min: 1, max: 1_000_000 })
    .prefault(String(DEFAULT_MCP_LIMITS.sessionsPerSubMax))
    .describe('Open MCP sessions per principal; the next is 429.'),
  METRICS_TOKEN: shared.METRICS_TOKEN,
  LOG_LEVEL: shared.LOG_LEVEL,
  ...spanConfigFields(),
})

type KeysConfig = Partial<
  Pick<z.output<typeof fields>, 'DATABASE_URL' | 'SEAL_KEYS' | 'CHAIN_KEYS_PATH' | 'CHAIN_KEYS_URL'>
>

/** The databases that a connection string names, one for each host, as far as its text tells. */
function listDatabases(url: Secret): readonly string[] {
  const [, named = '', name = ''] =
    /^\w+:\/\/(?:[^@/]*@)?([^/?]*)\/([^?]*)/.exec(url.reveal().toLowerCase()) ?? []
  return named.split(',').map((host) => `${/:\d+$/.test(host) ? host : `${host}:5432`}/${name}`)
}

const keysFault = (message: string) => ({ path: ['CHAIN_KEYS_URL'] as const, message })

/** What is wrong with where the keys of chains are, by the variable to change (C43). */
export function chainKeysFault({
  CHAIN_KEYS_PATH: path,
  CHAIN_KEYS_URL: url,
  DATABASE_URL,
  SEAL_KEYS,
}: KeysConfig): ReturnType<typeof keysFault> | undefined {
  if (url === undefined)
    return DATABASE_URL !== undefined && SEAL_KEYS !== undefined && path === undefined
      ? keysFault(
          'a PostgreSQL for the keys of chains, apart from DATABASE_URL’s, or CHAIN_KEYS_PATH, a file on this machine’s disk: with DATABASE_URL and SEAL_KEYS one of the two must be said, since whoever loses the keys loses every sealed sentence',
        )
      : undefined
  if (path !== undefined) return keysFault('either CHAIN_KEYS_URL or CHAIN_KEYS_PATH, not both')
  if (DATABASE_URL === undefined)
    return keysFault('no value without DATABASE_URL: keys of records in a file are in a file')
  // What is no URL is refused as such.
  if (!(url instanceof Secret && DATABASE_URL instanceof Secret)) return undefined
  const records = listDatabases(DATABASE_URL)
  return listDatabases(url).some((database) => records.includes(database))
    ? keysFault('another database than DATABASE_URL’s, whose backups would hold the keys')
    : undefined
}

/** The whole environment of the service (S3). */
export const careConfigSchema = fields.superRefine(
  (config: Partial<z.output<typeof fields>>, context) => {
    for (const fault of [storeConfigFault(config), chainKeysFault(config)])
      if (fault !== undefined)
        context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
    const { AUTHOR_LABELS: labels, BEARER_AUTHOR, EVENTS, SEAL_KEYS } = config
    if (labels instanceof Map && labels.size > 0 && BEARER_AUTHOR === 'any')
      context.addIssue({
        code: 'custom',
        path: ['AUTHOR_LABELS'],
        message: 'no value without BEARER_AUTHOR=sub: labels are claims there',
      })
    if (EVENTS !== undefined && EVENTS !== 'off' && SEAL_KEYS === undefined)
      context.addIssue({
        code: 'custom',
        path: ['SEAL_KEYS'],
        message: `${SEAL_KEYS_TEXT}, since EVENTS is set`,
      })
  },
  // Runs even when there are other problems, so that one message names them all.
  { when: () => true },
)

export type CareConfig = z.output<typeof careConfigSchema>
