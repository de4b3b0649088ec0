import { systemClock } from '../clock.ts'
import type { CommandTerminal } from './command-verb.ts'

/** The terminal of this process; the command's entry file hands `process` in. */
export function processTerminal(owner: NodeJS.Process): CommandTerminal {
  const { argv, env, stdin, stdout, stderr } = owner
  // A reader that goes away, such as `head`, ends the command and is no error.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') owner.exit(0)
    throw error
  })
  return {
    arguments: argv.slice(2),
    environment: env,
    clock: systemClock,
    stdin,
    print: (line) => stdout.write(`${line}\n`),
    printError: (line) => stderr.write(`${line}\n`),
    progress: stderr.isTTY ? (line) => void stderr.write(`\r\u001b[K${line}`) : undefined,
  }
}
