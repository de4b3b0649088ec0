import { randomUUID } from 'node:crypto'
import {
  DEFAULT_LIFETIME_SECONDS,
  mintToken,
  parseTokenKeys,
  type TokenKeys,
} from '@tallystick/jwt-lite'
import { configMessage, readConfig, secretField } from '@tallystick/service-kit'
import { z } from 'zod'
import { GRADING_TOKEN_TYPE, GRADING_WRITE_SCOPE } from '../upload-token.ts'
import { readStoreConfig } from './command-store.ts'
import { BadUsage, EXIT, type GradingTerminal, type GradingVerb } from './grading-verb.ts'

const LIFETIME_SECONDS_MAX = 365 * 86_400

function tokenKeys({ environment }: GradingTerminal): TokenKeys {
  const reading = readConfig(z.object({ TOKEN_SECRET: secretField() }), environment)
  if (reading.kind === 'invalid') throw new BadUsage(configMessage(reading.problems))
  const parsed = parseTokenKeys(reading.config.TOKEN_SECRET.reveal())
  if (parsed.kind === 'keys') return parsed.keys
  throw new BadUsage(`TOKEN_SECRET: ${parsed.problem}.`)
}

function lifetimeOf(text: string | undefined): number {
  const seconds = text === undefined ? DEFAULT_LIFETIME_SECONDS : Number(text)
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > LIFETIME_SECONDS_MAX)
    throw new BadUsage('--lifetime-seconds takes a whole number, at most a year.')
  return seconds
}

/** `grading token`: mints a token for uploads. */
export const tokenVerb: GradingVerb = {
  name: 'token',
  usage: '--sub NAME [--lifetime-seconds N]',
  summary: 'mints a token for uploads (scope grading.write) under TOKEN_SECRET',
  options: { sub: 'text', 'lifetime-seconds': 'text' },
  wordsMax: 0,
  run: async (call) => {
    const sub = call.text('sub')
    if (sub === undefined || sub === '') throw new BadUsage('Say who the token is for: --sub NAME.')
    const token = mintToken({
      sub,
      scope: GRADING_WRITE_SCOPE,
      audience: readStoreConfig(call.terminal).BASE_URL,
      typ: GRADING_TOKEN_TYPE,
      lifetimeSeconds: lifetimeOf(call.text('lifetime-seconds')),
      key: tokenKeys(call.terminal),
      nowSeconds: call.terminal.clock.unixMs() / 1_000,
      jti: randomUUID(),
    })
    call.terminal.print(token)
    return EXIT.done
  },
}
