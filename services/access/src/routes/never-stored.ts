import type { FastifyReply, FastifyRequest } from 'fastify'

/** Answers of the paid route and of polls are true for a moment only: nothing keeps them (X5). */
export async function neverStored(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('cache-control', 'no-store')
}
