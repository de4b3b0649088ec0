#!/usr/bin/env node
import { systemClock } from '@tallystick/x402'
import { runAgent } from './command/run-agent.ts'

/** For an output that is not a terminal, where nothing is drawn. */
const COLUMNS_UNKNOWN = 80

process.exitCode = await runAgent({
  arguments: process.argv.slice(2),
  environment: process.env,
  clock: systemClock,
  output: {
    print: (line) => process.stdout.write(`${line}\n`),
    printError: (line) => process.stderr.write(`${line}\n`),
    columns: () => process.stdout.columns ?? COLUMNS_UNKNOWN,
    redraw: process.stdout.isTTY ? (line) => process.stdout.write(`\r\u001B[2K${line}`) : undefined,
  },
  onInterrupt: (run) => {
    process.once('SIGINT', run)
    process.once('SIGTERM', run)
  },
})
