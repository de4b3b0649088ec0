import { randomUUID } from 'node:crypto'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from '@tallystick/jwt-lite'
import { BadUsage, type CommandVerb, EXIT, lifetimeOption } from '@tallystick/service-kit/command'
import { MODERN_REVISION } from '@tallystick/service-kit/mcp'
import { readAuditRows } from '../adapters/audit-rows.ts'
import { listEventSubscriptions } from '../adapters/event-subscriptions.ts'
import { withSideRows } from '../adapters/open-stores.ts'
import { readReadRows } from '../adapters/read-trail.ts'
import { addRevocation, readRevocations } from '../adapters/revoked-tokens.ts'
import { MODERN_MCP_PATH } from '../routes/service-routes.ts'
import { chainUri, parseRecordUri } from '../wire/record-uri.ts'
import type { KeptAuditRow } from '../wire/write.ts'
import { commandConfig, lineOf } from './command-config.ts'

const ROWS_DEFAULT = 50

/** `care audit`: accepted and refused writes, newest first. */
export const auditVerb: CommandVerb = {
  name: 'audit',
  usage: '[--limit N] [--before SEQUENCE] [--json]',
  summary: 'lists accepted and refused writes, newest first',
  options: { limit: 'text', before: 'text', json: 'flag' },
  wordsMax: 0,
  run: async (call) => {
    const place = commandConfig(call.terminal, ['DATABASE_PATH', 'DATABASE_URL'])
    const before = wholeNumber(call.text('before'), '--before')
    const query = {
      limit: wholeNumber(call.text('limit'), '--limit') ?? ROWS_DEFAULT,
      ...(before === undefined ? {} : { before }),
    }
    const rows = await withSideRows(place, (side) => readAuditRows(side, query), 'read')
    const shown = call.has('json') ? (row: KeptAuditRow) => JSON.stringify(row) : rowLine
    for (const row of rows) call.terminal.print(shown(row))
    if (rows.length === 0 && !call.has('json')) call.terminal.print('There are no audit rows.')
    return EXIT.done
  },
}

function rowLine({ sequence, at, outcome, reason, via, actor, uri }: KeptAuditRow): string {
  const who = `${via}  ${printable(actor ?? '-')}`
  return `${String(sequence).padStart(8)}  ${at}  ${outcome.padEnd(8)}  ${reason.padEnd(18)}  ${who}${uri === undefined ? '' : `  ${uri}`}`
}

/** Actors are outside text: control characters must not reach a terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, '?')

function wholeNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new BadUsage(`${name} takes a whole number above 0.`)
  return Number(text)
}

/** `care reads`: who read which record (READ_AUDIT), newest first. */
export const readsVerb: CommandVerb = {
  name: 'reads',
  usage: '[--uri URI] [--by SUB] [--limit N] [--before SEQUENCE] [--json]',
  summary: 'lists who read which record, newest first; READ_AUDIT=all keeps that',
  options: { uri: 'text', by: 'text', limit: 'text', before: 'text', json: 'flag' },
  wordsMax: 0,
  run: async (call) => {
    const place = commandConfig(call.terminal, ['DATABASE_PATH', 'DATABASE_URL'])
    const uri = call.text('uri')
    const slot = uri === undefined ? undefined : parseRecordUri(uri)?.slot
    if (uri !== undefined && slot === undefined)
      throw new BadUsage('--uri takes care://patient/domain or care-internal://patient/domain.')
    const query = {
      limit: wholeNumber(call.text('limit'), '--limit') ?? ROWS_DEFAULT,
      before: wholeNumber(call.text('before'), '--before'),
      chain: slot === undefined ? undefined : chainUri(slot),
      actor: call.text('by'),
    }
    const rows = await withSideRows(place, (side) => readReadRows(side, query))
    for (const row of rows) {
      const { sequence, at, actor, way, outcome } = row
      const facts = `${at}  ${outcome.padEnd(9)}  ${way.padEnd(14)}  ${printable(actor)}`
      call.terminal.print(
        call.has('json')
          ? JSON.stringify(row)
          : `${String(sequence).padStart(8)}  ${facts}  ${printable(row.uri)}`,
      )
    }
    if (rows.length === 0 && !call.has('json')) call.terminal.print('There are no rows of reads.')
    return EXIT.done
  },
}

/** `care events`: who is told of corrections by webhook. */
export const eventsVerb: CommandVerb = {
  name: 'events',
  usage: '[--json]',
  summary: 'lists who is told of corrections by webhook, and what does not arrive',
  options: { json: 'flag' },
  wordsMax: 0,
  run: async (call) => {
    const place = commandConfig(call.terminal, ['DATABASE_PATH', 'DATABASE_URL'])
    const rows = await withSideRows(place, listEventSubscriptions)
    for (const row of rows) {
      const { domain, expiresAt, failedSince, id, isActive, lastError, patient, sub } = row
      const state = isActive ? (failedSince === undefined ? 'active' : 'failing') : 'suspended'
      const trouble = failedSince === undefined ? '' : `  since ${failedSince}: ${lastError ?? ''}`
      const about = `${printable(sub)}  ${printable(patient)}/${printable(domain ?? '*')}`
      call.terminal.print(
        call.has('json')
          ? JSON.stringify(row)
          : `${state.padEnd(9)}  until ${expiresAt}  ${id}  ${about}${trouble}`,
      )
    }
    if (rows.length === 0 && !call.has('json'))
      call.terminal.print('Nobody is told of corrections by webhook.')
    return EXIT.done
  },
}

/** `care revoke`: a single token is refused from now on, within a second. */
export const revokeVerb: CommandVerb = {
  name: 'revoke',
  usage: 'JTI --by NAME --reason TEXT',
  summary: 'refuses the one token with that jti for good, within a second',
  options: { by: 'text', reason: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const { terminal, words } = call
    const jti = lineOf(words[0], 'JTI')
    const revocation = {
      jti,
      at: new Date(terminal.clock.unixMs()).toISOString(),
      actor: lineOf(call.text('by'), '--by'),
      reason: lineOf(call.text('reason'), '--reason'),
    }
    const place = commandConfig(terminal, ['DATABASE_PATH', 'DATABASE_URL'])
    await withSideRows(place, (rows) => addRevocation(rows, revocation))
    terminal.print(`The token ${jti} is revoked; running services refuse it within a second.`)
    return EXIT.done
  },
}

/** `care revocations`: the tokens that were revoked. */
export const revocationsVerb: CommandVerb = {
  name: 'revocations',
  usage: '',
  summary: 'lists the tokens that were revoked, by whom, when and why',
  options: {},
  wordsMax: 0,
  run: async ({ terminal }) => {
    const place = commandConfig(terminal, ['DATABASE_PATH', 'DATABASE_URL'])
    const revocations = await withSideRows(place, readRevocations)
    for (const { actor, at, jti, reason } of revocations)
      terminal.print(`${at}  ${jti}  by ${actor}: ${reason}`)
    if (revocations.length === 0) terminal.print('No token was revoked.')
    return EXIT.done
  },
}

const SCOPES = ['care.read.user', 'care.read.assistant', 'care.write']

/** `care token`: mints a development token (C20). */
export const tokenVerb: CommandVerb = {
  name: 'token',
  usage: '--sub NAME [--scope "SCOPE …"] [--lifetime-seconds N] [--revision 2026-07-28]',
  summary: 'mints a development token under TOKEN_SECRET; scopes default to care.read.user',
  options: { sub: 'text', scope: 'text', 'lifetime-seconds': 'text', revision: 'text' },
  wordsMax: 0,
  run: async (call) => {
    const config = commandConfig(call.terminal, ['TOKEN_SECRET', 'BASE_URL', 'SERVICE_NAME'])
    const sub = call.text('sub')
    if (sub === undefined || sub === '') throw new BadUsage('Say who the token is for: --sub NAME.')
    const scope = call.text('scope') ?? 'care.read.user'
    if (!scope.split(' ').every((one) => SCOPES.includes(one.replace(/:[^:\s]+$/, ''))))
      throw new BadUsage(
        `--scope takes scopes separated by single spaces: ${SCOPES.join(', ')}, each for all patients or, with :<patient> behind it, for one.`,
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
