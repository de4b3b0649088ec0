#!/usr/bin/env node
import { processTerminal } from '@tallystick/service-kit/command'
import { runAgent } from './command/run-agent.ts'

/** For an output that is not a terminal, where nothing is drawn. */
const COLUMNS_UNKNOWN = 80

process.exitCode = await runAgent({
  ...processTerminal(process),
  columns: () => process.stdout.columns ?? COLUMNS_UNKNOWN,
  redraw: process.stdout.isTTY ? (line) => process.stdout.write(`\r\u001B[2K${line}`) : undefined,
  onInterrupt: (run) => {
    process.once('SIGINT', run)
    process.once('SIGTERM', run)
  },
})
