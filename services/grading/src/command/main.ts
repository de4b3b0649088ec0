#!/usr/bin/env node
import { processTerminal } from '@tallystick/service-kit/command'
import { runGrading } from './run-grading.ts'

process.exitCode = await runGrading(processTerminal(process))
