/** `care revoke`: refuses one token, or all of a principal's, within a second; fails if that is nothing (C51). */

import { buffer } from 'node:stream/consumers'
import { createTokenVerifier } from '@tallystick/jwt-lite'
import { isoNow } from '@tallystick/service-kit'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  type ExitCode,
} from '@tallystick/service-kit/command'
import { withSideRows } from '../adapters/open-stores.ts'
import { IssuerUnavailable } from '../adapters/outside/issuer-keys.ts'
import { createTrustedIssuers } from '../adapters/outside/trusted-issuers.ts'
import {
  addPrincipalRevocation,
  addRevocation,
  hasSeenPrincipal,
  hasSeenToken,
} from '../adapters/rows/revoked-tokens.ts'
import { MODERN_MCP_PATH } from '../routes/service-routes.ts'
import { commandConfig, requireLine, storePlace } from './command-config.ts'

/** What a command line names: a token's id or a principal, or why it is nothing. */
type Target =
  | { readonly kind: 'token'; readonly jti: string }
  | { readonly kind: 'principal'; readonly sub: string }
  | { readonly kind: 'nothing'; readonly why: string; readonly mayInsist?: Target | undefined }

const nothing = (why: string, mayInsist?: Target): Target => ({ kind: 'nothing', why, mayInsist })

/** That keys were not fetched is seen where they are needed. */
const ignore = (): void => undefined

/** A token's id, by its signature. */
async function readToken(call: CommandCall, token: string): Promise<Target> {
  const { clock } = call.terminal
  const config = commandConfig(call.terminal, ['TOKEN_SECRET', 'TRUSTED_ISSUERS', 'BASE_URL'])
  const issuers = config.TRUSTED_ISSUERS
  const withIssuers = createTrustedIssuers({ issuers, clock, onProblem: ignore })
  const verify = (path: string) => {
    const audience = `${config.BASE_URL}${path}`
    const ring = createTokenVerifier({ keys: config.TOKEN_SECRET, audience, clock })
    return withIssuers(ring, audience).verify(token)
  }
  try {
    const first = await verify('/mcp')
    const isElsewhere = first.kind === 'invalid' && first.failure === 'wrong_audience'
    const verdict = isElsewhere ? await verify(MODERN_MCP_PATH) : first
    if (verdict.kind === 'invalid')
      return nothing(`The token is refused already: ${verdict.failure}.`)
    const { jti, sub } = verdict.claims
    return jti === undefined
      ? nothing(`The token has no jti: revoke all of its principal’s with --sub '${sub}'.`)
      : { kind: 'token', jti }
  } catch (error) {
    if (!(error instanceof IssuerUnavailable)) throw error
    return nothing('Its issuer is away, so nobody can tell whose it is: give ISSUER|JTI.')
  }
}

async function readId(call: CommandCall, jti: string): Promise<Target> {
  const { TRUSTED_ISSUERS: trusted } = commandConfig(call.terminal, ['TRUSTED_ISSUERS'])
  const names = trusted.map(({ issuer }) => issuer)
  const token: Target = { kind: 'token', jti }
  const [issuer, ...rest] = jti.split('|')
  if (rest.length > 0)
    return names.includes(issuer ?? '')
      ? token
      : nothing(`That issuer is not trusted. Trusted: ${names.join(', ')}`, token)
  const isKnown =
    names.length === 0 || (await withSideRows(storePlace(call), (rows) => hasSeenToken(rows, jti)))
  if (isKnown) return token
  const why =
    'No token of that jti was seen. One of an issuer is ISSUER|JTI, and the token itself tells.'
  return nothing(why, token)
}

async function readPrincipal(call: CommandCall, sub: string): Promise<Target> {
  const principal: Target = { kind: 'principal', sub }
  const isKnown = await withSideRows(storePlace(call), (rows) => hasSeenPrincipal(rows, sub))
  if (isKnown) return principal
  // A host of 2026-07-28 that only reads leaves no row by default, and may have a token all the same.
  const why = `Nothing here names that principal: no session, write, event subscription or kept read.
A token may exist all the same. A principal of an issuer is ISSUER|SUB.`
  return nothing(why, principal)
}

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

async function readTarget(call: CommandCall): Promise<Target> {
  const sub = call.text('sub')
  const [word] = call.words
  if ((sub === undefined) === (word === undefined))
    throw new BadUsage('Say what is revoked: a token (- reads it), ISSUER|JTI, or --sub SUB.')
  if (sub !== undefined) return readPrincipal(call, requireLine(sub, '--sub'))
  const text = word === '-' ? (await buffer(call.terminal.stdin)).toString('utf8').trim() : word
  return COMPACT.test(text ?? '')
    ? readToken(call, text ?? '')
    : readId(call, requireLine(text, 'JTI'))
}

function fail(
  { terminal }: CommandCall,
  { why, mayInsist }: Extract<Target, { kind: 'nothing' }>,
): ExitCode {
  terminal.printError(why)
  if (mayInsist !== undefined) terminal.printError('With --unseen it is recorded all the same.')
  return EXIT.failed
}

async function revoke(call: CommandCall): Promise<ExitCode> {
  const { terminal } = call
  const deed = {
    at: isoNow(terminal.clock),
    actor: requireLine(call.text('by'), '--by'),
    reason: requireLine(call.text('reason'), '--reason'),
  }
  const found = await readTarget(call)
  const insisted = found.kind === 'nothing' && call.has('unseen') ? found.mayInsist : undefined
  const target = insisted ?? found
  if (target.kind === 'nothing') return fail(call, target)
  const what =
    target.kind === 'token' ? `The token ${target.jti}` : `Each token of ${target.sub} until now`
  await withSideRows(storePlace(call), (rows) =>
    target.kind === 'token'
      ? addRevocation(rows, { ...deed, jti: target.jti })
      : addPrincipalRevocation(rows, { ...deed, sub: target.sub }),
  )
  terminal.print(`${what} is revoked; running services refuse it within a second.`)
  return EXIT.done
}

export const revokeVerb: CommandVerb = {
  name: 'revoke',
  usage: '(TOKEN | - | ISSUER|JTI | JTI | --sub SUB) --by NAME --reason TEXT [--unseen]',
  summary: 'refuses a token, or all of a principal until now, for good, within a second',
  example: 'revoke --sub echo-kitchen --by dr-osei --reason "lost device"',
  options: { by: 'text', reason: 'text', sub: 'text', unseen: 'flag' },
  wordsMax: 1,
  run: revoke,
}
