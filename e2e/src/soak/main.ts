// `npm run soak`: half an hour of mixed load on the local stack, on ports of its own. Fails where memory grows, where
// files or handles stay open after the load, where a service ends, or where an answer is not the expected one.
// `-- --minutes N` for another length.
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isRunning } from '../../../scripts/stack/stack-file.ts'
import { spawnStack } from '../spawned-stack.ts'
import { accessCallers } from './access-callers.ts'
import { careCallers } from './care-callers.ts'
import { gradingCallers } from './grading-callers.ts'
import { leaksIn, mebibytes } from './judge-vitals.ts'
import { readVitals, type Vitals } from './service-vitals.ts'
import { emptyAccount, type SoakCaller } from './soak-load.ts'

const SERVICES = ['access', 'care', 'grading'] as const
/** Samples in a run: enough that each quarter has seen the collector at work. */
const SAMPLES = 120
const SAMPLE_MS_MIN = 1_000
/** Connections that are kept for the next call close by themselves within this. */
const SETTLE_MS = 75_000

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const durationMs = Number(values.minutes) * 60_000
if (!(durationMs > 0)) {
  console.error('--minutes takes a number above 0.')
  process.exit(2)
}

console.log(`Soaking for ${values.minutes} min.`)
const stack = await spawnStack()
const urls = SERVICES.map((service) => stack.description[service].baseUrl)
const account = emptyAccount()
const vitalsOfAll = async (): Promise<readonly Vitals[]> => await Promise.all(urls.map(readVitals))
const before = await vitalsOfAll()
const during: (readonly Vitals[])[] = []
const deadlineMs = performance.now() + durationMs

async function keepCalling(caller: SoakCaller): Promise<void> {
  while (performance.now() < deadlineMs) {
    try {
      await caller.act(account)
    } catch (error) {
      account.faults.set(`${caller.name}: ${String(error).slice(0, 120)}`, 'threw')
    }
    await pause(caller.pauseMs)
  }
  await caller.close?.()
}

async function keepSampling(): Promise<void> {
  const sampleMs = Math.max(SAMPLE_MS_MIN, durationMs / SAMPLES)
  while (performance.now() < deadlineMs) {
    await pause(sampleMs)
    const sample = await vitalsOfAll()
    during.push(sample)
    if (during.length % 10 === 0) console.log(row(during.length, sample))
  }
}

function row(count: number, sample: readonly Vitals[]): string {
  const parts = sample.map(
    ({ heapBytes, residentBytes, openFiles }, at) =>
      `${SERVICES[at]} heap ${mebibytes(heapBytes)}, resident ${mebibytes(residentBytes)} MiB, ${openFiles} files`,
  )
  return `${String(count).padStart(4)}: ${parts.join('; ')}`
}

const callers = [
  ...accessCallers(stack.description),
  ...careCallers(stack.description),
  ...(await gradingCallers(stack.description)),
]
await Promise.all([keepSampling(), ...callers.map(keepCalling)])
await pause(SETTLE_MS)
const after = await vitalsOfAll()
const children = Object.entries(stack.description.process.children)
const ended = children.filter(([, pid]) => !isRunning(pid)).map(([name]) => `${name} ended`)
await stack.interrupt()

const leaks = SERVICES.flatMap((service, at) =>
  leaksIn({
    before: before[at] as Vitals,
    during: during.map((sample) => sample[at] as Vitals),
    after: after[at] as Vitals,
  }).map((leak) => `${service}: ${leak}`),
)
for (const [kind, count] of account.answers) console.log(`${count} × ${kind}`)
const faults = [...ended, ...leaks, ...[...account.faults].map(([kind, why]) => `${kind}: ${why}`)]
for (const fault of faults) console.error(`FAULT ${fault}`)
console.log(faults.length === 0 ? 'Memory flat, nothing left open.' : `${faults.length} faults.`)
process.exitCode = faults.length === 0 ? 0 : 1
