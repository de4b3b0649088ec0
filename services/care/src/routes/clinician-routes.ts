/** What the clinician's page asks with its token: who its holder is (C23), and which corrections nobody has heard (C29). */
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import { mayRead, mayWrite } from '../domain/scopes.ts'
import { principalAnswer } from '../wire/principal.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import { type UnheardCorrection, unheardAnswer } from '../wire/unheard.ts'
import { type BearerCheckDeps, checkBearer } from './bearer.ts'

const TAG = ['write']

export function addClinicianRoutes(
  app: ServiceApp,
  deps: BearerCheckDeps & {
    readonly minutes: number
    readonly corrections: () => readonly UnheardCorrection[]
  },
): void {
  const principal = {
    tags: TAG,
    summary: 'Who a token makes its holder, and its scopes.',
    response: { 200: principalAnswer, 401: errorBody },
  }
  // A page cannot tell it from the token: only the service knows what an issuer's claims grant.
  app.get('/principal', { schema: principal }, async (request, reply) => {
    const check = await checkBearer(request.headers.authorization, deps)
    if (check.kind === 'refused') return sendError(reply, check.answer)
    const { expiresAtSeconds, scopes, sub } = check.claims
    void reply.header('cache-control', 'no-store')
    return { sub, scopes, expiresAt: new Date(expiresAtSeconds * 1_000).toISOString() }
  })
  const unheard = {
    tags: TAG,
    summary: 'Corrections that nobody has heard.',
    description:
      'Requires a token that may read or write the records in question. A correction is heard when a subscriber’s stream has carried its notice, or when its newest version was read with a token that does not write.',
    response: { 200: unheardAnswer, 401: errorBody },
  }
  app.get('/unheard', { schema: unheard }, async (request, reply) => {
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
