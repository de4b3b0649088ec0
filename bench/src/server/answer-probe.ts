import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ProbeAnswer, ProbeQuestion } from './bench-protocol.ts'
import { watchHolds } from './loop-holds.ts'

/** Sampling interval of the loop's delay, milliseconds: the smallest possible, and the reading of an idle loop. */
const LOOP_SAMPLE_MS = 1
/** Loop iterations between two collections, so that finalisers and closed sockets are gone. */
const COLLECTIONS = 3

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

async function collect(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('start this process with --expose-gc')
  for (let round = 0; round < COLLECTIONS; round += 1) {
    await nextTurn()
    globalThis.gc()
  }
}

const say = (answer: ProbeAnswer): void => void process.send?.(answer)

/** Answers the measuring process from now on, and reports where the server listens. `stop` must end the process. */
export function answerProbe(options: {
  readonly url: string
  /** Whatever else the measuring process must know; any JSON value. */
  readonly details?: object
  readonly stop: () => Promise<void>
}): void {
  // Begun when it is asked for: its samples take 10 ms of CPU a second, more than an idle service.
  const loop = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS })
  let endWatch: (() => Promise<number>) | undefined
  const figures = async (): Promise<ProbeAnswer> => {
    const holdCpuMs = (await endWatch?.()) ?? 0
    endWatch = undefined

    const { user, system } = process.cpuUsage()
    const { heapUsed, rss } = process.memoryUsage()
    return {
      kind: 'figures',
      cpuMicros: user + system,
      heapBytes: heapUsed,
      rssBytes: rss,
      loopBlockMs: loop.max / 1e6,
      holdCpuMs,
    }
  }
  const answer = async (question: ProbeQuestion): Promise<void> => {
    if (question === 'stop') {
      await options.stop()
      process.exit(0)
    }
    if (question === 'collect') await collect()
    if (question === 'watch-loop') {
      loop.enable()
      loop.reset()
    }
    say(await figures())
    if (question === 'watch-holds') endWatch = watchHolds()
  }
  process.on('message', (question: ProbeQuestion) => void answer(question))
  process.on('disconnect', () => process.exit(1))
  const { details, url } = options
  say({
    kind: 'listening',
    url,
    ...(details === undefined ? {} : { details: JSON.stringify(details) }),
  })
}
