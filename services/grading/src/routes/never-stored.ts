import type { FastifyReply, FastifyRequest } from 'fastify'

/** A paid answer is its payer’s, and what is read again may have changed: nothing keeps them (X5). */
export async function neverStored(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('cache-control', 'no-store')
}
