/**
 * Every literal `error` of this service's own routes, with its status and meaning; JSON-RPC errors are in
 * mcp/edges/json-rpc.ts. Failing dependencies become answers only here.
 */
import type { TokenFailure } from '@tallystick/jwt-lite'
import { type ErrorAnswer, errorAnswers } from '@tallystick/service-kit'
import { ChainKeyLost, RecordStoreUnavailable, StoreBehind } from './domain/record-store.ts'
import { CARE_SCOPES } from './domain/scopes.ts'
import { advertisedName } from './domain/trusted-issuer.ts'

/** Seconds to wait before retrying after a failing store or a full queue. */
const RETRY_SECONDS = 5

export const careErrors = {
  unauthorized: {
    status: 401,
    meaning:
      'The write was refused. Only the audit trail says which rule it broke, never the answer.',
  },
  beyond_journal: {
    status: 400,
    meaning: 'The journal does not have that many entries: it has `size`.',
  },
  invalid_token: {
    status: 401,
    meaning: '`error_description` says why the token is refused, or that one is required.',
  },
  insufficient_scope: { status: 403, meaning: 'The token is valid but lacks the scope for this.' },
  not_found: {
    status: 404,
    meaning: 'There is nothing here, or nothing that the caller may know of: both look alike.',
  },
  method_not_allowed: { status: 405, meaning: 'The path supports other methods: see `Allow`.' },
  conflict: {
    status: 409,
    meaning:
      'The chain belongs to the other audience, or one of before stands under another spelling of its names.',
  },
  version_conflict: {
    status: 409,
    meaning:
      'Somebody was faster: the record is at `version`, not at the `expectedVersion`. Nothing was written; read it again.',
  },
  nothing_to_withdraw: {
    status: 409,
    meaning: 'There is no such record, so nothing was withdrawn. Look at its names and audience.',
  },
  erased: { status: 409, meaning: 'The record was erased, and takes no further version.' },
  internal_error: {
    status: 500,
    meaning: 'A fault in the service; the request id leads to its log.',
  },
  busy: {
    status: 503,
    meaning: 'Too many replays are already waiting.',
    retryAfterSeconds: RETRY_SECONDS,
  },
  issuer_unavailable: {
    status: 503,
    meaning: 'The keys of the token’s issuer cannot be fetched. Send the same token again.',
    retryAfterSeconds: RETRY_SECONDS,
  },
  chain_key_lost: {
    status: 503,
    meaning:
      'The key that this record is sealed under is lost: it takes no further version until the operator restores the key. Nothing was written; other records are not affected.',
    retryAfterSeconds: RETRY_SECONDS,
  },
  store_behind: {
    status: 503,
    meaning:
      'The store was put back: witnesses, or its own last checkpoint, have seen records that it does not have. Nothing is read or written until the operator has brought them back or given them up; `message` says what is missing.',
    retryAfterSeconds: RETRY_SECONDS,
  },
  store_unavailable: {
    status: 503,
    meaning: 'The record store cannot be read or written. A write may be sent again unchanged.',
    retryAfterSeconds: RETRY_SECONDS,
  },
} as const

export const errorAnswer = errorAnswers(careErrors)

/** A 401 `invalid_token` with its challenge (care.md, Authentication 8); `failure` is undefined if there was no token. */
export function invalidToken(failure: TokenFailure | undefined, place: Protected): ErrorAnswer {
  const failed = failure === undefined ? '' : ', error="invalid_token"'
  const scopes = place.askFor ?? (failure === undefined ? undefined : (place.scopes ?? CARE_SCOPES))
  const detail = scopes === undefined ? '' : `, scope="${scopes.join(' ')}"`
  return errorAnswer('invalid_token', {
    details: { error_description: failure ?? 'bearer token required' },
    headers: { 'www-authenticate': `${bearerChallenge(place)}${failed}${detail}` },
  })
}

/** A 403 that names the sufficient scope, so that a host asks its user for that one only (C21). */
export function insufficientScope(scope: string, place: Protected): ErrorAnswer {
  const name = advertisedName(scope, place.askFor ?? [])
  const detail = `error="insufficient_scope", scope="${name}"`
  return errorAnswer('insufficient_scope', {
    headers: { 'www-authenticate': `${bearerChallenge(place)}, ${detail}` },
  })
}

/** Where a token is required. */
export type Protected = {
  readonly serviceName: string
  readonly metadataUrl: string
  /** The scopes that a 401 always names; without them it names all of them once a token failed. */
  readonly askFor?: readonly string[] | undefined
  /** All of them, as the issuers call them (C41). */
  readonly scopes?: readonly string[] | undefined
}

const bearerChallenge = ({ metadataUrl, serviceName }: Protected): string =>
  `Bearer realm="${serviceName}", resource_metadata="${metadataUrl}"`

/** The answer to a failed dependency; undefined for anything else, which is a bug. */
export function dependencyAnswer(error: unknown): ErrorAnswer | undefined {
  if (error instanceof Error && error.name === 'IssuerUnavailable')
    return errorAnswer('issuer_unavailable')
  if (error instanceof ChainKeyLost)
    return errorAnswer('chain_key_lost', {
      details: { message: careErrors.chain_key_lost.meaning },
    })
  if (error instanceof StoreBehind)
    return errorAnswer('store_behind', { details: { message: error.message } })
  return error instanceof RecordStoreUnavailable ? errorAnswer('store_unavailable') : undefined
}
