/** The sample match in The Odds API's form. */
import { isoText } from '@tallystick/service-kit/clock'
import { START_SECONDS } from './samples.fixture.ts'

/** Its event's path in the ledger. */
export const FEED_PATH = 'soccer/epl.20260601.arsenal-chelsea'

/** A time this many seconds before the sample match starts. */
export const at = (secondsBeforeStart: number): string =>
  isoText(START_SECONDS - secondsBeforeStart)
/** A payload of the feed. */
export const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

export type MadeEvent = {
  readonly updated: number
  readonly home?: number
  readonly start?: number
  readonly markets?: readonly object[]
  readonly id?: string
}

/** An event in the API's form; its prices were last seen this many seconds before the start. */
export const makeEvent = ({
  updated,
  home = 2.05,
  start = START_SECONDS,
  markets,
  id,
}: MadeEvent) => ({
  id: id ?? 'e912304de2b2ce35b473ce2ecd3d1502',
  sport_key: 'soccer_epl',
  sport_title: 'EPL',
  commence_time: isoText(start),
  home_team: 'Arsenal',
  away_team: 'Chelsea',
  bookmakers: [
    {
      key: 'pinnacle',
      title: 'Pinnacle',
      last_update: at(updated),
      markets: markets ?? [
        {
          key: 'h2h',
          last_update: at(updated),
          outcomes: [
            { name: 'Arsenal', price: home },
            { name: 'Chelsea', price: 3.9 },
            { name: 'Draw', price: 3.55 },
          ],
        },
      ],
    },
  ],
})
