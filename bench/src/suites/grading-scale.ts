// What grading costs at the size of years: how long it takes to start, how long one request holds the event loop, what a
// name costs, and what one event with very many picks or prices does to a read and a round. The imports are relative
// because the service exports none of these parts.

import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '@tallystick/service-kit'
import { isoDay } from '@tallystick/service-kit/clock'
import { openSqliteGradingStore } from '../../../services/grading/src/adapters/sqlite-grading-store.ts'
import { createSlateGrader } from '../../../services/grading/src/domain/audits/slate-grader.ts'
import type { GradingStore } from '../../../services/grading/src/domain/closes/grading-store.ts'
import type { LongWork } from '../../../services/grading/src/domain/grading/long-work.ts'
import type { PickRequest } from '../../../services/grading/src/domain/markets/pick-request.ts'
import { readFootballData } from '../../../services/grading/src/ingest/football-data.ts'
import { ingestPayload } from '../../../services/grading/src/ingest/ingest-payload.ts'
import { openLongWorker } from '../../../services/grading/src/long-work/long-worker.ts'
import {
  SYNTHETIC_FEED,
  syntheticFixtures,
} from '../../../services/grading/src/seed/synthetic-fixtures.ts'
import { type Figure, judgeFigure } from '../figure.ts'
import { cpuMs, largeEventFigures, makePick } from '../large-events.ts'
import { holdFigure, paidHoldFigures } from '../paid-holds.ts'
import { median } from '../quantile.ts'
import { watchHolds } from '../server/loop-holds.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Matches that are imported; the rest are copies of their rows under other names. */
const IMPORTED_ROWS = 15_000
const MATCHES = 500_000
/** By so much a copy lies before the one after it: more than the matches span, so that none has another's day. */
const COPY_SECONDS = 3 * 365 * 86_400
const PICKS = 1_000_000
const NOW_SECONDS = 1_780_000_000
const AUDIT_PICKS = 1_000
const STARTS = 5

const openStore = (databasePath: string): Promise<GradingStore> =>
  openSqliteGradingStore({
    databasePath,
    clock: systemClock,
    checkpointSeed: new Uint8Array(32).fill(7),
    origin: 'bench/ledger',
  })

async function importMatches(databasePath: string): Promise<void> {
  const store = await openStore(databasePath)
  const raw = Buffer.from(
    syntheticFixtures({ nowSeconds: NOW_SECONDS, pastMatches: IMPORTED_ROWS, comingMatches: 0 }),
  )
  await ingestPayload({
    store,
    raw,
    receivedAtSeconds: NOW_SECONDS,
    read: () => readFootballData(raw, SYNTHETIC_FEED),
  })
  await store.close()
}

const secondsToOpen = async (path: string): Promise<number> => {
  const began = performance.now()
  const store = await openStore(path)
  await store.counts()
  const seconds = (performance.now() - began) / 1_000
  await store.close()
  return seconds
}

const COUNTING = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)`

/** Fills the index of events and the picks: what a start and a look-up by name read. */
function fillTables(databasePath: string): void {
  const database = new DatabaseSync(databasePath)
  const { count, last } = database
    .prepare('SELECT count(*) AS count, max(id) AS last FROM events')
    .get() as { readonly count: number; readonly last: number }
  const copies = Math.ceil(MATCHES / count) - 1
  database.exec('BEGIN')
  database
    .prepare(
      `${COUNTING} INSERT INTO events (id, path, sport, start_at, words, home, away)
        SELECT id + n * ${last}, path || '.' || n, sport, start_at - n * ${COPY_SECONDS}, words, home, away FROM events, n`,
    )
    .run(copies)
  database
    .prepare(
      `INSERT INTO event_words (rowid, words) SELECT id, 'sportsoccer' || words FROM events WHERE id > ?`,
    )
    .run(last)
  database
    .prepare(
      `${COUNTING} INSERT INTO picks (receipt, payment_id, event_path, payer, opening, options)
        SELECT 'r' || n, 'p' || n, 'soccer/bench.' || (n % 1000), '0x' || n, '{}', '{}' FROM n`,
    )
    .run(PICKS)
  database.exec('COMMIT')
  database.close()
}

async function startFigure(databasePath: string, emptyPath: string): Promise<Figure> {
  const [full, empty]: [number[], number[]] = [[], []]
  for (let start = 0; start < STARTS; start += 1) {
    full.push(await secondsToOpen(databasePath))
    empty.push(await secondsToOpen(emptyPath))
  }
  return judgeFigure({
    name: `start of the store with ${PICKS.toLocaleString('en')} picks and ${MATCHES.toLocaleString('en')} matches`,
    value: median(full),
    unit: 's',
    baseline: { name: 'an empty one', value: median(empty) },
    aim: { kind: 'at-most', value: 3 },
  })
}

/** The most that one iteration of the event loop worked while a request was served, CPU ms. */
async function longestHold(serve: () => Promise<unknown>): Promise<number> {
  const ended = watchHolds()
  await serve()
  return await ended()
}

async function makeBodies(databasePath: string) {
  const store = await openStore(databasePath)
  // Only imported matches are read, whose copies are found with them.
  const infos = (await store.searchEvents({ words: [], limit: MATCHES })).flatMap(
    ({ info }, index) => (index % 10 === 0 ? [info] : []),
  )
  await store.close()
  if (infos.length < AUDIT_PICKS) throw new Error(`only ${infos.length} matches for an audit`)
  const some = infos.slice(0, AUDIT_PICKS)
  return {
    picks: some.map(({ path }) => makePick(`${path}/1x2/ft`, 'home')),
    named: some.map(({ home, away, startAtSeconds }) => ({
      ...makePick('soccer/x/1x2/ft', 'home'),
      key: { sport: 'soccer', event: `${home} v ${away}`.toLowerCase(), type: '1x2', period: 'ft' },
      daySeconds: startAtSeconds - (startAtSeconds % 86_400),
    })) as readonly PickRequest[],
    wire: {
      picks: some.map(({ path }) => ({
        market: `${path}/1x2/ft`,
        selection: 'home',
        odds: '2.10',
      })),
    },
    wireNamed: {
      picks: some.map(({ home, away, startAtSeconds }) => ({
        market: { sport: 'soccer', event: `${home} v ${away}`, type: '1x2', period: 'ft' },
        date: isoDay(startAtSeconds),
        selection: 'home',
        odds: '2.10',
      })),
    },
    csv: `date,home,away,market,selection,odds\n${some
      .map(({ home, away }) => `2026-05-01,${home},${away},1X2,home,2.10\n`)
      .join('')}`,
  }
}

const covered = (text: string) => (work: LongWork) =>
  work.search({ kind: 'search', sport: undefined, daySeconds: undefined, text })

const audited = (body: object) => (work: LongWork) =>
  work.audit({ text: JSON.stringify(body), payer: '' })

async function holdFigures(databasePath: string): Promise<readonly Figure[]> {
  const { csv, wire, wireNamed } = await makeBodies(databasePath)
  const cold = async (name: string, serve: (work: LongWork) => Promise<unknown>) => {
    const holds: number[] = []
    for (let round = 0; round < STARTS; round += 1) {
      const work = openLongWorker({ place: { databasePath }, clock: systemClock })
      holds.push(await longestHold(() => serve(work)))
      await work.close()
    }
    return holdFigure(`cold: ${name}`, holds)
  }
  return [
    await cold('an audit of 1,000 ids', audited(wire)),
    await cold('an audit of 1,000 team names', audited(wireNamed)),
    await cold('coverage by two words', covered('synthetic united')),
    await cold(
      'coverage by the beginnings of two words that every match has',
      covered('synthet leagu'),
    ),
    await cold('reading a CSV of 1,000 bets', (work) => work.readAudit({ body: { csv } })),
    ...(await paidHoldFigures(databasePath, wire)),
  ]
}

async function nameFigure(databasePath: string): Promise<Figure> {
  const { named, picks } = await makeBodies(databasePath)
  const store = await openStore(databasePath)
  const grader = createSlateGrader(store)
  const [names, ids]: [number[], number[]] = [[], []]
  for (let round = 0; round < STARTS; round += 1) {
    names.push(await cpuMs(() => grader.audit({ picks: named })))
    ids.push(await cpuMs(() => grader.audit({ picks })))
  }
  await store.close()
  return judgeFigure({
    name: `a pick by team names and day, among ${MATCHES.toLocaleString('en')} matches`,
    value: median(names) / AUDIT_PICKS,
    unit: 'ms of CPU',
    baseline: { name: 'a pick by its id', value: median(ids) / AUDIT_PICKS },
    aim: { kind: 'at-most', value: 0.3 },
  })
}

/** Starts, holds of the loop, names, and events that are far larger than others. */
export async function measureGradingScale(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const path = folder.file('grading.db')
  await importMatches(path)
  fillTables(path)
  const figures = [
    await startFigure(path, folder.file('empty.db')),
    ...(await holdFigures(path)),
    await nameFigure(path),
  ]
  const store = await openStore(folder.file('event.db'))
  try {
    return [...figures, ...(await largeEventFigures(store))]
  } finally {
    await store.close()
  }
}
