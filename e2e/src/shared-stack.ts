// One local stack for all tests that use it unchanged, started once for the project `shared` in vitest.config.ts. Tests
// that kill, stop or travel in time start their own stacks.
import type { TestProject } from 'vitest/node'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'
import { spawnStack } from './spawned-stack.ts'

/** The running stack as tests get it from `inject('stack')`. */
type SharedStack = {
  readonly description: StackDescription
  readonly stackFile: string
  /** The output of `npm start` up to readiness. */
  readonly output: string
}

declare module 'vitest' {
  interface ProvidedContext {
    stack: SharedStack
  }
}

/** Starts the stack; vitest calls the returned function after the last test. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stack = await spawnStack(['--sign-in'])
  const { description, stackFile } = stack
  project.provide('stack', { description, stackFile, output: stack.output() })
  return async () => {
    await stack.interrupt()
  }
}
