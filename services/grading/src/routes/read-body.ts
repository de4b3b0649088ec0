/** How routes read bodies: what counts as no body, and what is wrong with one, field by field; and how they send JSON. */
import { type RequestIssue, type ServiceApp, sendError } from '@tallystick/service-kit'
import { errorCodes, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { invalidRequest, RefusedBody } from '../errors.ts'
import { decodeFile } from '../tracker/decode-file.ts'

/**
 * Treats an empty body of any content type as no body, so that anyone who asks for a route's price gets it. A body
 * without a content type is read as JSON, the only type these routes accept; one declared as anything else is 415.
 */
export function acceptProbes(scope: ServiceApp): void {
  const parseJson = scope.getDefaultJsonParser('error', 'error')
  type Done = (error: Error | null, body?: unknown) => void
  const readJson = (request: FastifyRequest, body: Buffer, done: Done): void => {
    if (body.length === 0) done(null, undefined)
    else if (isCrowded(body)) done(new RefusedBody([CROWDED]))
    else void parseJson(request, body.toString(), done)
  }
  scope.removeContentTypeParser(['application/json', 'text/plain'])
  scope.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, readJson)
  // A tracker's file by itself: only routes that know `csv` take it.
  scope.addContentTypeParser<Buffer>('text/csv', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body.length === 0 ? undefined : { csv: decodeFile(body) }),
  )
  scope.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0 || request.headers['content-type'] === undefined)
      readJson(request, body, done)
    else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  })
}

/** Colons and brackets in a body. A thousand picks with every member have 30,000. */
const MARKS_MAX = 32_768
/** A parlay's leg with its market is 6 deep. What is deeper than a stack can be sent to no other thread. */
const LEVELS_MAX = 64
const CROWDED: RequestIssue = {
  field: 'body',
  expected: `at most ${MARKS_MAX} colons and brackets, ${LEVELS_MAX} of them nested`,
}

/** The bytes of the signs that a body's members are between. */
const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
const [BRACE, BRACKET, BRACE_END, BRACKET_END] = [0x7b, 0x5b, 0x7d, 0x5d]

/** Whether a body has too many members to be parsed, or too deep ones: names cost more than their bytes. */
export function isCrowded(body: Uint8Array): boolean {
  let [marks, levels, isText] = [0, 0, false]
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (byte === BACKSLASH) at += 1
    else if (byte === QUOTE) isText = !isText
    else if (byte === COLON) marks += 1
    else if (byte === BRACE || byte === BRACKET) {
      marks += 1
      if (!isText) levels += 1
      if (levels > LEVELS_MAX) return true
    } else if (!isText && (byte === BRACE_END || byte === BRACKET_END)) levels -= 1
  }
  return marks > MARKS_MAX
}

/** Leaves a scope's JSON bodies as the bytes received. */
export function takeBytes(scope: ServiceApp): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
}

/** No cache stores these answers (X5): a paid answer belongs to its payer, and a repeated read may have changed. */
export async function neverStored(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('cache-control', 'no-store')
}

export const sendJson = (reply: FastifyReply, json: string | Buffer): FastifyReply =>
  reply.type('application/json; charset=utf-8').serializer(String).send(json)

const fieldName = (start: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    start,
  )

const unknownIn = (branch: readonly z.core.$ZodIssue[]): number =>
  branch.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0),
    0,
  )

/** The union branch that the sender meant: among those with faults inside, the one that knows the most members. */
function closestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]) {
  return branches
    .filter((branch) =>
      branch.every(({ code, path }) => code === 'unrecognized_keys' || path.length > 0),
    )
    .toSorted((left, right) => unknownIn(left) - unknownIn(right))[0]
}

/** A schema's findings: each field at fault, and each unknown field by its own name. */
export function requestIssues(
  issues: readonly z.core.$ZodIssue[],
  start: string,
): readonly RequestIssue[] {
  return issues.flatMap((issue): readonly RequestIssue[] => {
    const field = fieldName(start, issue.path)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ field: `${field}.${key}`, expected: 'no such field' }))
    const branch = issue.code === 'invalid_union' ? closestBranch(issue.errors) : undefined
    return branch === undefined
      ? [{ field, expected: issue.message }]
      : requestIssues(branch, field)
  })
}

/** Members of one pick, or of all else in a body: a parlay of 20 legs with every member has 226. */
const MEMBERS_MAX = 256

/** How many of the allowed members remain after a value's own and nested ones, except its picks; below 0 if it has more. */
function membersLeft(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null) return max
  if (Array.isArray(value) && value.length > max) return -1
  let left = max
  for (const name in value) {
    const member: unknown = name === 'picks' ? undefined : value[name as keyof typeof value]
    left = membersLeft(member, left - 1)
    if (left < 0) return left
  }
  return left
}

/** Whether a value has more members than any request. */
export const isOversized = (value: unknown): boolean => membersLeft(value, MEMBERS_MAX) < 0

/** Reads a value by its schema, or names each fault by its field; a value with too many members is not looked into. */
export function readMembers<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  field: string,
):
  | { readonly kind: 'read'; readonly data: z.output<Schema> }
  | { readonly kind: 'faulty'; readonly issues: readonly RequestIssue[] } {
  if (isOversized(value))
    return { kind: 'faulty', issues: [{ field, expected: `at most ${MEMBERS_MAX} members` }] }
  const { data, error, success } = schema.safeParse(value)
  return success
    ? { kind: 'read', data }
    : { kind: 'faulty', issues: requestIssues(error.issues, field) }
}

/**
 * Route options that read a body by its schema into `request.body` and name each fault by its field; `whenAbsent`
 * replaces a missing body. The schema in the route's options is the documentation.
 */
export function freeBody<Schema extends z.ZodType>(
  schema: Schema,
  whenAbsent: z.input<Schema> | undefined,
) {
  return {
    validatorCompiler: () => () => true,
    async preHandler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      const value = request.body === undefined ? whenAbsent : request.body
      const read = readMembers(schema, value, 'body')
      if (read.kind === 'faulty') return sendError(reply, invalidRequest(read.issues))
      request.body = read.data
      return undefined
    },
  }
}
