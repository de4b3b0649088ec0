/** `GET /unheard`: corrections that nobody has heard within UNHEARD_MINUTES, and the webhook that tells the operator of one. */
import { z } from 'zod'
import { uriExample } from './examples.ts'

/** Never a value: the recipient reads the record. */
const unheardCorrection = z.object({
  uri: z.string().meta({ examples: [uriExample] }),
  version: z.int().min(2).describe('The newest correction.'),
  since: z.string().describe('ISO 8601 time of the first correction that nobody has heard.'),
})

export type UnheardCorrection = z.infer<typeof unheardCorrection>

export const unheardAnswer = z.object({
  minutes: z.int().describe('How long a correction goes unheard before it is listed here.'),
  corrections: z.array(unheardCorrection),
})

export type UnheardAnswer = z.infer<typeof unheardAnswer>

/** The body of the webhook, signed like a write. */
const unheardAlert = unheardCorrection.extend({
  type: z.literal('care.correction.unheard'),
  minutes: z.int(),
})

export type UnheardAlert = z.infer<typeof unheardAlert>
