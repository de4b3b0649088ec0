// One service of the local stack as the separate process that an operator would run: its environment and nothing else.
// Logs go to a file, so that the terminal shows only what a person wants to read.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** Ends a hang: the first start compiles, and a busy machine takes many times as long as a quiet one. */
const START_MS_MAX = 180_000
const POLL_MS = 50
/** The limit of one answer within that: a process that has just begun to listen is still busy. */
const ANSWER_MS_MAX = 20_000
/** Services promise to end within 10 s of SIGTERM (S6). */
const STOP_MS_MAX = 11_000
const LOG_LINES_SHOWN = 15

/** SIGUSR1 opens a service's inspector; on a free port, since several stacks may run. By it a service is known among processes. */
export const SERVICE_MARK = '--inspect-port=0'

type ServiceOptions = {
  readonly name: string
  /** Entry file, relative to the root of the checkout. */
  readonly main: string
  readonly environment: Readonly<Record<string, string>>
  /** Answers once the service works. */
  readonly readyUrl: string
  readonly logFile: string
  /** Restarts when a source file changes. */
  readonly isWatching: boolean
}

/** How a service is started, except for where it logs. */
export type ServiceRecipe = Omit<ServiceOptions, 'logFile' | 'isWatching'>

export type ServiceProcess = Pick<ServiceOptions, 'name' | 'environment'> & {
  readonly pid: number
  ready(): Promise<void>
  stop(): Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Node's cache of compiled modules between starts: a service then starts in about half the time. */
const COMPILE_CACHE = join(root, 'node_modules', '.cache', 'node')

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN).join('\n')
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // the group has already ended
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  signalGroup(child, 'SIGTERM')
  const kill = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_MS_MAX)
  await ended
  clearTimeout(kill)
}

/** Starts a service; `ready` resolves when it answers, and rejects with the end of its log if it ends first or stays silent. */
export function spawnService(options: ServiceOptions): ServiceProcess {
  mkdirSync(dirname(options.logFile), { recursive: true, mode: 0o700 })
  const log = openSync(options.logFile, 'w', 0o600)
  const watch = options.isWatching ? ['--watch', '--watch-preserve-output'] : []
  const child = spawn(process.execPath, [SERVICE_MARK, ...watch, options.main], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...options.environment,
    },
    stdio: ['ignore', log, log],
    detached: true, // Ctrl-C reaches the stack alone, which then stops its services in order
  })
  closeSync(log)
  const ready = async (): Promise<void> => {
    const deadlineMs = performance.now() + START_MS_MAX
    while (!(await answers(options.readyUrl))) {
      if (hasEnded(child) || performance.now() > deadlineMs) {
        throw new Error(`${options.name} did not start:\n${lastLines(options.logFile)}`)
      }
      await pause(POLL_MS)
    }
  }
  const { environment, name } = options
  return { name, environment, pid: child.pid ?? 0, ready, stop: () => stopChild(child) }
}
