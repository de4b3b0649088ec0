#!/usr/bin/env node
import { processOutput } from './command/agent-output.ts'
import { runAgent } from './command/run-agent.ts'
import { systemClock } from './system-clock.ts'

const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort())
process.once('SIGTERM', () => interrupted.abort())

process.exitCode = await runAgent({
  arguments: process.argv.slice(2),
  environment: process.env,
  clock: systemClock,
  output: processOutput(),
  signal: interrupted.signal,
})
