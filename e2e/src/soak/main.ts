// `npm run soak`: half an hour of mixed load on a local stack, on its own ports. Fails if memory grows, files or handles
// stay open after the load, a service ends, or an answer is unexpected. `-- --minutes N` sets another length.

import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isRunning } from '@tallystick/service-kit/stack-environment'

import { type SpawnedStack, spawnStack } from '../spawned-stack.ts'
import { accessCallers } from './access-callers.ts'
import { careCallers } from './care-callers.ts'
import { gradingCallers } from './grading-callers.ts'
import { leaksIn, mebibytes } from './judge-vitals.ts'
import { readVitals, type Vitals } from './service-vitals.ts'
import { emptyAccount, fault, type LoadAccount, type SoakCaller } from './soak-load.ts'

const SERVICES = ['access', 'care', 'grading'] as const
/** Samples in a run: enough for each quarter to include a garbage collection. */
const SAMPLES = 120
const SAMPLE_MS_MIN = 1_000
/** Idle keep-alive connections close within this. */
const SETTLE_MS = 75_000

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const durationMs = Number(values.minutes) * 60_000
if (!(durationMs > 0)) {
  console.error('--minutes takes a number above 0.')
  process.exit(2)
}

/** Acts until the time is over, whether calls fail or not. */
async function keepCalling(
  caller: SoakCaller,
  { account, deadlineMs }: { readonly account: LoadAccount; readonly deadlineMs: number },
): Promise<void> {
  const attempt = async (act: () => Promise<void> | undefined): Promise<void> => {
    try {
      await act()
    } catch (error) {
      fault(account, `${caller.name}: ${String(error).slice(0, 120)}`, 'threw')
    }
  }
  while (performance.now() < deadlineMs) {
    await attempt(() => caller.act(account))
    await pause(caller.pauseMs)
  }
  await attempt(() => caller.close?.())
}

function row(count: number, sample: readonly Vitals[]): string {
  const parts = sample.map(
    ({ heapBytes, residentBytes, openFiles }, at) =>
      `${SERVICES[at]} heap ${mebibytes(heapBytes)}, resident ${mebibytes(residentBytes)} MiB, ${openFiles} files`,
  )
  return `${String(count).padStart(4)}: ${parts.join('; ')}`
}

/** Loads the stack and watches it; every fault, in a person's words. */
async function soak({ description }: SpawnedStack): Promise<readonly string[]> {
  const account = emptyAccount()
  const urls = SERVICES.map((service) => description[service].baseUrl)
  const vitals = async (): Promise<readonly Vitals[] | undefined> => {
    try {
      return await Promise.all(urls.map(readVitals))
    } catch (error) {
      fault(account, 'a service does not report its metrics', String(error))
      return undefined
    }
  }
  const before = await vitals()
  const during: (readonly Vitals[])[] = []
  const deadlineMs = performance.now() + durationMs
  const keepSampling = async (): Promise<void> => {
    const sampleMs = Math.max(SAMPLE_MS_MIN, durationMs / SAMPLES)
    while (performance.now() < deadlineMs) {
      await pause(sampleMs)
      const sample = await vitals()
      if (sample === undefined) continue
      during.push(sample)
      if (during.length % 10 === 0) console.log(row(during.length, sample))
    }
  }
  const callers = [
    ...accessCallers(description),
    ...careCallers(description),
    ...(await gradingCallers(description)),
  ]
  const calls = callers.map((caller) => keepCalling(caller, { account, deadlineMs }))
  await Promise.all([keepSampling(), ...calls])
  await pause(SETTLE_MS)
  const after = await vitals()
  for (const [kind, count] of account.answers) console.log(`${count} × ${kind}`)
  const ended = Object.entries(description.process.children).filter(([, pid]) => !isRunning(pid))
  return [
    ...ended.map(([name]) => `${name} ended`),
    ...findLeaks({ before, during, after }),
    ...[...account.faults].map(([kind, why]) => `${kind}: ${why}`),
  ]
}

/** What each service lost; a service that does not report is itself a fault. */
function findLeaks(samples: {
  readonly before: readonly Vitals[] | undefined
  readonly during: readonly (readonly Vitals[])[]
  readonly after: readonly Vitals[] | undefined
}): readonly string[] {
  return SERVICES.flatMap((service, at) => {
    const [before, after] = [samples.before?.[at], samples.after?.[at]]
    if (before === undefined || after === undefined) return []
    const during = samples.during.map((sample) => sample[at] as Vitals)
    return leaksIn({ before, during, after }).map((leak) => `${service}: ${leak}`)
  })
}

console.log(`Soaking for ${values.minutes} min.`)
const stack = await spawnStack()
// Ctrl-C in a terminal reaches the stack as well; a supervisor's signal reaches this process alone.
process.once('SIGTERM', () => void stack.interrupt().finally(() => process.exit(143)))
try {
  const faults = await soak(stack)
  for (const line of faults) console.error(`FAULT ${line}`)
  console.log(faults.length === 0 ? 'Memory flat, nothing left open.' : `${faults.length} faults.`)
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  await stack.interrupt()
}
