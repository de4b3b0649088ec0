/**
 * `GET /unheard`: corrections that nobody has heard within UNHEARD_MINUTES, the sessions that would not hear one now (C36), and
 * the webhook that tells the operator of a correction.
 */
import { z } from 'zod'
import { uriExample } from './examples.ts'

/** Never a value: the recipient reads the record. */
const unheardCorrection = z.object({
  uri: z.string().meta({ examples: [uriExample] }),
  version: z.int().min(2).describe('The newest correction.'),
  since: z.string().describe('ISO 8601 time of the first correction that nobody has heard.'),
  language: z
    .string()
    .optional()
    .describe('BCP 47 tag of the record’s sentence; absent if nobody has said it.'),
})

export type UnheardCorrection = z.infer<typeof unheardCorrection>

const silentSession = z.object({
  sub: z.string().describe('Whose session it is.'),
  label: z
    .string()
    .optional()
    .describe('Whose name is shown for it, where the service decides (BEARER_AUTHOR=sub).'),
  since: z.string().describe('ISO 8601 time since when it has had no event stream.'),
  records: z.int().min(1).describe('How many records it follows.'),
  uris: z.array(z.string()).describe('The first of them.'),
})

export type SilentSession = z.infer<typeof silentSession>

export const unheardAnswer = z.object({
  minutes: z.int().describe('How long a correction goes unheard before it is listed here.'),
  corrections: z.array(unheardCorrection),
  silentSeconds: z.int().describe('How long a session has no event stream before it is silent.'),
  silent: z
    .array(silentSession)
    .describe(
      'Sessions that follow records which the token may write, and have no event stream: the longest silent first, at most 100.',
    ),
})

export type UnheardAnswer = z.infer<typeof unheardAnswer>

/** The body of the webhook, signed like a write. */
const unheardAlert = unheardCorrection.extend({
  type: z.literal('care.correction.unheard'),
  minutes: z.int(),
})

export type UnheardAlert = z.infer<typeof unheardAlert>
