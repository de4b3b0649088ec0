// The shell of a person who follows a page of the docs in a clone of the repository.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { eventually } from './eventually.ts'
import { ended, readOutput, root } from './spawned-stack.ts'

/** What a command says that did nothing since an answer was lost: a person runs it again. */
const DID_NOTHING = /Nothing was signed|does not answer|No ledger answers|cannot try it/
const RUNS_MAX = 5

type Environment = Readonly<Record<string, string>>

type Shell = { readonly child: ChildProcess; readonly output: () => string }

/**
 * Where a person's programs are: on the machine's path, and none in a checkout. `NODE_20` names the Node that they have; without
 * it, it is the machine's.
 */
export function readersPath(): string {
  const { NODE_20, PATH = '' } = process.env
  const own = PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'))
  return [...(NODE_20 === undefined ? [] : [dirname(NODE_20)]), ...own].join(delimiter)
}

/** `v20.19.6`. */
export const readersNode = (): string =>
  execFileSync('node', ['--version'], { env: { PATH: readersPath() }, encoding: 'utf8' }).trim()

/** Makes a clone in an empty folder as it is after `npm run setup`; what was installed is shared. */
export function cloneCheckout(folder: string): void {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8' }).split('\0')
  for (const file of files.filter((each) => each !== '' && existsSync(join(root, each)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    copyFileSync(join(root, file), join(folder, file))
  }
  // Links lead to packages of the clone, and into the one store.
  for (const place of globSync('{.,*,{packages,services}/*}/node_modules', { cwd: root }))
    cpSync(join(root, place), join(folder, place), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !/node_modules\/\.(?!bin)/.test(source),
    })
  symlinkSync(join(root, 'node_modules/.pnpm'), join(folder, 'node_modules/.pnpm'))
}

/** Shells in the reader's clone. */
export function readersShell(folder: string) {
  const running: Shell[] = []

  /** Runs a command, without npm's look at the registry before it. */
  const shell = (script: string, environment: Environment = {}): Shell => {
    const child = spawn('bash', ['-c', `set -euo pipefail\n${script}`], {
      cwd: folder,
      env: {
        PATH: readersPath(),
        HOME: process.env['HOME'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        npm_config_ignore_scripts: 'true',
        npm_config_update_notifier: 'false',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const started = { child, output: readOutput(child) }
    running.push(started)
    return started
  }

  return {
    shell,
    /** Runs a command to its end and returns what it prints. */
    run: async (script: string, environment: Environment = {}): Promise<string> => {
      for (let runs = 1; ; runs += 1) {
        const { child, output } = shell(script, environment)
        const code = await ended(child)
        if (code === 0) return output()
        if (runs === RUNS_MAX || !DID_NOTHING.test(output()))
          throw new Error(`${script}\nended with ${code}:\n${output()}`)
      }
    },
    endAll: async (): Promise<void> => {
      for (const child of running.toReversed()) await end(child)
    },
  }
}

/** Waits until a program that stays says this. */
export async function untilSaid({ child, output }: Shell, text: RegExp): Promise<RegExpExecArray> {
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${output()}`)
    return text.test(output())
  })
  return text.exec(output()) as RegExpExecArray
}

export async function end({ child }: Shell, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), signal)
  await ended(child)
}
