import { sendError } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readableAudiences } from '../domain/care-record.ts'
import type { Audience } from '../wire/records.ts'
import { type BearerCheckDeps, checkBearer } from './check-bearer.ts'

/** Who asks on a public route, where a token is optional. */
export type Reader = {
  /** Audiences whose chains may be known to exist: `user` always, `assistant` with its scope. */
  readonly visible: readonly Audience[]
  /** Audiences whose records may be read; none without a token. */
  readonly readable: readonly Audience[]
  readonly isAnonymous: boolean
}

/** The reader of a request. Undefined where its token is refused: the 401 has been sent then. */
export function readerOf(
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  deps: BearerCheckDeps,
): Reader | undefined {
  const { authorization } = exchange.request.headers
  if (authorization === undefined) return { visible: ['user'], readable: [], isAnonymous: true }
  const check = checkBearer(authorization, deps)
  if (check.kind === 'refused') {
    sendError(exchange.reply, check.answer)
    return undefined
  }
  const readable = readableAudiences(check.claims.scopes)
  return {
    visible: readable.includes('assistant') ? ['user', 'assistant'] : ['user'],
    readable,
    isAnonymous: false,
  }
}
