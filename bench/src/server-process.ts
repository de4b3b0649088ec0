import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ProbeAnswer, ProbeFigures, ProbeQuestion } from './server/bench-protocol.ts'

/** The longest that a server process may take to start or to answer, milliseconds: opening checks a whole store. */
const ANSWER_LIMIT_MS = 120_000
/** The longest that one may take to end, milliseconds: the services themselves end within 10 s. */
const STOP_LIMIT_MS = 20_000

/** A server in a separate process, and its costs. */
export class ServerProcess {
  readonly url: string
  /** JSON that the server reported about itself; empty if it reported nothing. */
  readonly details: string
  readonly #child: ChildProcess

  private constructor(
    child: ChildProcess,
    ready: { readonly url: string; readonly details: string },
  ) {
    this.#child = child
    this.url = ready.url
    this.details = ready.details
  }

  /** Starts a file of `server/`; a CPU profile of it goes into a folder. Rejects if it ends or does not listen in time. */
  static async start(
    file: string,
    args: readonly string[],
    profile = process.env['BENCH_PROFILE_FOLDER'],
  ): Promise<ServerProcess> {
    const path = fileURLToPath(new URL(`./server/${file}`, import.meta.url))
    const child = fork(path, [...args], {
      execArgv: [
        '--expose-gc',
        ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]),
      ],
    })
    const first = await nextAnswer(child)
    if (first.kind !== 'listening') throw new Error(`${file} did not say where it listens`)
    return new ServerProcess(child, { url: first.url, details: first.details ?? '' })
  }

  /** `collect` collects garbage first; `watch-loop` restarts the watch on the event loop. */
  async figures(question: Exclude<ProbeQuestion, 'stop'> = 'figures'): Promise<ProbeFigures> {
    const answered = nextAnswer(this.#child)
    this.#child.send(question)
    const answer = await answered
    if (answer.kind !== 'figures') throw new Error('the server process restarted')
    return answer
  }

  /** CPU time of the server process while `work` runs, microseconds. */
  async readCpuMicros(work: () => Promise<unknown>): Promise<number> {
    const before = await this.figures()
    await work()
    const after = await this.figures()
    return after.cpuMicros - before.cpuMicros
  }

  /** Ends the process, by force if it does not exit. */
  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit')
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS)
    this.#child.send('stop')
    await gone
    clearTimeout(force)
  }
}

async function nextAnswer(child: ChildProcess): Promise<ProbeAnswer> {
  const settled = new AbortController()
  const signal = AbortSignal.any([settled.signal, AbortSignal.timeout(ANSWER_LIMIT_MS)])
  try {
    const [answer] = (await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => {
        throw new Error('a server process ended while it was measured')
      }),
    ])) as [ProbeAnswer]
    return answer
  } finally {
    settled.abort()
  }
}
