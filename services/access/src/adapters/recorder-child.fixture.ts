// A recorder in its own process, for tests that kill it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Hex } from 'viem'
import { onTestFinished } from 'vitest'
import type { UsageDevnet } from './usage-devnet.fixture.ts'

/** What the process is to do. */
export type RecorderPlan = {
  readonly rpcUrl: string
  readonly contract: Hex
  readonly privateKey: Hex
  readonly recorderCount: number
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  readonly callsAllowed: number
  /** Calls under way at any time. */
  readonly callers: number
}

/** Starts the process, which calls from `go` on; `onLine` gets each line at once, with the number of lines so far. The
 * process ends with the test at the latest. */
export async function startRecorderChild(
  network: UsageDevnet,
  options: {
    readonly agent: string
    readonly keyAt: number
    readonly callers: number
    readonly onLine?: (count: number, kill: (signal: NodeJS.Signals) => void) => void
  },
) {
  const { windowExpiresAtSeconds, callsAllowed } = await network.readCall(options.agent)
  const plan: RecorderPlan = {
    rpcUrl: network.devnet.rpcUrl,
    contract: network.contract,
    privateKey: network.recorderKeys[options.keyAt] ?? '0x',
    recorderCount: network.recorderKeys.length,
    agent: options.agent,
    windowExpiresAtSeconds,
    callsAllowed,
    callers: options.callers,
  }
  const script = fileURLToPath(new URL('usage-recorder-process.fixture.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const exited = once(child, 'exit')
  const lines: string[] = []
  const ready = Promise.withResolvers<void>()
  const ended = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === 'ready') {
        ready.resolve()
        continue
      }
      lines.push(line)
      options.onLine?.(lines.length, (signal) => child.kill(signal))
    }
    await exited
  })()
  await ready.promise
  return {
    go: () => child.kill('SIGUSR2'),
    /** Hashes of the calls that were answered so far. */
    hashes: (): string[] => lines.filter((line) => line.startsWith('0x')),
    lines,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended,
  }
}
