import { randomUUID } from 'node:crypto'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from '@tallystick/jwt-lite'
import { BadUsage, type CommandVerb, EXIT, lifetimeOption } from '@tallystick/service-kit/command'
import { MODERN_REVISION } from '@tallystick/service-kit/mcp'
import { withSideRows } from '../adapters/open-stores.ts'
import { readRevocations } from '../adapters/rows/revoked-tokens.ts'
import { principalIn } from '../domain/revocations.ts'
import { CARE_SCOPES, isCareScope } from '../domain/scopes.ts'
import { MODERN_MCP_PATH } from '../routes/service-routes.ts'
import { lineText } from '../wire/text-of-others.ts'
import { commandConfig, listVerb, storePlace } from './command-config.ts'

export const revocationsVerb = listVerb({
  name: 'revocations',
  summary: 'lists the tokens that were revoked, by whom, when and why',
  example: 'revocations --json',
  members: ['at', 'jti', 'actor', 'reason'],
  none: 'No token was revoked.',
  read: (call) => withSideRows(storePlace(call), readRevocations),
  line: ({ actor, at, jti, reason }) => {
    const sub = principalIn(jti)
    const what = sub === undefined ? lineText(jti) : `all of ${lineText(sub)}`
    return `${at}  ${what}  by ${lineText(actor)}: ${lineText(reason)}`
  },
})

/** `care token`: mints a development token (C20). */
export const tokenVerb: CommandVerb = {
  name: 'token',
  usage: '--sub NAME [--scope "SCOPE …"] [--lifetime-seconds N] [--revision 2026-07-28]',
  summary: 'mints a development token under TOKEN_SECRET; scopes default to care.read.user',
  example: 'token --sub echo-kitchen --scope care.read.user',
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
