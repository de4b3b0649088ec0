/** The requests of the paid routes. Messages say what was expected. */

import { isoSeconds } from '@tallystick/service-kit/clock'
import { z } from 'zod'
import { methodSchema } from './cards.ts'
import { auditExample, gradeExample } from './examples.ts'

/** The longest key: sport, event, type, period, line and participant at their own limits. */
export const MARKET_CHARACTERS_MAX = 350
const NAME_CHARACTERS_MAX = 120
const REF_CHARACTERS_MAX = 80
/** Longer than `1.0000000000000001` and any other price with spaces around it; parseOdds reads no more. */
const ODDS_CHARACTERS_MAX = 40
const FIELD_SIZE_MAX = 1_000
/** A winner keeps at least a twentieth of its profit under every deduction table. */
const FRACTION_MAX = 0.95
/** Big handicaps pay six places, promotions up to ten. */
const PLACES_MAX = 10
const PLACE_FRACTION_MIN = 1 / 20
/** Bookmakers take up to some twenty legs. */
export const LEGS_MAX = 20

/** Text that a person wrote and a page will show: no control characters, no lone surrogates. */
export const shownText = (
  charactersMax: number,
  expected = `a text of 1 to ${charactersMax} characters`,
) =>
  z
    .string(expected)
    .regex(/^\P{C}+$/u, expected)
    .max(charactersMax, expected)

const name = (expected: string) => shownText(NAME_CHARACTERS_MAX, expected)

const wholeNumber = (max: number, expected = `a whole number from 1 to ${max}`) =>
  z.int(expected).min(1, expected).max(max, expected)

const choiceSchema = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, `one of ${values.join(', ')}`)

const marketParts = z.strictObject(
  {
    sport: name('a sport such as soccer'),
    event: name('an event id such as epl.20240423.ars-che, or team names'),
    type: name('a market type such as 1x2'),
    period: name('a period such as ft, h1 or q2').optional(),
    participant: name('a name in lower case with dashes').optional(),
  },
  'a market key, or an object with sport, event and type',
)

const marketText = 'a market key: sport/event/type/period[/line][@participant], or its parts'
const market = z.union(
  [z.string().min(1, marketText).max(MARKET_CHARACTERS_MAX, marketText), marketParts],
  marketText,
)

const oddsText = 'decimal odds above 1 as a number or text, or "6/5", or "-110"'
const timeText = 'an ISO 8601 time with its zone, such as 2026-06-01T18:00:00Z'

const dateText = 'a day such as 2026-06-01'
export const dayText = () =>
  z
    .string(dateText)
    .refine((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isoSeconds(text) !== undefined, dateText)

const startText =
  'an ISO 8601 time such as 2026-06-01T18:00:00Z, or 2026-06-01T18:00 if its zone is not known'

/** A start with its zone or without: then it is read as UTC. Undefined if it is no time. */
export function readStart(text: string) {
  const clock = /T\d{2}:\d{2}/.test(text)
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text)
  const atSeconds = isoSeconds(hasZone ? text : `${text}Z`)
  return atSeconds === undefined || !clock ? undefined : { atSeconds, hasZone }
}

const fractionText = 'a fraction from 0 to 0.95'
const fraction = () =>
  z.number(fractionText).min(0, fractionText).max(FRACTION_MAX, fractionText).optional()

const shareText = 'the place fraction as 1/5 or 0.2, from 1/20 to 1'

const eachWaySchema = z
  .strictObject(
    {
      places: wholeNumber(PLACES_MAX).describe('Places that the bet pays.'),
      fraction: z
        .union([z.string(shareText).max(8, shareText), z.number(shareText)], shareText)
        .refine((share) => placeFraction(share) !== undefined, shareText)
        .describe('Share of the odds that a place pays, "1/5" or 0.2.'),
    },
    'an object with places and fraction',
  )
  .meta({ id: 'EachWay' })

/** A place fraction as a number: `1/5` is 0.2; undefined if it is not one from 1/20 to 1. */
export function placeFraction(share: string | number): number | undefined {
  const [, numerator = '', other = ''] = /^(\d{1,2})\/(\d{1,2})$/.exec(String(share)) ?? []
  const value = numerator === '' ? Number(share) : Number(numerator) / Number(other)
  return value >= PLACE_FRACTION_MIN && value <= 1 ? value : undefined
}

/** What a bettor's own record says of a bet: compared with the ledger, never graded (G22). */
const ownRecord = {
  stake: z
    .number('a number above 0')
    .positive('a number above 0')
    .optional()
    .describe('Weighs an audit’s second, stake-weighted figures; the others are per unit staked.'),
  book: shownText(REF_CHARACTERS_MAX)
    .optional()
    .describe('Where the bet was placed: an audit shows its figures by book.'),
  result: choiceSchema(['won', 'lost', 'push', 'void', 'half_won', 'half_lost'])
    .optional()
    .describe('How your record says that it ended: an audit says where the ledger differs.'),
  profit: z
    .number('a number')
    .optional()
    .describe('What your record says that it earned: compared with stake, odds and result.'),
  closing_odds: z
    .union([z.number(oddsText), z.string(oddsText).max(ODDS_CHARACTERS_MAX, oddsText)], oddsText)
    .optional()
    .describe('The closing price in your record: compared with the recorded one.'),
}

const pickSchema = z
  .strictObject(
    {
      market: market.describe(
        'The market: its key, soccer/epl.20240423.ars-che/ah/ft/-0.75, or its parts; an event may be its teams, "Man Utd v Nottingham Forest", with date or placed_at.',
      ),
      selection: name('a selection such as home, draw, over or yes').describe(
        'What was backed: home, draw, away, over, under, yes, no, or a name.',
      ),
      line: z
        .number('a multiple of 0.25')
        .optional()
        .describe('Handicap of the home side, or the total, if the key does not have it.'),
      odds: z
        .union(
          [z.number(oddsText), z.string(oddsText).max(ODDS_CHARACTERS_MAX, oddsText)],
          oddsText,
        )
        .describe(
          'The price taken: 2.10, "2,10", "11/10", "EVEN", "+110" or "54¢". A bare 110 is asked about: write "+110" or "110.0".',
        ),
      confirmed: z
        .boolean('true or false')
        .optional()
        .describe(
          'true: this was the price. One far from any that was recorded is flagged price_far_from_recorded, and counts nowhere without it.',
        ),
      placed_at: z
        .string(timeText)
        .max(40, timeText)
        .optional()
        .describe(
          'When the bet was placed; a bet placed after the start is not graded. In a record a clock may lack its zone: by UTC and by the venue it must be before the start. A day alone is read from its beginning.',
        ),
      date: dayText().optional().describe('Day of the event: it narrows team names to one match.'),
      starts_at: z
        .string(startText)
        .max(40, startText)
        .refine((text) => readStart(text) !== undefined, startText)
        .optional()
        .describe(
          'Start of the event as your record has it, with its zone or without: of a series it names the game (G20).',
        ),
      league: shownText(REF_CHARACTERS_MAX)
        .optional()
        .describe('League of the event: a match of another league is never taken for it.'),
      either_order: z
        .boolean('true or false')
        .optional()
        .describe(
          'True if the record names the backed team and may write the away team first: a single reversed fixture is taken, and the card says so.',
        ),
      ...ownRecord,
      field_size: wholeNumber(FIELD_SIZE_MAX)
        .optional()
        .describe(
          'Runners when the bet was placed; if the close has another number, the pick is UNGRADED.',
        ),
      each_way: eachWaySchema
        .optional()
        .describe('Half of the stake to win and half to be placed, at these terms.'),
      rule4_deduction: fraction().describe(
        'Taken off the profit because of withdrawn runners, 0.2 for 20p in the pound.',
      ),
      reduction_factor: fraction().describe(
        'Taken off the whole price, as an exchange does in win markets after a withdrawal.',
      ),
      ref: shownText(REF_CHARACTERS_MAX).optional().describe('Your own mark, echoed on the card.'),
    },
    'an object with market, selection and odds',
  )
  .meta({ id: 'Pick' })

const legsText = `a list of 2 to ${LEGS_MAX} legs, each with market, selection and odds`

/** Several picks that must all win (G18); each leg has its own price, since a void leg leaves the others. */
const parlaySchema = z
  .strictObject(
    {
      legs: z
        .array(
          pickSchema.pick({
            market: true,
            selection: true,
            line: true,
            odds: true,
            confirmed: true,
            date: true,
            starts_at: true,
            league: true,
            either_order: true,
          }),
          legsText,
        )
        .min(2, legsText)
        .max(LEGS_MAX, legsText)
        .describe('Picks of different events that must all win; each with its own price.'),
      odds: pickSchema.shape.odds.describe('The price of the whole parlay.'),
      confirmed: pickSchema.shape.confirmed.describe(
        'true: this was the price, and so were those of its legs. One far from any that was recorded counts nowhere without it.',
      ),
      placed_at: pickSchema.shape.placed_at,
      ...ownRecord,
      ref: pickSchema.shape.ref,
    },
    'an object with legs and odds',
  )
  .meta({ id: 'Parlay' })

export const askedSchema = z.union(
  [pickSchema, parlaySchema],
  'an object with market, selection and odds',
)

const optionsSchema = z
  .strictObject(
    {
      reference: z
        .string('a book such as pinnacle')
        .regex(/^[a-z0-9_]{1,40}$/, 'a book such as pinnacle')
        .optional()
        .describe('The book whose close to grade against.'),
      method: choiceSchema(methodSchema.options)
        .optional()
        .describe('How the margin is removed from the close; power by default.'),
      basis: choiceSchema(['auto', 'fair', 'price'])
        .optional()
        .describe('auto: the fair close if there is one, otherwise the closing price alone.'),
      line_policy: z
        .literal('exact', 'exact')
        .optional()
        .describe('A pick is graded against the close of its own line only.'),
    },
    'an object with reference, method or basis',
  )
  .meta({ id: 'GradeOptions' })

/** 1,000 bets of 400 characters: twice a long row. */
const CSV_CHARACTERS_MAX = 400_000

/** Most picks in one audit; each leg of a parlay counts as one (G5). */
export const AUDIT_PICKS_MAX = 1_000

export const gradeSchema = z
  .strictObject({ pick: askedSchema, options: optionsSchema.optional() }, 'a JSON object with pick')
  .meta({ id: 'GradeRequest', examples: [gradeExample] })

const csvText = `a tracker's CSV file as text, up to ${CSV_CHARACTERS_MAX} characters`

/** Notations of prices that a file may have. */
export const ODDS_NOTATIONS = [
  'american',
  'decimal',
  'fractional',
  'hong_kong',
  'indonesian',
  'malay',
  'share',
] as const
export type OddsNotation = (typeof ODDS_NOTATIONS)[number]

/** A tracker's file instead of picks, and what its reader was asked about. */
export const trackerMembers = {
  csv: z
    .string(csvText)
    .min(1, csvText)
    .max(CSV_CHARACTERS_MAX, csvText)
    .optional()
    .describe(
      'A tracker’s export instead of picks; also sent by itself as text/csv. Columns are found by name.',
    ),
  odds_notation: choiceSchema(ODDS_NOTATIONS)
    .optional()
    .describe(
      'What unclear prices of the file are, such as a bare 110 or 0.54; hong_kong, indonesian, malay and fractional are said of all. Without it, and without a header or column that says so, they are asked about.',
    ),
  date_order: choiceSchema(['day_first', 'month_first'])
    .optional()
    .describe('How the file writes 03/04/2024, if no other of its dates shows it.'),
}

const picksText = `a list of 1 to ${AUDIT_PICKS_MAX} picks`

/** The picks of an audit, or of a look before it; `unknown` ones are read one by one afterwards. */
export const picksSchema = <Pick extends z.ZodType>(pick: Pick) =>
  z.array(pick, picksText).min(1, picksText).max(AUDIT_PICKS_MAX, picksText).optional()

/** An audit's request, except the contents of its picks. */
export const auditFrameSchema = z
  .strictObject(
    {
      picks: picksSchema(z.unknown()),
      ...trackerMembers,
      label: shownText(REF_CHARACTERS_MAX).optional().describe('Echoed on the audit.'),
      options: optionsSchema.optional(),
    },
    'a JSON object with picks',
  )
  .superRefine(({ picks, csv }, context) => {
    if ((picks === undefined) !== (csv === undefined)) return
    const message = picks === undefined ? picksText : 'either picks or csv'
    context.addIssue({ code: 'custom', path: ['picks'], message })
  })

/** As documented. */
export const auditSchema = auditFrameSchema
  .safeExtend({
    picks: picksSchema(askedSchema).describe(
      'Each only once: a second pick with the same market, selection, odds and time is a duplicate.',
    ),
  })
  .meta({ id: 'AuditRequest', examples: [auditExample] })

/** A tracker's file in a request. */
export type WireTracker = Pick<z.output<typeof auditSchema>, keyof typeof trackerMembers>
export type WireSingle = z.output<typeof pickSchema>
export type WireParlay = z.output<typeof parlaySchema>
export type WirePick = WireSingle | WireParlay
export type WireOptions = z.output<typeof optionsSchema>
