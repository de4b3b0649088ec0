// The command in this process, for tests: no terminal to draw on, no stack to find, and no Ctrl-C.
import type { Clock } from '@tallystick/x402'
import { runAgent } from './run-agent.ts'

/** Runs one command line, and returns its exit code and what it printed. */
export async function runAgentHere(line: {
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly stackFile?: string
}) {
  const out: string[] = []
  const err: string[] = []
  const code = await runAgent({
    ...line,
    stdin: (async function* () {})(),
    print: (text) => void out.push(text),
    printError: (text) => void err.push(text),
    redraw: undefined,
    columns: () => 80,
    onInterrupt: () => {},
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}
