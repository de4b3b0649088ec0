#!/usr/bin/env node
import { processOutput } from './command/agent-output.ts'
import { runAgent } from './command/run-agent.ts'
import { systemClock } from './system-clock.ts'

process.exitCode = await runAgent({
  arguments: process.argv.slice(2),
  environment: process.env,
  clock: systemClock,
  output: processOutput(),
  onInterrupt: (run) => {
    process.once('SIGINT', run)
    process.once('SIGTERM', run)
  },
})
