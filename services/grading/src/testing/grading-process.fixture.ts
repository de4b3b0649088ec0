import { fileURLToPath } from 'node:url'
import { startServiceProcess } from '@tallystick/service-kit/service-process'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/** Starts grading in its own process, with that configuration and no other; `words` are Node's own. */
export const startGradingProcess = (
  environment: Readonly<Record<string, string>>,
  words: readonly string[] = [],
) => startServiceProcess([...words, main], environment)
