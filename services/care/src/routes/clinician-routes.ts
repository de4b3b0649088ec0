/**
 * What the clinician's page asks with its token: who its holder is (C23), which corrections nobody has heard (C29), and who
 * follows records without listening (C36).
 */
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { OwnLabel } from '../domain/author-labels.ts'
import { mayRead, mayWrite } from '../domain/scopes.ts'
import type { SilentFollower } from '../domain/unheard-corrections.ts'
import { principalAnswer } from '../wire/principal.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import { type SilentSession, type UnheardCorrection, unheardAnswer } from '../wire/unheard.ts'
import { BEARER, type BearerCheckDeps, checkBearer } from './bearer.ts'

const TAG = ['write']
/** Silent sessions in one answer: more than a person looks into. */
const SILENT_MAX = 100
/** Records named of each. */
const URIS_MAX = 20

/** Who follows what tells where a person has assistants: it is for those who write that record. */
function mayKnowFollowers(scopes: readonly string[], uri: string): boolean {
  const parsed = parseRecordUri(uri)
  if (parsed === undefined || parsed.version !== undefined) return false
  const { slot } = parsed
  return mayWrite(scopes, slot.patient) && (slot.audience === 'user' || mayRead(scopes, slot))
}

const silentFor = (
  scopes: readonly string[],
  parts: { readonly silent: readonly SilentFollower[]; readonly ownLabel: OwnLabel | undefined },
): SilentSession[] =>
  parts.silent
    .map(({ sinceMs, sub, uris }) => {
      const known = uris.filter((uri) => mayKnowFollowers(scopes, uri))
      const since = new Date(sinceMs).toISOString()
      const label = parts.ownLabel?.({ sub, claimed: undefined })
      return { sub, label, since, records: known.length, uris: known.slice(0, URIS_MAX) }
    })
    .filter(({ records }) => records > 0)
    .slice(0, SILENT_MAX)

export function addClinicianRoutes(
  app: ServiceApp,
  deps: BearerCheckDeps & {
    /** Where the service decides whose name is shown (C46). */
    readonly ownLabel: OwnLabel | undefined
    readonly minutes: number
    readonly corrections: () => readonly UnheardCorrection[]
    readonly silentSeconds: number
    readonly silent: () => readonly SilentFollower[]
  },
): void {
  const principal = {
    tags: TAG,
    security: BEARER,
    summary: 'Who a token makes its holder, and its scopes.',
    response: { 200: principalAnswer, 401: errorBody },
  }
  // A page cannot tell it from the token: only the service knows what an issuer's claims grant.
  app.get('/principal', { schema: principal }, async (request, reply) => {
    const check = await checkBearer(request.headers.authorization, deps)
    if (check.kind === 'refused') return sendError(reply, check.answer)
    const { expiresAtSeconds, name, scopes, sub } = check.claims
    const label = deps.ownLabel?.({ sub, name, claimed: undefined })
    void reply.header('cache-control', 'no-store')
    return { sub, scopes, label, expiresAt: new Date(expiresAtSeconds * 1_000).toISOString() }
  })
  const unheard = {
    tags: TAG,
    security: BEARER,
    summary: 'Corrections that nobody has heard, and sessions that would not hear one now.',
    description:
      'Requires a token that may read or write the records in question; silent sessions are shown to who may write. A correction is heard when a subscriber’s stream has carried its notice, or when its newest version was read with a token that does not write.',
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
    const { minutes, ownLabel, silentSeconds } = deps
    const silent = silentFor(scopes, { silent: deps.silent(), ownLabel })
    return { minutes, corrections, silentSeconds, silent }
  })
}
