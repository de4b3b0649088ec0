// A process that records calls as fast as it may and prints the hash of each that it would answer, until it is killed.
import { systemClock } from '@tallystick/service-kit'
import type { Hex } from 'viem'
import { createUsageRecorder } from '../domain/usage-recorder.ts'
import { createViemUsageLedger } from './viem-usage-ledger.ts'

const [rpcUrl = '', contract = '', privateKey = '', agent = '', windowExpiresAt = ''] =
  process.argv.slice(2)

/** Calls under way at any time. */
const CALLERS = 20

const recorder = createUsageRecorder({
  ledger: createViemUsageLedger({
    rpcUrl,
    chainId: 296,
    contract: contract as Hex,
    privateKey: privateKey as Hex,
  }),
  clock: systemClock,
  recorderCount: 1,
})

async function call(): Promise<void> {
  for (;;) {
    const outcome = await recorder.record({
      agent,
      windowExpiresAtSeconds: Number(windowExpiresAt),
      windowStartsAtSeconds: 0,
      callsAllowed: 1_000_000,
      callsUsedInRead: 0,
    })
    if (outcome.kind === 'recorded') process.stdout.write(`${outcome.transactionHash}\n`)
  }
}

await Promise.all(Array.from({ length: CALLERS }, call))
