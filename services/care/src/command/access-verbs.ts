import { randomUUID } from 'node:crypto'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from '@tallystick/jwt-lite'
import { BadUsage, type CommandVerb, EXIT, lifetimeOption } from '@tallystick/service-kit/command'
import { readAuditRows } from '../adapters/open-stores.ts'
import type { KeptAuditRow } from '../wire/write.ts'
import { commandConfig } from './command-config.ts'

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
    const rows = await readAuditRows(place, {
      limit: wholeNumber(call.text('limit'), '--limit') ?? ROWS_DEFAULT,
      ...(before === undefined ? {} : { before }),
    })
    const lineOf = call.has('json') ? (row: KeptAuditRow) => JSON.stringify(row) : rowLine
    for (const row of rows) call.terminal.print(lineOf(row))
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

const SCOPES = ['care.read.user', 'care.read.assistant', 'care.write']

/** `care token`: mints a development token (C20). */
export const tokenVerb: CommandVerb = {
  name: 'token',
  usage: '--sub NAME [--scope "SCOPE …"] [--lifetime-seconds N]',
  summary: 'mints a development token under TOKEN_SECRET; scopes default to care.read.user',
  options: { sub: 'text', scope: 'text', 'lifetime-seconds': 'text' },
  wordsMax: 0,
  run: async (call) => {
    const config = commandConfig(call.terminal, ['TOKEN_SECRET', 'BASE_URL', 'SERVICE_NAME'])
    const sub = call.text('sub')
    if (sub === undefined || sub === '') throw new BadUsage('Say who the token is for: --sub NAME.')
    const scope = call.text('scope') ?? 'care.read.user'
    const unknown = scope.split(' ').find((one) => !SCOPES.includes(one))
    if (unknown !== undefined)
      throw new BadUsage(`--scope takes scopes separated by single spaces: ${SCOPES.join(', ')}.`)
    const token = mintToken({
      sub,
      scope,
      audience: `${config.BASE_URL}/mcp`,
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
