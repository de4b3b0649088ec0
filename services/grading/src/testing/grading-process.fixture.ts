import { fileURLToPath } from 'node:url'
import { startServiceProcess } from '@tallystick/service-kit/service-process'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/** Starts grading in its own process, with that configuration and no other. */
export const startGradingProcess = (environment: Readonly<Record<string, string>>) =>
  startServiceProcess([main], environment)
