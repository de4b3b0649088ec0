#!/usr/bin/env node
import { processTerminal } from '@tallystick/service-kit/command'
import { runCare } from './run-care.ts'

process.exitCode = await runCare(processTerminal(process))
