// C25, G12, A14: three processes of each service, care's and grading's over a primary and two synchronous standbys, behind plain
// proxies, while processes and primaries fail. What clients saw is judged by checkers that took no part. In the long run there are
// more clients, and every fault.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownPostgresMissing } from '../../../packages/journal-store/src/postgres-server.fixture.ts'
import { type AccessCluster, startAccessCluster } from './access-cluster.ts'
import { type CareCluster, readStored, startCareCluster } from './care-cluster.ts'
import { writeOnce } from './care-load.ts'
import { checkHistory, type WriteSeen } from './check-history.ts'
import { checkPayments } from './check-payments.ts'
import {
  countStatuses,
  describeFaults,
  describePayments,
  describeSilences,
  type FaultFigure,
} from './describe-run.ts'
import { createFaults } from './faults.ts'
import { type GradingCluster, startGradingCluster } from './grading-cluster.ts'
import { type LoadSize, startListeners, startMixedLoad } from './mixed-load.ts'
import { type DatabaseFault, startTrio } from './postgres-trio.ts'

type Form = LoadSize & {
  readonly killEveryMs: number
  /** Between two other faults, milliseconds. */
  readonly quietMs: number
  /** Whether a write must be acknowledged in time after each fault: other programs need the machine too. */
  readonly isTimed: boolean
  readonly hasAllFaults: boolean
}

/** By TALLYSTICK_LONG: ten minutes, with 1,000 payments; the same faults in two or three; or some seconds. */
const FORMS: Readonly<Record<string, Form>> = {
  '1': {
    chains: 12,
    pauseMs: 400,
    listeners: 280,
    officialListeners: 20,
    grades: 850,
    windows: 150,
    payEveryMs: { grade: 650, window: 3_600 },
    killEveryMs: 20_000,
    quietMs: 30_000,
    isTimed: true,
    hasAllFaults: true,
  },
  brief: {
    chains: 12,
    pauseMs: 200,
    listeners: 60,
    officialListeners: 6,
    grades: 120,
    windows: 24,
    payEveryMs: { grade: 1_000, window: 5_000 },
    killEveryMs: 9_000,
    quietMs: 4_000,
    isTimed: false,
    hasAllFaults: true,
  },
}
const SHORT: Form = {
  chains: 12,
  pauseMs: 20,
  listeners: 20,
  officialListeners: 4,
  grades: 24,
  windows: 6,
  payEveryMs: { grade: 300, window: 1_200 },
  killEveryMs: 3_500,
  quietMs: 3_000,
  isTimed: false,
  hasAllFaults: false,
}
const FORM = FORMS[process.env['TALLYSTICK_LONG'] ?? ''] ?? SHORT
/** Longer than a process is remembered that says nothing. */
const STOPPED_MS = 15_000
/** Longer than anybody waits for a database. */
const HANGING_MS = 60_000
/** Longer than a proxy waits for a silent stream. */
const LEFT_MS = 30_000
const SETTLED_MS = 120_000

const skipped = ownPostgresMissing === undefined ? '' : ` (skipped: ${ownPostgresMissing})`

describe.skipIf(ownPostgresMissing !== undefined)(`C25, G12, A14: a cluster${skipped}`, () => {
  let trio: Awaited<ReturnType<typeof startTrio>>
  let care: CareCluster
  let grading: GradingCluster
  let access: AccessCluster
  beforeAll(async () => {
    const startingAccess = startAccessCluster()
    trio = await startTrio({ isIsolated: FORM.hasAllFaults })
    const database = { url: trio.url, adminUrl: trio.primaryUrl() }
    ;[care, grading, access] = await Promise.all([
      startCareCluster(database),
      startGradingCluster(database),
      startingAccess,
    ])
  })
  afterAll(async () => {
    await Promise.all([care, grading, access].map((cluster) => cluster?.stop()))
    await trio?.end()
  })

  it('loses and doubles no write, no correction and no payment, whatever fails', async () => {
    const { first, listeners } = await startListeners(care, FORM)
    const from = new Map(first.map(({ chain }) => [chain, 1]))
    const load = startMixedLoad({ access, care, grading }, FORM)
    const probed: WriteSeen[] = []
    const figures: FaultFigure[] = []
    const failovers: Record<string, object> = {}
    let lagBytes = { receiving: 0, replaying: 0 }
    let silences: object | undefined
    /** When a write that begins with the fault is acknowledged, and the first grade that is asked for after it. */
    const onFault = async (what: string): Promise<void> => {
      const fromMs = Date.now()
      const value = `probe ${probed.length} ${what}`
      const seen = await writeOnce(care.care, { chain: probed.length % FORM.chains, value })
      probed.push(seen)
      figures.push({ what, atMs: fromMs, writtenMs: Date.now() - fromMs })
    }
    const faults = createFaults([care, grading, access], onFault)
    const failPrimary = async (fault: DatabaseFault): Promise<void> => {
      const fromMs = Date.now()
      const failing = trio.fail(fault)
      const promoting = failing.then(() => Date.now() - fromMs)
      await onFault(`primary ${fault}`)
      const mend = await failing
      failovers[fault] = { 'another promoted, ms': await promoting }
      await mend()
      await onFault(`primary ${fault}, and back`)
    }
    const stop = (service: Parameters<typeof faults.stopAndWake>[0], at: number) =>
      faults.stopAndWake(service, { at, ms: STOPPED_MS })
    const all = [
      async () => {
        const measure = await trio.lag()
        await onFault('standbys lag')
        lagBytes = await measure()
        await failPrimary('killed')
      },
      () => stop(care, 2),
      () => stop(grading, 2),
      () => failPrimary('frozen'),
      () => stop(access, 2),
      () => failPrimary('cut off'),
      async () => {
        const losing = trio.loseStandby(STOPPED_MS)
        await onFault('standby killed')
        await losing
      },
      async () => {
        await faults.befallAlone(() => trio.hang(HANGING_MS))
        await onFault('primary went on')
      },
      () => faults.stopAllAndWake(STOPPED_MS),
      async () => {
        const fromMs = await faults.stopAndWake(care, { at: 1, ms: LEFT_MS })
        silences = describeSilences(listeners, fromMs)
      },
    ]
    const killing = new AbortController()
    const kills = faults.killInTurn({ everyMs: FORM.killEveryMs, ended: killing.signal })
    for (const fault of FORM.hasAllFaults ? all : all.slice(0, 1)) {
      await pause(FORM.quietMs)
      await fault()
    }
    await pause(FORM.quietMs)
    const { calls, reads, writes } = await load.end()
    killing.abort()
    const killed = await kills
    await care.untilAllReady()
    const stored = await readStored(trio.primaryUrl())
    const again = await grading.payAgain()
    const windowsAgain = await access.payAgain()
    const judge = async () => [
      ...checkHistory({
        writes: [...first, ...probed, ...writes],
        reads,
        sessions: listeners
          .filter((listener) => FORM.isTimed || !listener.hasGivenUp())
          .flatMap((listener) => listener.seen(from)),
        stored,
        faults: FORM.isTimed ? figures : [],
      }),
      ...checkPayments({
        payments: [...load.grades, ...again],
        calls: [],
        charges: await grading.charges(),
        effects: await grading.effects(trio.primaryUrl()),
      }),
      ...checkPayments({
        payments: [...load.windows, ...windowsAgain],
        calls,
        charges: await access.charges(),
        effects: await access.effects(),
      }),
    ]
    const acknowledged = writes.filter(({ outcome }) => outcome.kind === 'acknowledged').length
    console.info({
      writes: `${acknowledged} of ${writes.length} acknowledged`,
      reads: reads.length,
      listeners: listeners.length,
      'whose client gave up': listeners.filter((listener) => listener.hasGivenUp()).length,
      grades: describePayments(load.grades),
      'grades asked for again': describePayments(again),
      windows: describePayments(load.windows),
      'windows asked for again': describePayments(windowsAgain),
      calls: countStatuses(calls),
      killed,
      failovers,
      'servers are behind': trio.cables,
      'standbys lagged, bytes': lagBytes,
      'streams of a stopped process': silences,
    })
    console.table(describeFaults(figures, load.grades))
    const untilMs = Date.now() + SETTLED_MS
    while ((await judge()).length > 0 && Date.now() < untilMs) await pause(1_000)
    expect(await judge()).toEqual([])
    expect(probed.filter(({ outcome }) => outcome.kind !== 'acknowledged')).toEqual([])
    expect(Math.min(lagBytes.receiving, lagBytes.replaying)).toBeGreaterThan(0)
    expect(acknowledged).toBeGreaterThan(probed.length)
    expect(reads.length).toBeGreaterThan(probed.length)
    // Of those who bought amid the faults some were answered only after them.
    expect(describePayments(again).served).toBeGreaterThan(FORM.grades / 2)
    expect(describePayments(load.windows).served).toBeGreaterThan(FORM.windows / 2)
    await Promise.all(listeners.map((listener) => listener.stop()))
  })
})
