import { randomUUID } from 'node:crypto'
import { DEFAULT_LIFETIME_SECONDS, mintToken } from '@tallystick/jwt-lite'
import { BadUsage, type CommandVerb, EXIT, lifetimeOption } from '@tallystick/service-kit/command'
import { commandConfig } from './command-config.ts'

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
