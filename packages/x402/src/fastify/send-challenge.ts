import type { FastifyReply } from 'fastify'
import type { Settlement } from '../facilitators/facilitator.ts'
import type { Challenge } from '../gate/payment-gate.ts'
import { encodePaymentResponse } from '../gate/payment-response.ts'

/** Sends a 402 (X2, X5): the challenge's own bytes as body and header, with `PAYMENT-RESPONSE` where one was refused. */
export function sendChallenge(
  reply: FastifyReply,
  challenge: Challenge,
  settlement?: Settlement,
): FastifyReply {
  if (settlement !== undefined) void setPaymentResponse(reply, settlement)
  // A string goes out as it is: no serialiser may touch the bytes that the header repeats.
  return reply.code(402).headers(challenge.headers).serializer(String).send(challenge.body)
}

/** Puts a settlement into `PAYMENT-RESPONSE` of a paid answer, which nobody may store (X5, X6). */
export function setPaymentResponse(reply: FastifyReply, settlement: Settlement): FastifyReply {
  return reply
    .header('PAYMENT-RESPONSE', encodePaymentResponse(settlement))
    .header('cache-control', 'no-store')
}
