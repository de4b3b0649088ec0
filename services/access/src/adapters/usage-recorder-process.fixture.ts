// A process that calls as fast as it can, the way the service does: read, then record. It prints the hash of each call that
// it would answer, and how any other ended, from SIGUSR2 until its callers find the quota spent; SIGTERM closes it.
import { systemClock } from '@tallystick/service-kit'
import { createUsageRecorder } from '../metering/usage-recorder.ts'
import type { RecorderPlan } from './recorder-child.fixture.ts'
import { createRecorderLedger } from './recorder-ledger.ts'
import { connectRelay } from './usage-devnet.fixture.ts'

const plan = JSON.parse(process.argv[2] ?? '') as RecorderPlan
const { agent, windowExpiresAtSeconds, callsAllowed } = plan

const ledger = createRecorderLedger({ ...plan, ...connectRelay(plan.rpcUrl), chainId: 296 })
const recorder = createUsageRecorder({
  ledger,
  clock: systemClock,
  recorderCount: plan.recorderCount,
})

async function callUntilSpent(): Promise<void> {
  for (;;) {
    const readAtMs = Date.now()
    const outcome = await recorder.record({
      agent,
      windowExpiresAtSeconds,
      windowStartsAtSeconds: 0,
      callsAllowed,
      readAtMs,
      callsUsedInRead: (await ledger.readCallsUsed({ agent, windowExpiresAtSeconds })) ?? 0,
    })
    process.stdout.write(
      `${outcome.kind === 'recorded' ? outcome.transactionHash : outcome.kind}\n`,
    )
    if (outcome.kind === 'quota-spent') return
  }
}

process.once('SIGTERM', () => {
  void recorder.close().then(() => process.exit(0))
})
process.once('SIGUSR2', () => {
  for (let caller = 0; caller < plan.callers; caller += 1) void callUntilSpent()
})
process.stdout.write('ready\n')
// Signals alone keep no process alive.
setInterval(() => {}, 60_000)
