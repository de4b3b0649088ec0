import { randomUUID } from 'node:crypto'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from '@tallystick/jwt-lite'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  lifetimeOption,
} from '@tallystick/service-kit/command'
import { MODERN_REVISION } from '@tallystick/service-kit/mcp'
import { readAuditRows } from '../adapters/audit-rows.ts'
import { listEventSubscriptions } from '../adapters/event-subscriptions.ts'
import { withSideRows } from '../adapters/open-stores.ts'
import { readReadRows } from '../adapters/read-trail.ts'
import { addRevocation, readRevocations } from '../adapters/revoked-tokens.ts'
import { CARE_SCOPES, isCareScope } from '../domain/care-record.ts'
import { MODERN_MCP_PATH } from '../routes/service-routes.ts'
import { chainUri } from '../wire/record-uri.ts'
import { commandConfig, lineOf, listVerb, slotOption, storePlace } from './command-config.ts'

const ROWS_DEFAULT = 50

/** Which rows a verb lists. Throws BadUsage. */
const pageOf = (call: CommandCall) => ({
  limit: wholeNumber(call.text('limit'), '--limit') ?? ROWS_DEFAULT,
  before: wholeNumber(call.text('before'), '--before'),
})

function wholeNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new BadUsage(`${name} takes a whole number above 0.`)
  return Number(text)
}

/** Actors are outside text: control characters must not reach a terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, '?')

export const auditVerb = listVerb({
  name: 'audit',
  usage: '[--limit N] [--before SEQUENCE] [--json]',
  summary: 'lists accepted and refused writes, newest first',
  options: { limit: 'text', before: 'text', json: 'flag' },
  none: 'There are no audit rows.',
  read: async (call) => {
    const page = pageOf(call)
    return withSideRows(storePlace(call), (side) => readAuditRows(side, page), 'read')
  },
  line: ({ sequence, at, outcome, reason, via, actor, uri }) => {
    const who = `${via}  ${printable(actor ?? '-')}`
    return `${String(sequence).padStart(8)}  ${at}  ${outcome.padEnd(8)}  ${reason.padEnd(18)}  ${who}${uri === undefined ? '' : `  ${uri}`}`
  },
})

export const readsVerb = listVerb({
  name: 'reads',
  usage: '[--uri URI] [--by SUB] [--limit N] [--before SEQUENCE] [--json]',
  summary: 'lists who read which record, newest first; READ_AUDIT=all keeps that',
  options: { uri: 'text', by: 'text', limit: 'text', before: 'text', json: 'flag' },
  none: 'There are no rows of reads.',
  read: async (call) => {
    const slot = slotOption(call)
    const chain = slot && chainUri(slot)
    const query = { ...pageOf(call), chain, actor: call.text('by') }
    return withSideRows(storePlace(call), (side) => readReadRows(side, query))
  },
  line: ({ sequence, at, actor, way, outcome, uri }) => {
    const facts = `${at}  ${outcome.padEnd(9)}  ${way.padEnd(14)}  ${printable(actor)}`
    return `${String(sequence).padStart(8)}  ${facts}  ${printable(uri)}`
  },
})

export const eventsVerb = listVerb({
  name: 'events',
  usage: '[--json]',
  summary: 'lists who is told of corrections by webhook, and what does not arrive',
  options: { json: 'flag' },
  none: 'Nobody is told of corrections by webhook.',
  read: (call) => withSideRows(storePlace(call), listEventSubscriptions),
  line: ({ domain, expiresAt, failedSince, id, isActive, lastError, patient, sub }) => {
    const state = isActive ? (failedSince === undefined ? 'active' : 'failing') : 'suspended'
    const trouble = failedSince === undefined ? '' : `  since ${failedSince}: ${lastError ?? ''}`
    const about = `${printable(sub)}  ${printable(patient)}/${printable(domain ?? '*')}`
    return `${state.padEnd(9)}  until ${expiresAt}  ${id}  ${about}${trouble}`
  },
})

/** `care revoke`: a single token is refused from now on, within a second. */
export const revokeVerb: CommandVerb = {
  name: 'revoke',
  usage: 'JTI --by NAME --reason TEXT',
  summary: 'refuses the one token with that jti for good, within a second',
  options: { by: 'text', reason: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const { terminal } = call
    const jti = lineOf(call.words[0], 'JTI')
    const revocation = {
      jti,
      at: new Date(terminal.clock.unixMs()).toISOString(),
      actor: lineOf(call.text('by'), '--by'),
      reason: lineOf(call.text('reason'), '--reason'),
    }
    await withSideRows(storePlace(call), (rows) => addRevocation(rows, revocation))
    terminal.print(`The token ${jti} is revoked; running services refuse it within a second.`)
    return EXIT.done
  },
}

export const revocationsVerb = listVerb({
  name: 'revocations',
  summary: 'lists the tokens that were revoked, by whom, when and why',
  none: 'No token was revoked.',
  read: (call) => withSideRows(storePlace(call), readRevocations),
  line: ({ actor, at, jti, reason }) => `${at}  ${jti}  by ${actor}: ${reason}`,
})

/** `care token`: mints a development token (C20). */
export const tokenVerb: CommandVerb = {
  name: 'token',
  usage: '--sub NAME [--scope "SCOPE …"] [--lifetime-seconds N] [--revision 2026-07-28]',
  summary: 'mints a development token under TOKEN_SECRET; scopes default to care.read.user',
  options: { sub: 'text', scope: 'text', 'lifetime-seconds': 'text', revision: 'text' },
  run: async (call) => {
    const config = commandConfig(call.terminal, ['TOKEN_SECRET', 'BASE_URL', 'SERVICE_NAME'])
    const sub = call.text('sub')
    if (sub === undefined || sub === '') throw new BadUsage('Say who the token is for: --sub NAME.')
    const scope = call.text('scope') ?? 'care.read.user'
    if (!scope.split(' ').every(isCareScope))
      throw new BadUsage(
        `--scope takes scopes separated by single spaces: ${CARE_SCOPES.join(', ')}, each for all patients or, with :<patient> behind it, for one.`,
      )
    const revision = call.text('revision')
    if (revision !== undefined && revision !== MODERN_REVISION)
      throw new BadUsage(`--revision takes ${MODERN_REVISION}, whose path has tokens of its own.`)
    const path = revision === undefined ? '/mcp' : MODERN_MCP_PATH
    const token = mintToken({
      sub,
      scope,
      audience: `${config.BASE_URL}${path}`,
      typ: `${config.SERVICE_NAME}+jwt`,
      lifetimeSeconds: lifetimeOption(call, DEFAULT_LIFETIME_SECONDS),
      key: config.TOKEN_SECRET,
      nowSeconds: call.terminal.clock.unixMs() / 1_000,
      jti: randomUUID(),
    })
    call.terminal.print(token)
    return EXIT.done
  },
}
