// `npm stop`: ends the stack that `npm start` runs, and what a killed one left running.

import { rmSync } from 'node:fs'
import { pause, systemClock } from '@tallystick/service-kit'
import { isRunning } from '@tallystick/service-kit/stack-environment'
import { readFlags } from './stack/read-flags.ts'
import { findStack, sayProcesses, stackFile } from './stack/stack-file.ts'

const HELP = `npm stop: ends the stack that npm start runs, and what a killed one left running

  npm stop -- [--stack-file FILE]

Example: npm stop`

/** The stack gives each service 11 s in turn of its dependencies; most take one. */
const STOP_MS_MAX = 30_000
const LOOK_MS = 50

const file = readFlags({ 'stack-file': { type: 'string', default: stackFile } }, HELP)['stack-file']

/** Each is the first of a process group of its own, or the stack itself, which ends its services in order. */
async function end(processes: Readonly<Record<string, number>>): Promise<void> {
  const running = () => Object.entries(processes).filter(([, pid]) => isRunning(pid))
  if (running().length === 0) return
  for (const [, pid] of running()) process.kill(pid, 'SIGTERM')
  const endMs = performance.now() + STOP_MS_MAX
  while (running().length > 0 && performance.now() < endMs) await pause(systemClock, LOOK_MS)
  for (const [, pid] of running()) process.kill(pid, 'SIGKILL')
  console.log(`Ended: ${sayProcesses(processes)}.`)
}

const found = findStack(file)
if (found.kind === 'none') console.log('No stack is running.')
if (found.kind === 'running') await end({ stack: found.description.process.pid })
// Also what a stack left that had to be killed.
const left = findStack(file)
if (left.kind === 'stale') {
  await end(left.leftovers)
  rmSync(file, { force: true })
}
