#!/usr/bin/env node
import { runTokenCommand } from './token-command.ts'

const result = runTokenCommand(process.argv.slice(2), process.env)
process.stdout.write(result.stdout)
process.stderr.write(result.stderr)
process.exitCode = result.exitCode
