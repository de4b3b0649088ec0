/** `GET /reads`: who read what of a person, for whoever may read it too. */
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { OwnLabel } from '../domain/author-labels.ts'
import type { KeptReadRow } from '../domain/care-record.ts'
import { mayRead } from '../domain/scopes.ts'
import { errorAnswer } from '../errors.ts'
import { AUDIENCES, type Audience } from '../wire/audience.ts'
import { readsAnswer, readsQuery } from '../wire/reads.ts'
import { BEARER, type BearerCheckDeps, checkBearer } from './bearer.ts'

export type ReadLog = {
  readonly recording: 'off' | 'all'
  readonly days: number
  /** The newest rows below `before`. Rejects with RecordStoreUnavailable. */
  rows(query: {
    readonly patient: string
    readonly audiences: readonly Audience[]
    readonly limit: number
    readonly before?: number | undefined
  }): Promise<readonly KeptReadRow[]>
}

export function addReadsRoute(
  app: ServiceApp,
  deps: BearerCheckDeps & { readonly log: ReadLog; readonly ownLabel: OwnLabel | undefined },
): void {
  const { log, ownLabel } = deps
  const schema = {
    tags: ['verify'],
    security: BEARER,
    summary: 'Who read what of a person, newest first.',
    description:
      'Requires a token that may read the person’s records; reads of internal ones are shown to who may read those. Reads of the last second may be missing.',
    querystring: readsQuery,
    response: {
      200: readsAnswer,
      400: errorBody,
      401: errorBody,
      403: errorBody,
      503: errorBody,
    },
  }
  app.get('/reads', { schema }, async (request, reply) => {
    const check = await checkBearer(request.headers.authorization, deps)
    if (check.kind === 'refused') return sendError(reply, check.answer)
    const { before, limit, patient } = request.query
    // Decided from the name and the scopes alone, before any look-up (C30).
    const audiences = AUDIENCES.filter((audience) =>
      mayRead(check.claims.scopes, { audience, patient }),
    )
    if (audiences.length === 0) return sendError(reply, errorAnswer('insufficient_scope'))
    // One more than is shown says whether there is a next page.
    const found = await log.rows({ patient, audiences, before, limit: limit + 1 })
    const reads = found.slice(0, limit).map((row) => {
      const label = ownLabel?.({ sub: row.actor, claimed: undefined })
      return { ...row, label }
    })
    void reply.header('cache-control', 'no-store')
    const next = found.length > limit ? reads.at(-1)?.sequence : undefined
    return { recording: log.recording, days: log.days, reads, next }
  })
}
