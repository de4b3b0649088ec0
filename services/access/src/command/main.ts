#!/usr/bin/env node
import { processTerminal } from '@tallystick/service-kit/command'
import { runOperator } from './run-operator.ts'

process.exitCode = await runOperator(processTerminal(process))
