import { sendError } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { invalidRequest } from '../errors.ts'
import { requestIssuesOf } from './zod-issues.ts'

/**
 * Route options that read a body by its schema into `request.body`, each fault by its field's name; `whenAbsent` stands for
 * no body. The schema in the route's options is the documentation.
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
