// What everybody does to a cluster while it fails: writes, reads and listening at care, paid grades, and windows that are bought
// and called in.
import { setTimeout as pause } from 'node:timers/promises'
import type { AccessCluster } from './access-cluster.ts'
import type { CareCluster } from './care-cluster.ts'
import {
  type Listener,
  listen,
  listenOfficially,
  runReader,
  runWriter,
  writeOnce,
} from './care-load.ts'
import type { WriteSeen } from './check-history.ts'
import type { CallSeen, PaymentSeen } from './check-payments.ts'
import type { GradingCluster } from './grading-cluster.ts'

const WRITERS = 8
const READERS = 4
/** Of each kind of listener: all of them would hear more than this process can read. */
const HEARING_ALL = 3

export type LoadSize = {
  readonly chains: number
  /** Of a writer or reader between two of its requests, milliseconds. */
  readonly pauseMs: number
  readonly listeners: number
  readonly officialListeners: number
  readonly grades: number
  readonly windows: number
  /** Between two payments of a kind, milliseconds. */
  readonly payEveryMs: { readonly grade: number; readonly window: number }
}

const CALL_PAUSE_MS = 400

type Clusters = {
  readonly care: CareCluster
  readonly grading: GradingCluster
  readonly access: AccessCluster
}

/** A first version of each chain, and listeners that stand before the next one. */
export async function startListeners(cluster: CareCluster, size: LoadSize) {
  const { care } = cluster
  const first: WriteSeen[] = []
  for (let chain = 0; chain < size.chains; chain += 1)
    first.push(await writeOnce(care, { chain, value: `first ${chain}` }))
  const listeners: Listener[] = []
  const listening = (name: string, at: number) => ({
    name: `${name} ${at}`,
    chain: at % size.chains,
    hearsAll: at < HEARING_ALL,
  })
  for (let at = 0; at < size.listeners; at += 1)
    listeners.push(await listen(cluster, listening('listener', at)))
  for (let at = 0; at < size.officialListeners; at += 1)
    listeners.push(await listenOfficially(care, listening('official', at)))
  return { first, listeners }
}

/** Starts it; `end` resolves with what was seen, once nothing is under way. */
export function startMixedLoad({ access, care, grading }: Clusters, size: LoadSize) {
  const load = new AbortController()
  const common = { chains: size.chains, pauseMs: size.pauseMs, ended: load.signal }
  const writing = Array.from({ length: WRITERS }, (_, at) =>
    runWriter(care.care, { ...common, name: `writer ${at}` }),
  )
  const reading = Array.from({ length: READERS }, (_, at) =>
    runReader(care.care, { ...common, name: `reader ${at}` }),
  )
  const grades: PaymentSeen[] = []
  const windows: PaymentSeen[] = []
  const paying = [
    runPayments(grading, { count: size.grades, everyMs: size.payEveryMs.grade, seen: grades }),
    runPayments(access, { count: size.windows, everyMs: size.payEveryMs.window, seen: windows }),
  ]
  const calling = runCalls(access, { windows, ended: load.signal })
  return {
    grades,
    windows,
    /** Ends once all payments are answered, and everybody has stopped. */
    async end() {
      await Promise.all(paying)
      load.abort()
      const [writes, reads] = await Promise.all([Promise.all(writing), Promise.all(reading)])
      return { writes: writes.flat(), reads: reads.flat(), calls: await calling }
    },
  }
}

type Shop = { pay(at: number): Promise<PaymentSeen> }

/** Pays so many times, whether or not those before are answered. */
async function runPayments(
  shop: Shop,
  {
    count,
    everyMs,
    seen,
  }: { readonly count: number; readonly everyMs: number; readonly seen: PaymentSeen[] },
): Promise<void> {
  const paying: Promise<void>[] = []
  for (let at = 0; at < count; at += 1) {
    paying.push(shop.pay(at).then((payment) => void seen.push(payment)))
    await pause(everyMs)
  }
  await Promise.all(paying)
}

/** Agents whose window was answered as open call in it, one after the other. */
async function runCalls(
  access: AccessCluster,
  load: { readonly windows: readonly PaymentSeen[]; readonly ended: AbortSignal },
): Promise<readonly CallSeen[]> {
  const calls: CallSeen[] = []
  for (let turn = 0; !load.ended.aborted; turn += 1) {
    const open = load.windows.filter(({ answers }) => answers.some(({ status }) => status === 200))
    const window = open[turn % open.length]
    if (window !== undefined) calls.push(await access.call(window.id))
    await pause(open.length === 0 ? CALL_PAUSE_MS : CALL_PAUSE_MS / open.length + 20)
  }
  return calls
}
