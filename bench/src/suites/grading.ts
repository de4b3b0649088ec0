// How many paid grades a service answers over HTTP; what an audit of a thousand picks, a read of the truth table with a million
// settled picks, and an import cost, over an on-disk ledger of synthetic matches. The imports are relative because the service
// exports none of these parts.

import { hash, randomBytes } from 'node:crypto'
import { leafHash } from '@tallystick/hashchain'
import { manualClock, systemClock } from '@tallystick/service-kit'
import type { PaymentRequired } from '@x402/core/types'
import { openSqliteGradingStore } from '../../../services/grading/src/adapters/sqlite-grading-store.ts'
import { calibrationAnswer } from '../../../services/grading/src/domain/calibration/calibration.ts'
import type { GradingStore } from '../../../services/grading/src/domain/closes/grading-store.ts'
import { createGrader } from '../../../services/grading/src/domain/grading/grader.ts'
import type { PickRequest } from '../../../services/grading/src/domain/markets/pick-request.ts'
import { readFootballData } from '../../../services/grading/src/ingest/football-data.ts'
import { ingestPayload } from '../../../services/grading/src/ingest/ingest-payload.ts'
import { readSale } from '../../../services/grading/src/routes/sale-job.ts'
import {
  SYNTHETIC_FEED,
  syntheticFixtures,
} from '../../../services/grading/src/seed/synthetic-fixtures.ts'
import { type Figure, judgeFigure } from '../figure.ts'
import { LANES } from '../paid-cost.ts'
import { withGradingService } from '../paid-holds.ts'
import { median } from '../quantile.ts'
import { postRequest, runLanes } from '../raw-load.ts'
import { signDollars } from '../sign-payments.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Generated rows; a pair of teams meets at most once a day, so about two thirds of the rows are matches. */
const ROWS = 170_000
/** The size for which an import is judged. */
const MATCHES = 150_000
const SETTLED_PICKS_MIN = 1_000_000
const NOW_SECONDS = 1_780_000_000
/** Paid grades in one round: about two seconds. */
const GRADES = 800
const GRADE_ROUNDS = 3
/** Far more than one seller has been asked for. */
const GRADES_PER_SECOND_MIN = 200
const AUDIT_PICKS = 1_000
const WARM_ROUNDS = 3
const REPEATS = 9

/** A step's CPU milliseconds, and its result. */
async function measureCpu<Result>(
  run: () => Result | Promise<Result>,
): Promise<{ readonly ms: number; readonly result: Result }> {
  const before = process.cpuUsage()
  const result = await run()
  const { user, system } = process.cpuUsage(before)
  return { ms: (user + system) / 1_000, result }
}

/** Median CPU milliseconds of two steps, measured alternately after some warm-up rounds. */
async function compare(steps: {
  readonly ours: () => unknown
  readonly base: () => unknown
}): Promise<{ readonly ours: number; readonly base: number }> {
  const [ours, base]: [number[], number[]] = [[], []]
  for (let round = 0; round < WARM_ROUNDS + REPEATS; round += 1) {
    const [own, other] = [await measureCpu(steps.ours), await measureCpu(steps.base)]
    if (round < WARM_ROUNDS) continue
    ours.push(own.ms)
    base.push(other.ms)
  }
  return { ours: median(ours), base: median(base) }
}

async function importFigure(store: GradingStore): Promise<Figure> {
  const raw = Buffer.from(
    syntheticFixtures({ nowSeconds: NOW_SECONDS, pastMatches: ROWS, comingMatches: 0 }),
  )
  const reading = await measureCpu(() => {
    let read = 0
    for (const { observations } of readFootballData(raw, SYNTHETIC_FEED))
      read += observations.length
    return read
  })
  const { ms, result } = await measureCpu(() =>
    ingestPayload({
      store,
      raw,
      receivedAtSeconds: NOW_SECONDS,
      read: () => readFootballData(raw, SYNTHETIC_FEED),
    }),
  )
  const { observations } = result
  const texts: string[] = []
  for await (const { text } of store.entries({ from: 0, to: (await store.head()).size }))
    texts.push(text)
  const hashing = await measureCpu(() => {
    hash('sha256', raw)
    for (const text of texts) leafHash(Buffer.from(text))
  })
  if (observations < ROWS / 2) throw new Error(`only ${observations} matches were read`)
  const seconds = (milliseconds: number): number => (milliseconds / 1_000 / observations) * MATCHES
  return judgeFigure({
    name: `import into the ledger, for ${MATCHES.toLocaleString('en')} matches`,
    value: seconds(ms),
    unit: 's of CPU',
    baseline: {
      name: 'reading their table and hashing their entries',
      value: seconds(reading.ms + hashing.ms),
    },
    aim: { kind: 'ratio', times: 0.4 },
  })
}

/** A body as the route reads it. */
function readGrade(body: string): PickRequest {
  const read = readSale('grade', JSON.parse(body))
  if (read.kind !== 'asked' || read.request.kind !== 'grade') throw new Error('no grade')
  const { pick } = read.request
  if (pick.kind !== 'pick') throw new Error('no pick')
  return pick
}

/** Bodies of grades on different matches. */
async function gradeBodies(store: GradingStore): Promise<readonly string[]> {
  const states = await store.searchEvents({ words: [], limit: AUDIT_PICKS })
  return states.map(({ info: { path } }, index) =>
    JSON.stringify({
      pick: {
        market: `${path}/1x2/ft`,
        selection: ['home', 'draw', 'away'][index % 3],
        odds: (1.5 + (index % 50) / 20).toFixed(2),
        // Some are far from what is recorded (G21).
        confirmed: true,
      },
    }),
  )
}

const cycled = (bodies: readonly string[], index: number): string =>
  bodies[index % bodies.length] ?? ''

/** Paid grades over HTTP, by a running service: each payment is signed ahead, settled at once and makes one answer. */
function gradeFigure(databasePath: string, bodies: readonly string[]): Promise<Figure> {
  return withGradingService({ databasePath, payers: LANES }, async (server, payerKeys) => {
    const url = new URL('/api/grade', server.url)
    const challenge = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: cycled(bodies, 0),
    })
    const offer = (await challenge.json()) as PaymentRequired
    /** Answers a second. */
    const rate = async (status: number, requests: readonly Buffer[]): Promise<number> => {
      const request = (index: number): Buffer => requests[index] ?? Buffer.of()
      const load = { url: server.url, lanes: LANES, count: requests.length, status, request }
      const { wallMs } = await runLanes(load)
      return (requests.length * 1_000) / wallMs
    }
    const unpaid = Array.from({ length: GRADES }, (_, index) =>
      postRequest(url, cycled(bodies, index)),
    )
    const [paidRates, unpaidRates]: [number[], number[]] = [[], []]
    for (let round = 0; round <= GRADE_ROUNDS; round += 1) {
      const paid = await Promise.all(
        unpaid.map(async (_, index) => {
          const payment = await signDollars(offer, payerKeys[index % LANES] ?? '')
          return postRequest(url, cycled(bodies, index), { 'payment-signature': payment })
        }),
      )
      const [paidRate, other] = [await rate(200, paid), await rate(402, unpaid)]
      // The first round warms up.
      if (round === 0) continue
      paidRates.push(paidRate)
      unpaidRates.push(other)
    }
    return judgeFigure({
      name: `paid grades over HTTP, ${LANES} payers at once`,
      value: median(paidRates),
      unit: '/s',
      baseline: { name: 'the same without a payment: 402', value: median(unpaidRates) },
      higherIsBetter: true,
      aim: { kind: 'at-least', value: GRADES_PER_SECOND_MIN },
    })
  })
}

async function auditFigures(
  store: GradingStore,
  bodies: readonly string[],
): Promise<readonly Figure[]> {
  const grader = createGrader({
    store,
    clock: manualClock(NOW_SECONDS * 1_000),
    randomBytes,
  })
  const picks = bodies.map(readGrade)
  const named = picks.map((pick, index) => ({
    ...pick,
    key: { ...pick.key, event: `synthetic town v synthetic ${index}` },
  }))
  const answer = await grader.audit({ picks })
  if (answer.coverage.graded !== AUDIT_PICKS) throw new Error('not every pick is graded')
  const body = JSON.stringify({ picks: bodies.map((text) => JSON.parse(text).pick) })
  const byKey = await compare({
    ours: async () => {
      const read = readSale('audit', JSON.parse(body))
      if (read.kind !== 'asked' || read.request.kind !== 'audit') throw new Error('no audit')
      return JSON.stringify(await grader.audit(read.request.audit))
    },
    base: () => [JSON.parse(body), JSON.stringify(answer)],
  })
  const byName = await compare({
    ours: () => grader.audit({ picks: named }),
    base: () => grader.audit({ picks }),
  })
  return [
    judgeFigure({
      name: 'audit of 1,000 picks, JSON in and JSON out',
      value: byKey.ours,
      unit: 'ms of CPU',
      baseline: { name: 'JSON.parse and JSON.stringify of the same', value: byKey.base },
      aim: { kind: 'none' },
    }),
    judgeFigure({
      name: 'audit of 1,000 picks by 1,000 team names, in a ledger of 100,000 matches',
      value: byName.ours,
      unit: 'ms of CPU',
      baseline: { name: 'the audit by keys', value: byName.base },
      aim: { kind: 'none' },
    }),
  ]
}

/** Reads in one sample. */
const READS = 100

async function calibrationFigure(store: GradingStore): Promise<Figure> {
  const answer = await calibrationAnswer(store, {})
  const settled = answer.columns[0]?.total.n ?? 0
  if (settled < SETTLED_PICKS_MIN) throw new Error(`only ${settled} picks are settled`)
  const { ours, base } = await compare({
    ours: async () => {
      for (let read = 0; read < READS; read += 1) await calibrationAnswer(store, {})
    },
    base: () => {
      for (let read = 0; read < READS; read += 1) JSON.stringify(answer)
    },
  })
  return judgeFigure({
    name: `calibration read with ${(settled / 1e6).toFixed(2)} M settled picks`,
    value: ours / READS,
    unit: 'ms of CPU',
    baseline: { name: 'JSON.stringify of its answer', value: base / READS },
    aim: { kind: 'at-most', value: 1 },
  })
}

/** Grades, audits, the truth table and the import, over one ledger. */
export async function measureGrading(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const databasePath = folder.file('grading.db')
  const store = await openSqliteGradingStore({
    databasePath,
    clock: systemClock,
    checkpointSeed: new Uint8Array(32).fill(7),
    origin: 'bench/ledger',
    // As `grading import` opens it.
    isImport: true,
  })
  let bodies: readonly string[]
  let figures: readonly Figure[]
  try {
    const imported = await importFigure(store)
    bodies = await gradeBodies(store)
    figures = [...(await auditFigures(store, bodies)), await calibrationFigure(store), imported]
  } finally {
    await store.close()
  }
  return [await gradeFigure(databasePath, bodies), ...figures]
}
