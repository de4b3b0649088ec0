// A local stack as a person starts it, in its own processes, on free ports, with its description in a temporary file so
// that tests leave a developer's own stack alone.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findStack, type StackDescription } from '../../scripts/stack/stack-file.ts'
import { eventually } from './eventually.ts'

/** Root of the checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

export type SpawnedStack = {
  readonly description: StackDescription
  readonly stackFile: string
  readonly child: ChildProcess
  /** Its output so far. */
  output(): string
  /** Presses Ctrl-C and resolves with the exit code. */
  interrupt(): Promise<number | null>
}

/** Resolves with the exit code, null after a signal, once all that it said has arrived. */
export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  return await new Promise((resolve) => child.once('close', resolve))
}

/** Whether something answers there, and says that all is well. */
export const isOk = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )

/** Spawns a script of the repository and collects its output. */
export function spawnScript(script: string, flags: readonly string[]) {
  const child = spawn(process.execPath, [script, ...flags], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { child, output: readOutput(child) }
}

/** Everything that a program has said so far. */
export function readOutput({
  stderr,
  stdout,
}: Pick<ChildProcess, 'stderr' | 'stdout'>): () => string {
  let text = ''
  for (const said of [stdout, stderr])
    said?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
    })
  return () => text
}

/** Starts `scripts/start.ts` and waits until it has described itself. If it does not, it is stopped and leaves nothing. */
export async function spawnStack(more: readonly string[] = []): Promise<SpawnedStack> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-'))
  const stackFile = join(folder, 'stack.json')
  const places = ['--log-folder', join(folder, 'logs'), '--data-folder', join(folder, 'data')]
  const flags = ['--free-ports', '--stack-file', stackFile, ...places, ...more]
  const { child, output } = spawnScript('scripts/start.ts', flags)
  try {
    await eventually(() => {
      if (child.exitCode !== null) throw new Error('it ended')
      return existsSync(stackFile) && output().includes('Ctrl-C stops everything')
    })
  } catch (cause) {
    child.kill('SIGINT')
    await ended(child)
    throw new Error(`npm start did not come up:\n${output()}`, { cause })
  }
  const found = findStack(stackFile)
  if (found.kind !== 'running') throw new Error(`the stack is ${found.kind}`)
  return {
    description: found.description,
    stackFile,
    child,
    output,
    interrupt: async () => {
      child.kill('SIGINT')
      return await ended(child)
    },
  }
}
