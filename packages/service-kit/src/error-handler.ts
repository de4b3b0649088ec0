import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type ErrorAnswer,
  errorJson,
  frameworkAnswer,
  type RequestIssue,
  requestIssues,
} from './error-answer.ts'

/** Sends an error without the route's response schemas, which could only hide what went wrong. */
export function sendError(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers })
    .type('application/json; charset=utf-8')
    .send(errorJson(answer))
}

/** How a service words its own failures. */
export type ServiceErrors = {
  /** The answer to a failing dependency (`LedgerUnavailable` → 502); undefined for errors the service does not recognise. */
  readonly answer?: ((error: unknown) => ErrorAnswer | undefined) | undefined
  /** The answer to a request that its schema refused; defaults to `invalid_request` with the issues. */
  readonly invalidRequest?:
    | ((issues: readonly RequestIssue[], request: FastifyRequest) => ErrorAnswer | undefined)
    | undefined
}

/**
 * Returns the one error handler that turns exceptions into answers. A bug is logged with its stack, a failing dependency
 * with its cause; neither text is sent.
 */
export function errorHandler(errors: ServiceErrors) {
  const answerTo = (error: unknown, request: FastifyRequest): ErrorAnswer => {
    const issues = requestIssues(error)
    const own =
      issues === undefined ? errors.answer?.(error) : errors.invalidRequest?.(issues, request)
    return own ?? frameworkAnswer(error)
  }
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const answer = answerTo(error, request)
    if (answer.error === 'internal_error') request.log.error({ err: error }, 'internal error')
    else if (answer.status >= 500)
      request.log.warn(
        { err: error, status: answer.status, code: answer.error },
        'dependency failed',
      )
    void sendError(reply, answer)
  }
}
