import type { TokenVerdict } from '@tallystick/jwt-lite'
import { presentedToken, sendError } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Audience } from '../domain/care-record.ts'
import { readableAudiences } from '../domain/record-access.ts'
import { invalidToken } from '../errors.ts'

/** Anything else after `Bearer` is no token (RFC 6750 §2.1); what it is made of is the verifier's matter. */
const IS_TOKEN = /^\S+$/

/** Who asks on a public route, where a token is optional. */
export type Reader = {
  /** Audiences whose chains may be known to exist: `user` always, `assistant` with its scope. */
  readonly visible: readonly Audience[]
  /** Audiences whose records may be read; none without a token. */
  readonly readable: readonly Audience[]
  readonly isAnonymous: boolean
}

export type ReaderDeps = {
  readonly verifyToken: (token: string) => TokenVerdict
  /** URL that a 401 names, see care.md, Authentication 8. */
  readonly metadataUrl: string
  readonly serviceName: string
}

/** The reader of a request. Undefined where its token is refused: the 401 has been sent then. */
export function readerOf(
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  deps: ReaderDeps,
): Reader | undefined {
  const presented = presentedToken(exchange.request.headers.authorization)
  if (presented.kind === 'none') return { visible: ['user'], readable: [], isAnonymous: true }
  if (presented.kind === 'other' || !IS_TOKEN.test(presented.token)) {
    sendError(exchange.reply, invalidToken(undefined, deps))
    return undefined
  }
  const verdict = deps.verifyToken(presented.token)
  if (verdict.kind === 'invalid') {
    sendError(exchange.reply, invalidToken(verdict.failure, deps))
    return undefined
  }
  const readable = readableAudiences(verdict.claims.scopes)
  return {
    visible: readable.includes('assistant') ? ['user', 'assistant'] : ['user'],
    readable,
    isAnonymous: false,
  }
}
