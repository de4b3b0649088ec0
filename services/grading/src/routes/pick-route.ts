import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import type { Grader } from '../domain/grader.ts'
import { errorAnswer } from '../errors.ts'
import { cardSchema } from './card-schema.ts'
import { neverStored } from './never-stored.ts'
import { notFoundRow, storeErrorRow } from './schemas.ts'

/** Serves `GET /api/picks/{receipt}`: the current card of a paid pick, free, to whoever has its receipt. */
export function addPickRoute(
  app: ServiceApp,
  { grader }: { readonly grader: Pick<Grader, 'cardOf'> },
): void {
  app.get(
    '/api/picks/:receipt',
    {
      onRequest: neverStored,
      // Whoever has the receipt can read the card.
      config: { hasSecretPath: true },
      schema: {
        tags: ['free'],
        summary: 'The current card of a paid pick, by its receipt. Free.',
        params: z.object({ receipt: z.string().describe('From the card that was paid for.') }),
        response: { 200: cardSchema, ...notFoundRow, ...storeErrorRow },
      },
    },
    async (request, reply) => {
      const card = await grader.cardOf(request.params.receipt)
      return card === undefined ? sendError(reply, errorAnswer('not_found')) : reply.send(card)
    },
  )
}
