/** `GET /unheard`: what a clinician sees of corrections that nobody has heard (C29). */
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import { mayRead, mayWrite } from '../domain/care-record.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import { type UnheardCorrection, unheardAnswer } from '../wire/unheard.ts'
import { type BearerCheckDeps, checkBearer } from './bearer.ts'

const TAG = ['write']

export function addUnheardRoute(
  app: ServiceApp,
  deps: BearerCheckDeps & {
    readonly minutes: number
    readonly corrections: () => readonly UnheardCorrection[]
  },
): void {
  const schema = {
    tags: TAG,
    summary: 'Corrections that nobody has heard.',
    description:
      'Requires a token that may read or write the records in question. A correction is heard when a subscriber’s stream has carried its notice, or when its newest version was read with a token that does not write.',
    response: { 200: unheardAnswer, 401: errorBody },
  }
  app.get('/unheard', { schema }, async (request, reply) => {
    const check = await checkBearer(request.headers.authorization, deps)
    if (check.kind === 'refused') return sendError(reply, check.answer)
    const { scopes } = check.claims
    const corrections = deps.corrections().filter(({ uri }) => {
      const slot = parseRecordUri(uri)?.slot
      return slot !== undefined && (mayRead(scopes, slot) || mayWrite(scopes, slot.patient))
    })
    void reply.header('cache-control', 'no-store')
    return { minutes: deps.minutes, corrections }
  })
}
