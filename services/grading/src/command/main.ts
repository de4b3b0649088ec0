#!/usr/bin/env node
import { systemClock } from '@tallystick/service-kit'
import { runGrading } from './run-grading.ts'

// A reader that goes away, such as `head`, ends the command and is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runGrading({
  arguments: process.argv.slice(2),
  environment: process.env,
  clock: systemClock,
  stdin: process.stdin,
  print: (line) => process.stdout.write(`${line}\n`),
  printError: (line) => process.stderr.write(`${line}\n`),
  ...(process.stderr.isTTY
    ? { progress: (line: string) => void process.stderr.write(`\r\u001b[K${line}`) }
    : {}),
})
