import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import type { RecordStore } from '../domain/record-store.ts'
import { errorAnswer, invalidToken } from '../errors.ts'
import { journalQuery } from '../wire/verify.ts'
import type { BearerCheckDeps } from './check-bearer.ts'
import { readerOf } from './reader.ts'

export type CheckpointRouteDeps = BearerCheckDeps & {
  readonly store: Pick<RecordStore, 'checkpoint' | 'verifierKey'>
}

/** The header that names the key which checks the note: its text is public and has no place inside the note. */
const VERIFIER_KEY_HEADER = 'x-checkpoint-key'

/** Serves `GET /verify/checkpoint`: the signed head of a journal (C9), text/plain. */
export function addCheckpointRoute(app: ServiceApp, deps: CheckpointRouteDeps): void {
  const schema = {
    tags: ['verify'],
    summary: 'The signed head of a journal, a C2SP note.',
    description: `Origin, size, root hash, signature. The key that checks it is in the header \`${VERIFIER_KEY_HEADER}\`; compare it with one that you got another way.`,
    querystring: journalQuery,
    response: { 200: z.string(), 401: errorBody, 403: errorBody, 503: errorBody },
  }
  app.get('/verify/checkpoint', { schema }, async (request, reply) => {
    const reader = readerOf({ request, reply }, deps)
    if (reader === undefined) return reply
    const { journal } = request.query
    if (!reader.visible.includes(journal))
      return sendError(
        reply,
        reader.isAnonymous ? invalidToken(undefined, deps) : errorAnswer('insufficient_scope'),
      )
    return reply
      .header('cache-control', 'no-store')
      .header(VERIFIER_KEY_HEADER, deps.store.verifierKey(journal))
      .type('text/plain; charset=utf-8')
      .send(await deps.store.checkpoint(journal))
  })
}
