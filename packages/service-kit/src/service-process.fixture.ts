/** A service as an operator starts and stops it: in its own process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The variables that a Node process needs besides the service's configuration. */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
}

type Ended = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
  readonly errors: string
}

type ServiceProcess = {
  /** Its address, once it listens; rejects if it ends first. */
  url(): Promise<string>
  /** What it has written to stdout so far. */
  output(): string
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  /** Undefined if it could not be started. */
  readonly pid: number | undefined
  readonly ended: Promise<Ended>
}

/** Starts Node with these arguments, the last of them a service's `main.ts`, and with that configuration only. */
export function startServiceProcess(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): ServiceProcess {
  const child = spawn(process.execPath, words, {
    env: { ...NODE_ENVIRONMENT, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  const listening = Promise.withResolvers<string>()
  // Only a test that awaits the address learns of an early end.
  listening.promise.catch(() => undefined)
  child.stdout.on('data', (text) => {
    output += String(text)
    const url = /"url":"([^"]+)","msg":"listening"/.exec(output)?.[1]
    if (url !== undefined) listening.resolve(url)
  })
  child.stderr.on('data', (text) => (errors += String(text)))
  const ended = once(child, 'close').then((): Ended => {
    listening.reject(new Error(`it ended: ${errors}`))
    return { code: child.exitCode, signal: child.signalCode, output, errors }
  })
  return {
    url: () => listening.promise,
    output: () => output,
    kill: (signal) => child.kill(signal),
    pid: child.pid,
    ended,
  }
}
