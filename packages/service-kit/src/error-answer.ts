/**
 * How a failure becomes an answer: JSON with a string `error`, a stable snake_case code (S5). The text of an exception
 * never leaves the process; what a caller may read is built here from codes.
 */
import { z } from 'zod'

/** An error as sent. */
export type ErrorAnswer = {
  /** HTTP status, 400–599. */
  readonly status: number
  /** Stable snake_case code. */
  readonly error: string
  /** Additional public members of the body. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** One thing wrong with a request: where, and what was expected. */
export type RequestIssue = {
  /** Part and path, e.g. `body.picks[0].price` or `query.agent`. */
  readonly field: string
  readonly expected: string
}

/** The body of every error, for OpenAPI. */
export const errorBody = z
  .looseObject({ error: z.string().describe('Stable snake_case code.') })
  .describe('An error.')

const BY_FASTIFY_CODE: Readonly<Record<string, readonly [status: number, error: string]>> = {
  FST_ERR_BAD_URL: [400, 'malformed_url'],
  FST_ERR_MAX_PARAM_LENGTH: [414, 'url_too_long'],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'malformed_json'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'malformed_json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'content_length_mismatch'],
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'payload_too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'unsupported_media_type'],
  FST_ERR_CTP_INVALID_TYPE: [415, 'unsupported_media_type'],
}

const pathText = (path: readonly string[]): string =>
  path.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('')

const PARTS: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
}

/** Framework errors carry these; other errors have none of it. */
type FrameworkError = Partial<
  Record<'code' | 'statusCode' | 'validation' | 'validationContext', unknown>
>
type SchemaFailure = { readonly instancePath?: string; readonly message?: string }

const readMembers = (error: unknown): FrameworkError =>
  typeof error === 'object' && error !== null ? error : {}

/** Finds what is wrong with a request that its schema refused; undefined for any other error. */
export function requestIssues(error: unknown): readonly RequestIssue[] | undefined {
  const { validation, validationContext } = readMembers(error)
  if (!Array.isArray(validation)) return undefined
  const part = PARTS[String(validationContext)] ?? 'request'
  return validation.map(({ instancePath = '', message }: SchemaFailure) => ({
    field: `${part}${pathText(instancePath.split('/').filter(Boolean))}`,
    expected: message ?? 'another value',
  }))
}

/** The answer to an error that the service does not recognise: the framework's refusal, or 500 `internal_error`. */
export function frameworkAnswer(error: unknown): ErrorAnswer {
  const issues = requestIssues(error)
  if (issues !== undefined) return { status: 400, error: 'invalid_request', details: { issues } }
  const { code, statusCode } = readMembers(error)
  const known = BY_FASTIFY_CODE[String(code)]
  if (known !== undefined) return { status: known[0], error: known[1] }
  const status = Number(statusCode)
  return status >= 400 && status < 500
    ? { status, error: 'bad_request' }
    : { status: 500, error: 'internal_error' }
}

/** The JSON text of an answer. */
export function errorJson(answer: ErrorAnswer): string {
  return JSON.stringify({ error: answer.error, ...answer.details })
}

/** One code in a service's table of errors. */
type ErrorRow = {
  readonly status: number
  /** One sentence for the documentation. */
  readonly meaning: string
  /** The `Retry-After` value, unless the case has its own. */
  readonly retryAfterSeconds?: number
}

/** One case adds this to its row. */
type ErrorCase = Pick<ErrorAnswer, 'details' | 'headers'> & {
  readonly retryAfterSeconds?: number | undefined
}

/** Returns a function that makes a service's answers from its table of codes. No answer may be cached. */
export function errorAnswers<Code extends string>(
  rows: Readonly<Record<Code, ErrorRow>>,
): (error: Code, more?: ErrorCase) => ErrorAnswer {
  return (error, { details, headers, retryAfterSeconds } = {}) => {
    const row = rows[error]
    const retrySeconds = retryAfterSeconds ?? row.retryAfterSeconds
    return {
      status: row.status,
      error,
      headers: {
        'cache-control': 'no-store',
        ...(retrySeconds !== undefined && { 'retry-after': String(retrySeconds) }),
        ...headers,
      },
      details,
    }
  }
}
