/** What an `Authorization` header is worth: on routes that need a token, and on public ones, where it is optional. */
import type { TokenClaims, TokenVerdict } from '@tallystick/jwt-lite'
import { type ErrorAnswer, presentedToken, sendError } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isCareScope, isOfHousehold, type Reach, readReach } from '../domain/scopes.ts'
import { errorAnswer, invalidToken, type Protected } from '../errors.ts'

/**
 * Judges bearer tokens for one audience: at once, unless keys of an issuer are needed first (C23). Rejects with
 * `IssuerUnavailable`.
 */
export type TokenCheck = { verify(token: string): TokenVerdict | Promise<TokenVerdict> }

type BearerCheck =
  | { readonly kind: 'valid'; readonly claims: TokenClaims }
  /** With the 401 that says so. */
  | { readonly kind: 'refused'; readonly answer: ErrorAnswer }

export type BearerCheckDeps = Protected & { readonly tokens: TokenCheck }

/** Nothing, or more than one word, after `Bearer` is not a token (RFC 6750 §2.1). */
const IS_ONE_WORD = /^\S+$/

/** Checks the bearer token on a route that answers a missing or failing one with 401 `invalid_token`. */
export async function checkBearer(
  authorization: string | undefined,
  deps: BearerCheckDeps,
): Promise<BearerCheck> {
  const presented = presentedToken(authorization)
  if (presented.kind !== 'bearer' || !IS_ONE_WORD.test(presented.token))
    return { kind: 'refused', answer: invalidToken(undefined, deps) }
  const verdict = await deps.tokens.verify(presented.token)
  return verdict.kind === 'valid'
    ? verdict
    : { kind: 'refused', answer: invalidToken(verdict.failure, deps) }
}

const EVERY_SPEAKABLE: Reach = { audience: 'user' }

/** In the API reference: a token is required, or widens what is shown. */
export const BEARER: readonly Readonly<Record<string, readonly string[]>>[] = [{ token: [] }]
export const MAYBE_BEARER = [{}, ...BEARER]

/** How callers prove who they are, for the API reference. */
export const describeSecurity = (serviceName: string) =>
  ({
    token: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description:
        'An access token for this resource; /.well-known/oauth-protected-resource/mcp names its issuers and scopes.',
    },
    signature: {
      type: 'apiKey',
      in: 'header',
      name: `x-${serviceName}-signature`,
      description:
        'Lower-case hex HMAC-SHA256 over `<timestamp>.<raw body>` under the write secret.',
    },
  }) as const

/** Who is asking on a public route. */
type Reader = {
  /**
   * Chains that the reader may know to exist: those that it may read, and every speakable one, unless its token names whose
   * it is for (C24).
   */
  readonly visible: readonly Reach[]
  /** Chains that the reader may read; none without a token. */
  readonly readable: readonly Reach[]
  readonly isAnonymous: boolean
  /** Whether its token has a scope of this service's: one of another service's, or one that names nobody, is none. */
  readonly hasRights: boolean
  /** Of a token. */
  readonly sub?: string
}

/** The refusal of what a reader may not see: a token is required, or another scope. */
export const refusedTo = ({ isAnonymous }: Reader, deps: Protected): ErrorAnswer =>
  isAnonymous ? invalidToken(undefined, deps) : errorAnswer('insufficient_scope')

/** The reader of a request. Undefined if its token is refused, in which case the 401 has been sent. */
export async function findReader(
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  deps: BearerCheckDeps,
): Promise<Reader | undefined> {
  const { authorization } = exchange.request.headers
  if (authorization === undefined)
    return { visible: [EVERY_SPEAKABLE], readable: [], isAnonymous: true, hasRights: false }
  const check = await checkBearer(authorization, deps)
  if (check.kind === 'refused') {
    sendError(exchange.reply, check.answer)
    return undefined
  }
  const { scopes, sub } = check.claims
  const readable = readReach(scopes)
  const internal = readable.filter(({ audience }) => audience === 'assistant')
  const visible = isOfHousehold(scopes) ? readable : [EVERY_SPEAKABLE, ...internal]
  return { visible, readable, isAnonymous: false, hasRights: scopes.some(isCareScope), sub }
}
