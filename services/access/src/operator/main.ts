#!/usr/bin/env node
import { systemClock } from '@tallystick/service-kit'
import { runOperator } from './run-operator.ts'

process.exitCode = await runOperator({
  arguments: process.argv.slice(2),
  environment: process.env,
  clock: systemClock,
  print: (line) => process.stdout.write(`${line}\n`),
  printError: (line) => process.stderr.write(`${line}\n`),
})
