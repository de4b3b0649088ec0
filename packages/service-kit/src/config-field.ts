/**
 * Builders for the fields of a service's configuration. A field reads one environment variable as text and knows its
 * description, its documented default and whether it is a secret; config.ts reads and documents them. Fields that only one service has are built from `textField` and the like in that service.
 */
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { Secret } from './secret.ts'

/** What the documentation says of a field beyond its zod description. */
type FieldMeta = {
  /** Read from `<NAME>_FILE` as well; never printed. */
  readonly isSecret?: boolean | undefined
  /** What a good value looks like, e.g. `an integer from 0 to 65535`. */
  readonly expected?: string | undefined
  /** The default in words, where it depends on the surroundings. */
  readonly defaultText?: string | undefined
}

const fieldMetas = z.registry<FieldMeta>()

/** Attaches documentation to a field and returns the field. */
export function withFieldMeta<Field extends z.ZodType>(field: Field, meta: FieldMeta): Field {
  fieldMetas.add(field, meta)
  return field
}

/** The documentation of a field, outer wrappers (default, optional) winning over what they wrap. */
export function fieldMetaOf(field: z.core.$ZodType): FieldMeta & { readonly description?: string } {
  const inner = innerOf(field)
  const own = fieldMetas.get(field) ?? {}
  const description = z.globalRegistry.get(field)?.description
  return {
    ...(inner === undefined ? {} : fieldMetaOf(inner)),
    ...own,
    ...(description === undefined ? {} : { description }),
  }
}

/** What a wrapper such as `.optional()`, `.prefault()` or `.transform()` wraps. */
export function innerOf(field: z.core.$ZodType): z.core.$ZodType | undefined {
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

/** A whole number from `min` to `max`, written in decimal digits. */
export function integerField(range: { readonly min: number; readonly max: number }) {
  const expected = `an integer from ${range.min} to ${range.max}`
  const field = z
    .string()
    .regex(/^-?\d{1,15}$/, expected)
    .transform(Number)
    .refine((value) => value >= range.min && value <= range.max, expected)
  return withFieldMeta(field, { expected })
}

/** Any text that is not empty. */
export function textField(expected = 'a text') {
  return withFieldMeta(z.string().min(1, expected), { expected })
}

/** A secret: at least `minBytes` UTF-8 bytes, also read from `<NAME>_FILE`. */
export function secretField(options: { readonly minBytes?: number } = {}) {
  const minBytes = options.minBytes ?? 1
  const expected = minBytes > 1 ? `a secret of at least ${minBytes} bytes` : 'a secret'
  const field = z
    .string()
    .refine((text) => Buffer.byteLength(text) >= minBytes, expected)
    .transform((text) => new Secret(text))
  return withFieldMeta(field, { expected, isSecret: true })
}

/** The TCP port to listen on; 0 takes a free one. */
export function portField(defaultPort: number) {
  return integerField({ min: 0, max: 65_535 })
    .prefault(String(defaultPort))
    .describe('TCP port to listen on; 0 takes a free one.')
}

const isInContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv')

/** The address to listen on: loopback, or every interface inside a container, where loopback is reachable by nobody (S2). */
export function hostField() {
  const field = textField('an IP address or host name')
    .prefault(() => (isInContainer() ? '0.0.0.0' : '127.0.0.1'))
    .describe('Address to listen on.')
  return withFieldMeta(field, { defaultText: '127.0.0.1, in a container 0.0.0.0' })
}

const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}

/** An http or https URL; trailing slashes are cut off, so that paths can be appended. */
export function httpUrlField() {
  const expected = 'an http or https URL'
  const field = z
    .string()
    .refine(isHttpUrl, expected)
    .transform((text) => text.replace(/\/+$/, ''))
  return withFieldMeta(field, { expected })
}

/** The public address under which clients reach the service, without a trailing slash. */
export function baseUrlField(defaultUrl: string) {
  return httpUrlField()
    .prefault(defaultUrl)
    .describe('Public address of this service, as clients see it.')
}

const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** How much is logged. */
export function logLevelField() {
  const expected = `one of ${LOG_LEVELS.join(', ')}`
  const field = z.enum(LOG_LEVELS, { error: expected })
  return withFieldMeta(field, { expected }).prefault('info').describe('How much is logged.')
}

/** The bearer token that `/metrics` asks for, where one is set. */
export function metricsTokenField() {
  return secretField({ minBytes: 16 })
    .optional()
    .describe('Bearer token that /metrics asks for; without it /metrics is open.')
}

/**
 * The fields that every service has, for its own `z.object`: `{ ...sharedConfigFields(…), MY_FIELD: … }`. The base URL is
 * the service's address on the local machine.
 */
export function sharedConfigFields(defaults: { readonly port: number; readonly baseUrl: string }) {
  return {
    PORT: portField(defaults.port),
    HOST: hostField(),
    BASE_URL: baseUrlField(defaults.baseUrl),
    METRICS_TOKEN: metricsTokenField(),
    LOG_LEVEL: logLevelField(),
  }
}

/** A service's own name in paths, headers or identifiers; the service describes where it stands. */
export function serviceNameField(defaultName: string) {
  const expected = 'lower-case letters, digits and dashes, a letter first, at most 32'
  const field = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, expected)
  return withFieldMeta(field, { expected }).prefault(defaultName)
}

/** The bytes of standard, padded base64 with the one spelling that encodes them (RFC 4648 §4); undefined for other text. */
export function strictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
