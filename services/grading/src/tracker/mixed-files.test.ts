/** Ten thousand rows in the common headers, three in ten of which nobody can grade: what the free look makes of each. */
import { parseOdds } from '@tallystick/odds'
import { manualClock } from '@tallystick/service-kit'
import { beforeAll, describe, expect, test } from 'vitest'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { normaliseManualUpload } from '../ingest/manual-upload.ts'
import { createLongWork } from '../long-work/do-long-work.ts'
import { createCoverageLook } from '../routes/coverage-route.ts'
import { createRandomSource } from '../seed/synthetic-market.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { drawFile, type MixedFile } from '../testing/mixed-files.fixture.ts'
import { FORMS } from '../testing/mixed-forms.fixture.ts'
import { CLOSES, MATCHES, SERIES } from '../testing/mixed-matches.fixture.ts'
import type { PreviewAnswer, PreviewRow } from '../wire/coverage.ts'
import { uploadSchema } from '../wire/upload.ts'

const ROWS = 10_000
/** The most that one file may hold is 1,000. */
const FILES_PER_FORM = 2
const SEED = 20_261_128
/** Of the rows that can be graded. */
const GRADED_SHARE_MIN = 0.95

const upload = {
  events: [...MATCHES, ...SERIES].map(({ id, sport, league, home, away, startAtSeconds }) => ({
    event: id,
    league,
    home: home[0],
    away: away[0],
    starts_at: new Date(startAtSeconds * 1_000).toISOString(),
    closes: Object.entries(CLOSES[sport]).map(([market, odds]) => ({
      market,
      book: 'pinnacle',
      odds,
      captured_at: new Date((startAtSeconds - 300) * 1_000).toISOString(),
    })),
  })),
}

/** Past every match. */
const NOW_SECONDS = Date.parse('2026-07-01T00:00:00Z') / 1_000

async function createLook() {
  const { store, grader, clock } = createGraderFixture()
  clock.advanceMs(NOW_SECONDS * 1_000 - clock.unixMs())
  const account = await ingestPayload({
    store,
    raw: Buffer.from(JSON.stringify(upload)),
    receivedAtSeconds: NOW_SECONDS,
    read: () => [normaliseManualUpload(uploadSchema.parse(upload), NOW_SECONDS)],
  })
  if (account.refused !== 0) throw new Error('a match of the test was refused')
  const coverage = createCoverageLook({
    store,
    longWork: createLongWork({ slates: grader, store, cpuMs: () => 0 }),
    clock: manualClock(0),
    cpuMs: () => 0,
  })
  return async (csv: string, address: string): Promise<PreviewAnswer> => {
    const look = await coverage.look({ csv, date_order: undefined }, { address, bytes: csv.length })
    if (look.kind !== 'answered') throw new Error(JSON.stringify(look))
    return JSON.parse(look.json)
  }
}

type Seen = {
  readonly form: string
  readonly right: MixedFile['rights'][number]
  readonly row: PreviewRow
}

const priceIn = (row: PreviewRow): number => {
  const odds = parseOdds(String(row.send?.['odds']))
  return odds.kind === 'odds' ? odds.decimal : Number.NaN
}

const isGradedRightly = ({ right, row }: Seen): boolean =>
  right.kind === 'graded' &&
  row.market === right.market &&
  row.selection === right.selection &&
  Math.abs(priceIn(row) - right.price) < 0.006

const briefly = ({ form, right, row }: Seen): string =>
  `${form} · ${row.written} → ${row.status} ${row.market ?? ''} ${row.selection ?? ''} ${JSON.stringify(row.reason?.code ?? row.issues ?? '')} · right: ${JSON.stringify(right)}`

describe(`${ROWS} rows of ${FORMS.length} headers`, () => {
  const seen: Seen[] = []

  beforeAll(async () => {
    const look = await createLook()
    const chance = createRandomSource(SEED)
    for (const form of FORMS)
      for (let file = 0; file < FILES_PER_FORM; file += 1) {
        const rowCount = Math.ceil(ROWS / FORMS.length / FILES_PER_FORM)
        const { csv, rights } = drawFile(form, rowCount, chance)
        const { rows } = await look(csv, `${form.name} ${file}`)
        if (rows.length !== rights.length) throw new Error('a row of the file has no answer')
        rows.forEach((row, place) => {
          const right = rights[place]
          if (right !== undefined) seen.push({ form: form.name, right, row })
        })
      }
  })

  test('G19, G20, G21: no row is graded as another bet than it is', () => {
    const wrong = seen.filter((each) => each.row.status === 'gradable' && !isGradedRightly(each))
    expect(wrong.map(briefly)).toEqual([])
  })

  test('at least 95 in 100 of the rows that can be graded are', () => {
    const gradable = seen.filter(({ right }) => right.kind === 'graded' && !right.mayAsk)
    // A repeated row is the pick of its twin.
    const missed = gradable.filter(({ row }) => !['gradable', 'repeated'].includes(row.status))
    expect(
      missed.length / gradable.length,
      missed.slice(0, 20).map(briefly).join('\n'),
    ).toBeLessThanOrEqual(1 - GRADED_SHARE_MIN)
  })

  test('every other row is named before payment, with what is asked or why not', () => {
    const others = seen.filter(({ row }) => row.status !== 'gradable')
    const silent = others.filter(
      ({ row }) => row.cause === undefined || row.cause.kind === 'graded',
    )
    expect(silent.map(briefly)).toEqual([])
    expect(others.length).toBeGreaterThan(ROWS / 5)
  })
})
