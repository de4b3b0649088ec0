/** How routes read bodies: what counts as no body, and what is wrong with one, field by field. */
import { type RequestIssue, type ServiceApp, sendError } from '@tallystick/service-kit'
import { errorCodes, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { invalidRequest } from '../errors.ts'

/**
 * Treats an empty body of any content type as no body, so that anyone who asks for a route's price gets it. A body
 * without a content type is read as JSON, the only type these routes accept; one declared as anything else is 415.
 */
export function acceptProbes(scope: ServiceApp): void {
  const parseJson = scope.getDefaultJsonParser('error', 'error')
  scope.removeContentTypeParser('text/plain')
  // A tracker's file by itself: only routes that know `csv` take it.
  scope.addContentTypeParser<string>('text/csv', { parseAs: 'string' }, (_request, csv, done) =>
    done(null, csv.length === 0 ? undefined : { csv }),
  )
  scope.addContentTypeParser<string>('*', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else if (request.headers['content-type'] === undefined) void parseJson(request, body, done)
    else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  })
}

/** No cache stores these answers (X5): a paid answer belongs to its payer, and a repeated read may have changed. */
export async function neverStored(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('cache-control', 'no-store')
}

const fieldOf = (start: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    start,
  )

const unknownIn = (branch: readonly z.core.$ZodIssue[]): number =>
  branch.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0),
    0,
  )

/** Of the union branches that its faults are inside of, the one that knows most of the members: it was meant. */
function closestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]) {
  return branches
    .filter((branch) =>
      branch.every(({ code, path }) => code === 'unrecognized_keys' || path.length > 0),
    )
    .toSorted((one, other) => unknownIn(one) - unknownIn(other))[0]
}

/** A schema's findings: each field at fault, and each unknown field by its own name. */
export function requestIssuesOf(
  issues: readonly z.core.$ZodIssue[],
  start: string,
): readonly RequestIssue[] {
  return issues.flatMap((issue): readonly RequestIssue[] => {
    const field = fieldOf(start, issue.path)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ field: `${field}.${key}`, expected: 'no such field' }))
    const branch = issue.code === 'invalid_union' ? closestBranch(issue.errors) : undefined
    return branch === undefined
      ? [{ field, expected: issue.message }]
      : requestIssuesOf(branch, field)
  })
}

/**
 * Route options that read a body by its schema into `request.body` and name each fault by its field; `whenAbsent`
 * replaces a missing body. The schema in the route's options is the documentation.
 */
export function freeBody<Schema extends z.ZodType>(
  schema: Schema,
  whenAbsent: z.input<Schema> | undefined,
): {
  readonly validatorCompiler: () => () => boolean
  readonly preHandler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
} {
  return {
    validatorCompiler: () => () => true,
    async preHandler(request, reply) {
      const parsed = schema.safeParse(request.body === undefined ? whenAbsent : request.body)
      if (!parsed.success)
        return sendError(reply, invalidRequest(requestIssuesOf(parsed.error.issues, 'body')))
      request.body = parsed.data
      return undefined
    },
  }
}
