// One local stack for all the tests that use it as it is, started once for the project `shared` of vitest.config.ts. Tests that kill,
// stop or travel in time start stacks of their own.
import type { TestProject } from 'vitest/node'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'
import { spawnStack } from './spawned-stack.ts'

/** The running stack as its tests see it, by `inject('stack')`. */
type SharedStack = {
  readonly description: StackDescription
  readonly stackFile: string
  /** What `npm start` printed until it was up. */
  readonly output: string
}

declare module 'vitest' {
  interface ProvidedContext {
    stack: SharedStack
  }
}

/** Starts the stack; vitest calls the returned function after the last test. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stack = await spawnStack()
  const { description, stackFile } = stack
  project.provide('stack', { description, stackFile, output: stack.output() })
  return async () => {
    await stack.interrupt()
  }
}
