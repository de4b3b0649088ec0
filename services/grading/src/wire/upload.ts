/** What `/api/ingest` takes and answers: closes, prices and results of any market, including corrections and voids. */

import { isoSeconds } from '@tallystick/service-kit/clock'
import { z } from 'zod'
import { uploadExample } from './examples.ts'
import { isOwnFeed } from './own-feeds.ts'
import { PERIOD } from './period.ts'

/** Most events in one upload; more need several uploads. */
const UPLOAD_EVENTS_MAX = 1_000

const isoTime = z.string().refine((text) => isoSeconds(text) !== undefined, 'an ISO 8601 time')

const pricesSchema = z.strictObject({
  market: z.string().max(200).describe('Within its event: 1x2/ft, ah/ft/-0.75, total/ft/2.5.'),
  book: z.string().regex(/^[a-z0-9_]{1,40}$/),
  odds: z.record(z.string().max(80), z.union([z.string(), z.number()])),
  is_whole: z.boolean().optional().describe('Every selection of the market is listed.'),
  captured_at: isoTime.optional(),
})

const resultSchema = z.union([
  z.strictObject({ result: z.enum(['won', 'half_won', 'push', 'half_lost', 'lost', 'void']) }),
  z
    .strictObject({
      result: z.literal('dead_heat'),
      places: z.int().positive().max(1_000),
      tied: z.int().min(2).max(1_000),
    })
    .refine(({ places, tied }) => tied > places, 'more tied selections than places'),
])

/** How a selection was settled if no score says it; `tied` selections share `places` paid places. */
export type SelectionResult = z.output<typeof resultSchema>

const goals = z.int().min(0).max(999)

const outcomeSchema = z.strictObject({
  period: z.string().regex(PERIOD).default('ft'),
  status: z.enum(['final', 'void', 'withdrawn']),
  score: z.strictObject({ home: goals, away: goals }).optional(),
  results: z.record(z.string().max(200), z.record(z.string().max(80), resultSchema)).optional(),
})

/** Who plays and when, of an event that an operator names. */
export const namedEvent = {
  event: z
    .string()
    .regex(/^[a-z0-9_-]{1,40}\/[\p{Ll}\p{Lo}\p{N}][\p{Ll}\p{Lo}\p{N}._-]{0,119}$/u)
    .describe('sport/id, such as soccer/epl.20240423.ars-che.'),
  league: z.string().min(1).max(80),
  home: z.string().min(1).max(80),
  away: z.string().min(1).max(80),
  starts_at: isoTime,
}

const eventSchema = z.strictObject({
  ...namedEvent,
  snapshots: z.array(pricesSchema).max(1_000).default([]),
  closes: z.array(pricesSchema).max(1_000).default([]),
  close_status: z.enum(['provisional', 'final', 'void']).default('final'),
  outcomes: z.array(outcomeSchema).max(20).default([]),
})

/** The prefix of all synthetic ids, and of no others: synthetic results never reach a real event. */
const SYNTHETIC_ID = /^[^/]+\/synthetic/

export const uploadSchema = z
  .strictObject({
    source: z
      .string()
      .regex(/^[a-z0-9_-]{1,40}$/)
      // An upload under a feed's name would replace what that feed said.
      .refine((name) => !isOwnFeed(name), 'a name that is no feed of the service')
      .default('manual'),
    redistributable: z.boolean().default(false),
    synthetic: z
      .boolean()
      .default(false)
      .describe('Synthetic, for trying the service out; shown as such.'),
    events: z.array(eventSchema).min(1).max(UPLOAD_EVENTS_MAX),
  })
  .superRefine(({ synthetic, events }, context) => {
    const wrong = events.findIndex(({ event }) => SYNTHETIC_ID.test(event) !== synthetic)
    if (wrong === -1) return
    const message = synthetic
      ? 'an id that begins with synthetic, as the upload is'
      : 'an id that does not begin with synthetic, as the upload is not'
    context.addIssue({ code: 'custom', path: ['events', wrong, 'event'], message })
  })
  .meta({ id: 'Upload', examples: [uploadExample] })

export type Upload = z.output<typeof uploadSchema>

export const uploadAnswerSchema = z
  .object({
    repeated: z.boolean().describe('These bytes were ingested before: nothing was read.'),
    raw_sha256: z.string(),
    events: z.int().describe('New events.'),
    snapshots: z.int().describe('New entries of prices before the close, one for an event.'),
    closes: z.int().describe('New entries of closes, one for an event.'),
    outcomes: z.int().describe('New entries of results, one for an event.'),
    superseded: z.int().describe('Closes and results that replaced earlier ones.'),
    unchanged: z.int(),
    missing_prices: z.int(),
    refused: z.int(),
    refusals: z.array(z.object({ reason: z.string(), place: z.string(), detail: z.string() })),
    alike: z
      .array(z.object({ event: z.string(), like: z.array(z.string()).readonly() }))
      .readonly()
      .describe('Events that may be one match with another source’s, and were not joined with it.'),
  })
  .meta({ id: 'UploadAccount' })
export type UploadAnswer = z.output<typeof uploadAnswerSchema>
