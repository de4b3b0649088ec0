#!/usr/bin/env node
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { runTokenCommand } from './command/run-token-command.ts'

const result = runTokenCommand({
  arguments: process.argv.slice(2),
  environment: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  nowSeconds: Date.now() / 1000,
  jti: randomUUID(),
})
process.stdout.write(result.stdout)
process.stderr.write(result.stderr)
process.exitCode = result.exitCode
