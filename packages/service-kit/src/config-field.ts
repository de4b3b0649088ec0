/**
 * Builders for the fields of a service's configuration. A field reads one environment variable as text and knows its
 * description, its documented default and whether it is secret; config.ts reads and documents fields. A service builds
 * its own from `textField` and the like.
 */
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { pause, systemClock } from './clock.ts'
import { Secret } from './secret.ts'

/** The documentation says this about a field beyond its zod description. */
type FieldMeta = {
  /** Also read from `<NAME>_FILE`; never printed. */
  readonly isSecret?: boolean | undefined
  /** A good value looks like this, e.g. `an integer from 0 to 65535`. */
  readonly expected?: string | undefined
  /** The default in words, if it depends on the machine. */
  readonly defaultText?: string | undefined
  /** Without it data or a door stands open, as without a secret: a slip of its name refuses the start (S11). */
  readonly isGuard?: boolean | undefined
}

const fieldMetas = z.registry<FieldMeta>()

/** Attaches documentation to a field and returns the field. */
export function withFieldMeta<Field extends z.ZodType>(field: Field, meta: FieldMeta): Field {
  fieldMetas.add(field, meta)
  return field
}

/** The documentation of a field; outer wrappers (default, optional) win over what they wrap. */
export function readFieldMeta(
  field: z.core.$ZodType,
): FieldMeta & { readonly description?: string } {
  const inner = unwrapField(field)
  const description = z.globalRegistry.get(field)?.description
  return {
    ...(inner && readFieldMeta(inner)),
    ...fieldMetas.get(field),
    ...(description !== undefined && { description }),
  }
}

/** Unwraps a wrapper such as `.optional()`, `.prefault()` or `.transform()`. */
export function unwrapField(field: z.core.$ZodType): z.core.$ZodType | undefined {
  if (
    field instanceof z.ZodOptional ||
    field instanceof z.ZodDefault ||
    field instanceof z.ZodPrefault ||
    field instanceof z.ZodNullable ||
    field instanceof z.ZodReadonly
  )
    return field.def.innerType
  return field instanceof z.ZodPipe ? field.def.in : undefined
}

/** A field read by `parse`; undefined is a problem, reported by what was expected. */
export function parsedField<Value>(
  parse: (text: string) => Value | undefined,
  meta: FieldMeta & { readonly expected: string },
) {
  const field = z.string().transform((text, context): Value => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: meta.expected })
    return z.NEVER
  })
  return withFieldMeta(field, meta)
}

/** A whole number from `min` to `max` in decimal digits. */
export function integerField(range: { readonly min: number; readonly max: number }) {
  const expected = `an integer from ${range.min} to ${range.max}`
  const field = z
    .string()
    .regex(/^-?\d{1,15}$/, expected)
    .transform(Number)
    .refine((value) => value >= range.min && value <= range.max, expected)
  return withFieldMeta(field, { expected })
}

/** A text that passes `isGood`; by default, any that is not empty. */
export function textField(expected = 'a text', isGood = (text: string): boolean => text !== '') {
  return withFieldMeta(z.string().refine(isGood, expected), { expected })
}

/** One of a few words. */
export function choiceField<const Word extends string>(
  words: readonly [Word, ...Word[]],
  meta: Pick<FieldMeta, 'isGuard'> = {},
) {
  const expected = `one of ${words.join(', ')}`
  return withFieldMeta(z.enum(words, { error: expected }), { expected, ...meta })
}

/** A switch, `true` or `false`; zod's other words for them are taken as well. */
export function switchField() {
  const expected = 'true or false'
  return withFieldMeta(z.stringbool({ error: expected }), { expected })
}

/** A secret of at least `minBytes` UTF-8 bytes, also read from `<NAME>_FILE`. */
export function secretField(options: { readonly minBytes?: number } = {}) {
  const minBytes = options.minBytes ?? 1
  const expected = minBytes > 1 ? `a secret of at least ${minBytes} bytes` : 'a secret'
  return checkedSecretField(expected, (text) => Buffer.byteLength(text) >= minBytes)
}

/** A secret of a special form, also read from `<NAME>_FILE`. */
export function checkedSecretField(expected: string, isGood: (text: string) => boolean) {
  return parsedField((text) => (isGood(text) ? new Secret(text) : undefined), {
    expected,
    isSecret: true,
  })
}

/**
 * A secret that a reader puts into its one form, also read from `<NAME>_FILE`. Where it cannot, `what` says what the text is
 * instead, without repeating any of it.
 */
export function readSecretField(
  expected: string,
  read: (text: string) => { readonly text: string } | { readonly what: string },
) {
  const field = z.string().transform((text, context): Secret => {
    const reading = read(text)
    if ('text' in reading) return new Secret(reading.text)
    context.addIssue({ code: 'custom', message: `${expected}; it is ${reading.what}` })
    return z.NEVER
  })
  return withFieldMeta(field, { expected, isSecret: true })
}

/** A field of JSON text that fits a schema; its only error message is `expected`. */
export function jsonField<Schema extends z.ZodType>(
  schema: Schema,
  meta: FieldMeta & { readonly expected: string },
) {
  return parsedField((text): z.output<Schema> | undefined => {
    try {
      return schema.parse(JSON.parse(text))
    } catch {
      return undefined
    }
  }, meta)
}

const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}

/** An http or https URL; trailing slashes are removed so that paths can be appended. */
export function httpUrlField() {
  const expected = 'an http or https URL'
  return parsedField((text) => (isHttpUrl(text) ? text.replace(/\/+$/, '') : undefined), {
    expected,
  })
}

const isInContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv')
const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const

const OTLP_HEADERS_TEXT = 'name=value pairs, separated by commas, values percent-encoded'
const OTLP_HEADER = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=(.*)$/
const PRINTABLE = /^[\x20-\x7e]*$/

/** Headers as OTEL_EXPORTER_OTLP_HEADERS has them; undefined for anything else. */
export function parseOtlpHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(',').map((pair) => OTLP_HEADER.exec(pair))
  try {
    const headers = pairs.map((pair): [string, string] => [
      pair?.[1] ?? '',
      decodeURIComponent(pair?.[2]?.trim() ?? ''),
    ])
    const isGood = headers.every(([name, value]) => name !== '' && PRINTABLE.test(value))
    return isGood ? Object.fromEntries(headers) : undefined
  } catch {
    return undefined
  }
}

/** Where a service's spans go, under the names that every program with OpenTelemetry reads. */
export const spanConfigFields = () => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrlField()
    .optional()
    .describe(
      'Collector that takes spans over OTLP/HTTP, without /v1/traces; if unset, none are made.',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: checkedSecretField(
    OTLP_HEADERS_TEXT,
    (text) => parseOtlpHeaders(text) !== undefined,
  )
    .optional()
    .describe('Headers for that collector, such as its token.'),
  OTEL_SERVICE_NAME: textField()
    .optional()
    .describe('Name of this service in spans; if unset, that of its log lines.'),
})

/**
 * The fields that every service has, for its own `z.object`: `{ ...sharedConfigFields(…), MY_FIELD: … }`. `baseUrl` is
 * the service's address on the local machine.
 */
export function sharedConfigFields(defaults: { readonly port: number; readonly baseUrl: string }) {
  return {
    PORT: integerField({ min: 0, max: 65_535 })
      .prefault(String(defaults.port))
      .describe('TCP port to listen on; 0 takes a free one.'),
    // Inside a container, nothing outside reaches loopback (S2).
    HOST: withFieldMeta(
      textField('an IP address or host name')
        .prefault(() => (isInContainer() ? '0.0.0.0' : '127.0.0.1'))
        .describe('Address to listen on.'),
      { defaultText: '127.0.0.1, in a container 0.0.0.0' },
    ),
    BASE_URL: httpUrlField()
      .prefault(defaults.baseUrl)
      .describe('Public address of this service, as clients see it.'),
    METRICS_TOKEN: secretField({ minBytes: 16 })
      .optional()
      .describe('Bearer token that /metrics requires; if unset, /metrics is open.'),
    LOG_LEVEL: choiceField(LOG_LEVELS).prefault('info').describe('How much to log.'),
    ...spanConfigFields(),
  }
}

const DATABASE_URL_TEXT = 'postgres://user:password@host:port/database; several hosts by commas'
const CHECKPOINT_SEED_BYTES = 32
const CHECKPOINT_KEY_TEXT = `an Ed25519 seed: ${CHECKPOINT_SEED_BYTES} bytes in base64`

const isCheckpointKey = (text: string): boolean =>
  strictBase64(text)?.length === CHECKPOINT_SEED_BYTES

const RECEIPT_KEYS = /^\s*[\w-]{43}\s*(,\s*[\w-]{43}\s*)*$/

/** Public keys of receipts that were signed before a service's secret changed. */
export const receiptKeysField = () =>
  parsedField(
    (text) => (RECEIPT_KEYS.test(text) ? text.split(',').map((key) => key.trim()) : undefined),
    { expected: 'Ed25519 public keys (x in base64url, 43 characters), separated by commas' },
  )

/** PostgreSQL in place of a file. */
export const databaseUrlField = () =>
  checkedSecretField(DATABASE_URL_TEXT, (text) =>
    /^postgres(?:ql)?:\/\/[^\s/?]+\/[^\s/?]+/.test(text),
  )
    .optional()
    .describe(
      'PostgreSQL instead of the file: postgres://user:password@host:port/database, several hosts by commas.',
    )

/** Where a service keeps lasting data, for its own `z.object`; `storeConfigFault` finds what is missing among these. */
export function storeConfigFields(store: {
  readonly databasePath: string
  /** Says what the file holds, and what is beside it. */
  readonly description: string
}) {
  return {
    DATABASE_PATH: textField('a path')
      .prefault(store.databasePath)
      .describe(
        `${store.description} With DATABASE_URL only this process’s last signed checkpoints are kept beside it.`,
      ),
    DATABASE_URL: databaseUrlField(),
    CHECKPOINT_KEY: checkedSecretField(CHECKPOINT_KEY_TEXT, isCheckpointKey)
      .optional()
      .describe(
        'Signs checkpoints; required with DATABASE_URL. If unset, a key is created once and kept beside the file.',
      ),
  }
}

/** The missing variable: all processes on one database sign with the same key, so none may make its own. */
export function storeConfigFault(config: {
  readonly DATABASE_URL?: Secret | undefined
  readonly CHECKPOINT_KEY?: Secret | undefined
}): { readonly path: ['CHECKPOINT_KEY']; readonly message: string } | undefined {
  if (config.DATABASE_URL === undefined || config.CHECKPOINT_KEY !== undefined) return undefined
  return { path: ['CHECKPOINT_KEY'], message: `${CHECKPOINT_KEY_TEXT}, with DATABASE_URL` }
}

/** How a store reaches the server of DATABASE_URL. Retries wait in real time, whatever clock a test uses. */
export const reachServer = (url: Secret) => ({
  url: url.reveal(),
  pause: (ms: number): Promise<void> => pause(systemClock, ms),
})

/** The Ed25519 seed in `CHECKPOINT_KEY`, 32 bytes; undefined if the store makes its own. */
export function chooseSeed({
  CHECKPOINT_KEY,
}: {
  readonly CHECKPOINT_KEY?: Secret | undefined
}): Uint8Array | undefined {
  return CHECKPOINT_KEY === undefined ? undefined : Buffer.from(CHECKPOINT_KEY.reveal(), 'base64')
}

/** A service's own name in paths, headers or identifiers; the service's description says which. */
export function serviceNameField(defaultName: string) {
  const expected = 'lower-case letters, digits and dashes, a letter first, at most 32'
  const field = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, expected)
  return withFieldMeta(field, { expected }).prefault(defaultName)
}

/** The bytes of standard, padded base64, accepted only in its canonical spelling (RFC 4648 §4); undefined for anything else. */
export function strictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
