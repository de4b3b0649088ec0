import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { expect } from 'vitest'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Observation } from '../domain/closes/observation.ts'
import { createGrader, type Grader } from '../domain/grading/grader.ts'
import type { AskedPick } from '../domain/markets/pick-request.ts'
import type { Card } from '../wire/cards.ts'
import type { PostgresLedger } from './postgres-ledger.fixture.ts'
import { START_SECONDS, sampleBatch, sampleObservation } from './samples.fixture.ts'

const inMemory = (checkpointSeed: Uint8Array): Promise<GradingStore> =>
  openSqliteGradingStore({
    databasePath: ':memory:',
    clock: manualClock(0),
    checkpointSeed,
    origin: 'grading.test/ledger',
  })

/**
 * An empty ledger in memory, or in a database if DATABASE_URL is set; the given Ed25519 seed of 32 bytes signs its
 * checkpoints. A property opens one for each of its cases: those beyond LEDGERS are always in memory.
 */
export function openMemoryStore(seed = new Uint8Array(32).fill(7)): GradingStore {
  if (process.env['DATABASE_URL'] === undefined) return openedLater(inMemory(seed))
  const { currentTestName } = expect.getState()
  opened = currentTestName === openedBy ? opened + 1 : 1
  openedBy = currentTestName
  return openedLater(opened > LEDGERS ? inMemory(seed) : openOnServer(seed))
}

/** Making a database takes longer than most tests: this many serve a whole process, each emptied for the next test. */
const LEDGERS = 6

const ledgers: Promise<PostgresLedger>[] = []
let [openedBy, opened]: [string | undefined, number] = [undefined, 0]

async function openOnServer(checkpointSeed: Uint8Array): Promise<GradingStore> {
  const free = ledgers.length < LEDGERS ? newLedger() : (ledgers.shift() ?? newLedger())
  const emptied = free.then(async (ledger) => {
    await ledger.clear()
    return ledger
  })
  ledgers.push(emptied)
  return (await emptied).open({ checkpointSeed })
}

async function newLedger(): Promise<PostgresLedger> {
  const { startLedgerServer } = await import('./postgres-ledger.fixture.ts')
  return startLedgerServer().ledger()
}

const METHODS = {
  events: true,
  searchEvents: true,
  ingest: true,
  lastEventId: true,
  hasPayload: true,
  markPayload: true,
  beginImport: true,
  endImport: true,
  unfinishedImports: true,
  keepPick: true,
  payerTag: true,
  pickByReceipt: true,
  pickBySeq: true,
  readEventPicks: true,
  entry: true,
  head: true,
  checkpoint: true,
  inclusionProof: true,
  truth: true,
  counts: true,
  verify: true,
  close: true,
} as const satisfies Record<Exclude<keyof GradingStore, 'entries' | 'ingestedAtOnce'>, true>

type Method = (...values: readonly unknown[]) => Promise<unknown>

/** A store whose methods wait until it is open. */
function openedLater(opening: Promise<GradingStore>): GradingStore {
  const methods = Object.keys(METHODS).map((name) => [
    name,
    async (...values: readonly unknown[]) => {
      const method = (await opening)[name as keyof GradingStore] as Method
      return method(...values)
    },
  ])
  return {
    ...(Object.fromEntries(methods) as Omit<GradingStore, 'entries'>),
    async *entries(range) {
      yield* (await opening).entries(range)
    },
  }
}

/** A grader over a store, with a clock set to a day before the sample match. */
export type GraderFixture = {
  readonly store: GradingStore
  readonly grader: Grader
  readonly clock: ManualClock
  /** Grades and releases a pick for a payer, as a paid request does; each call is a new payment unless one is named. */
  readonly pay: (
    pick: AskedPick,
    by?: { readonly payer?: string; readonly paymentId?: string },
  ) => Promise<Card>
}

const SECONDS_PER_DAY = 86_400

/** Random bytes count up, so that they are distinct. */
export function createGraderFixture(store: GradingStore = openMemoryStore()): GraderFixture {
  const clock = manualClock((START_SECONDS - SECONDS_PER_DAY) * 1_000)
  let drawn = 0
  const grader = createGrader({
    store,
    clock,
    randomBytes: (size) => {
      drawn += 1
      return Buffer.from(drawn.toString(16).padStart(size * 2, '0'), 'hex')
    },
  })
  let payments = 0
  return {
    store,
    grader,
    clock,
    pay: async (pick, { payer = '0xPayer', paymentId } = {}) => {
      payments += 1
      return grader.release({
        pick,
        card: await grader.grade(pick),
        payer,
        paymentId: paymentId ?? `payment ${payments}`,
        receivedAtSeconds: clock.unixMs() / 1_000,
      })
    },
  }
}

/** With a ledger of these observations, on the sample match unless they name another. */
export async function makeFixture(
  ...observations: readonly Partial<Observation>[]
): Promise<GraderFixture> {
  const fixture = createGraderFixture()
  await fixture.store.ingest(sampleBatch(observations.map((each) => sampleObservation(each))))
  return fixture
}

/** `GRADED`, or why not. */
export const readCode = (card: Card): string =>
  card.outcome === 'GRADED' ? 'GRADED' : card.reason.code
