// Requests for a service: close to its OpenAPI document, with things that the document does not foresee.
import * as fc from 'fast-check'
import type { FuzzedOperation, Parameter } from './operations.ts'
import { anyJson, arbitraryFor } from './schema-arbitrary.ts'

export type FuzzedRequest = {
  /** The operation behind the request; it judges the answer. */
  readonly operation: FuzzedOperation
  readonly method: string
  /** As sent on the wire. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | undefined
  /** Whether method and path are still those of the operation. */
  readonly isStraight: boolean
}

const OTHER_METHODS = ['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'GET', 'POST', 'PROPFIND']
/** Deep enough to exhaust a recursive reader, small enough for every body limit. */
const NESTING = 5_000
/** Over every route's limit but the audit's. */
const OVERSIZE = 80_000
const ODD_BODIES = [
  '',
  'null',
  '[]',
  '{',
  '{"a":',
  '\ufeff{}',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  '"\\ud800"',
  '1e400',
  '['.repeat(NESTING),
  '{"a":'.repeat(NESTING),
  'x'.repeat(OVERSIZE),
]
const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/json, text/plain',
  '/',
]

/** Percent-encodes what cannot be in a request line, and leaves every other oddity. */
function onTheWire(target: string): string {
  return target.replaceAll(/[^!-~]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  )
}

/** What Node's client is willing to send in a header. */
function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/gu, '')
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

function valuesFor(parameters: readonly Parameter[], where: Parameter['in']) {
  const own = parameters.filter((parameter) => parameter.in === where)
  const values = own.map(({ name, schema }) => [name, arbitraryFor(schema).map(asText)] as const)
  const requiredKeys = where === 'path' ? own.map(({ name }) => name) : []
  const wanted = fc.record(Object.fromEntries(values), {
    requiredKeys: own.map(({ name }) => name),
  })
  const some = fc.record(Object.fromEntries(values), { requiredKeys })
  return fc.oneof({ weight: 3, arbitrary: wanted }, { weight: 1, arbitrary: some })
}

const query = (values: Readonly<Record<string, string | undefined>>): string => {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined)
  const text = pairs.map(([name, value]) => `${name}=${encodeOddly(value ?? '')}`).join('&')
  return text === '' ? '' : `?${text}`
}

/** Encoded if possible; a lone surrogate goes on the wire as it is. */
function encodeOddly(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}

function bodyFor(operation: FuzzedOperation): fc.Arbitrary<string | undefined> {
  const { body, method } = operation
  if (method === 'GET' || method === 'DELETE') return fc.constant(undefined)
  const fitting = body === undefined ? anyJson : arbitraryFor(body)
  return fc.oneof(
    { weight: 12, arbitrary: fitting.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, ...ODD_BODIES) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fitting, fc.nat())
        .map(([value, at]) => JSON.stringify(value).slice(0, at % 200)),
    },
  )
}

const paymentHeader = fc.oneof(
  anyJson.map((value) => Buffer.from(JSON.stringify(value) ?? '').toString('base64')),
  fc.string({ unit: 'binary-ascii', maxLength: 60 }).map(headerText),
  fc.constant('A'.repeat(9_000)),
)
const oddHeaders = fc.record(
  {
    'payment-signature': paymentHeader,
    'x-payment': paymentHeader,
    authorization: fc.constantFrom(
      'Bearer',
      'Bearer x',
      'Basic eA==',
      'bearer a.b.c',
      `Bearer ${'x'.repeat(4_000)}`,
    ),
    'idempotency-key': fc.string({ unit: 'binary-ascii', maxLength: 300 }).map(headerText),
    'x-forwarded-host': fc.constantFrom('evil.example', '127.0.0.1'),
    origin: fc.constantFrom('https://evil.example', 'null', ''),
    accept: fc.constantFrom('', 'text/html', 'application/json', 'text/event-stream', '*/*;q=x'),
    'if-none-match': fc.constantFrom('*', 'W/"x"', '"'),
    'x-request-id': fc.constantFrom('x', '../..', '\t'),
    'access-control-request-method': fc.constantFrom('GET', 'TRACE'),
  },
  { requiredKeys: [] },
)

type Oddity = (target: string) => string
const oddTarget: fc.Arbitrary<Oddity> = fc.constantFrom<Oddity>(
  (target) => `${target}/`,
  (target) => target.replaceAll('/', '//'),
  (target) => target.replaceAll('/', '/%2f'),
  (target) => target.toUpperCase(),
  (target) => target.replace('a', '%61'),
  (target) => `${target}%`,
  (target) => `${target}%zz`,
  (target) => `${target}%00`,
  (target) => `/..${target}`,
  (target) => `${target};x=1`,
  (target) => `${target}${target.includes('?') ? '&' : '?'}agent=1&agent=2&uri=&uri=%ff`,
  (target) => `http://evil.example${target}`,
  (target) => `${target}?${'x'.repeat(9_000)}`,
  () => '*',
)

/** One time in ten. */
function sometimes<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq: 9 })
}

/** Requests made from an operation: four in five keep its method and path. */
export function requestFor(operation: FuzzedOperation): fc.Arbitrary<FuzzedRequest> {
  const { method, parameters, path } = operation
  return fc
    .record({
      inPath: valuesFor(parameters, 'path'),
      inQuery: valuesFor(parameters, 'query'),
      body: bodyFor(operation),
      headers: fc.oneof(
        { weight: 3, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: oddHeaders },
      ),
      contentType: fc.oneof(
        { weight: 9, arbitrary: fc.constant('application/json') },
        fc.constantFrom(undefined, ...CONTENT_TYPES),
      ),
      otherMethod: sometimes(fc.constantFrom(...OTHER_METHODS)),
      oddity: sometimes(oddTarget),
    })
    .map(({ inPath, inQuery, body, headers, contentType, otherMethod, oddity }) => {
      const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
        encodeOddly(inPath[name] ?? ''),
      )
      const straight = filled + query(inQuery)
      return {
        operation,
        method: otherMethod ?? method,
        target: onTheWire(oddity === undefined ? straight : oddity(straight)),
        headers: {
          ...(body === undefined || contentType === undefined
            ? {}
            : { 'content-type': contentType }),
          ...headers,
        },
        body: otherMethod === 'GET' || otherMethod === 'HEAD' ? undefined : body,
        isStraight: otherMethod === undefined && oddity === undefined,
      }
    })
}
