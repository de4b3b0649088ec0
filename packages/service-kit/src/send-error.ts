import type { FastifyReply } from 'fastify'
import { type ErrorAnswer, errorJson } from './error-answer.ts'

/** Sends an error in the house's shape, past the route's response schemas, which could only hide what went wrong. */
export function sendError(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers })
    .type('application/json; charset=utf-8')
    .send(errorJson(answer))
}
