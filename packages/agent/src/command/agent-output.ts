/** Where the command writes. */
export type AgentOutput = {
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
  /** Replaces the unfinished last line; only there on a terminal. An empty text clears it. */
  readonly redraw: ((line: string) => void) | undefined
}

/** JSON for scripts, amounts as decimal strings in tinybar. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? part.toString() : part,
  )
}

/** The runtime's stdout and stderr. */
export function processOutput(): AgentOutput {
  return {
    print: (line) => process.stdout.write(`${line}\n`),
    printError: (line) => process.stderr.write(`${line}\n`),
    redraw: process.stdout.isTTY ? (line) => process.stdout.write(`\r\u001B[2K${line}`) : undefined,
  }
}
