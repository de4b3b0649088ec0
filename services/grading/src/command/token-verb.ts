import { randomUUID } from 'node:crypto'
import {
  DEFAULT_LIFETIME_SECONDS,
  mintToken,
  parseTokenKeys,
  type TokenKeys,
} from '@tallystick/jwt-lite'
import { secretField } from '@tallystick/service-kit'
import {
  BadUsage,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  lifetimeOption,
  readVariables,
} from '@tallystick/service-kit/command'
import { z } from 'zod'
import { GRADING_TOKEN_TYPE, GRADING_WRITE_SCOPE } from '../routes/upload-route.ts'
import { readStoreConfig } from './command-store.ts'

function tokenKeys(terminal: CommandTerminal): TokenKeys {
  const { TOKEN_SECRET } = readVariables(terminal, z.object({ TOKEN_SECRET: secretField() }))
  const parsed = parseTokenKeys(TOKEN_SECRET.reveal())
  if (parsed.kind === 'keys') return parsed.keys
  throw new BadUsage(`TOKEN_SECRET: ${parsed.problem}.`)
}

export const tokenVerb: CommandVerb = {
  name: 'token',
  usage: '--sub NAME [--lifetime-seconds N]',
  summary: 'mints a token for uploads (scope grading.write) under TOKEN_SECRET',
  example: 'token --sub uploads --lifetime-seconds 3600',
  options: { sub: 'text', 'lifetime-seconds': 'text' },
  run: async (call) => {
    const sub = call.text('sub')
    if (sub === undefined || sub === '') throw new BadUsage('Say who the token is for: --sub NAME.')
    const token = mintToken({
      sub,
      scope: GRADING_WRITE_SCOPE,
      audience: readStoreConfig(call.terminal).BASE_URL,
      typ: GRADING_TOKEN_TYPE,
      lifetimeSeconds: lifetimeOption(call, DEFAULT_LIFETIME_SECONDS),
      key: tokenKeys(call.terminal),
      nowSeconds: call.terminal.clock.unixMs() / 1_000,
      jti: randomUUID(),
    })
    call.terminal.print(token)
    return EXIT.done
  },
}
