import { toWire } from '../access-answers.ts'

/** Where the command writes. */
export type AgentOutput = {
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
  /** Replaces the unfinished last line; absent unless on a terminal. An empty text clears it. */
  readonly redraw: ((line: string) => void) | undefined
  /** Current width of the terminal, characters. */
  readonly columns: () => number
}

/** JSON for scripts: the service's own names, amounts as decimal strings in tinybar. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(toWire(value))
}

/** Exit codes of `tallystick-agent`, for scripts. */
export const EXIT = {
  done: 0,
  /** The service, the ledger or the mirror node is down, or a payment was refused before it moved money. */
  failed: 1,
  /** A bad argument or environment variable; nothing was tried. */
  usage: 2,
  /** A payment is needed, but `--max-hbar` is lower or absent; nothing was signed. */
  paymentNeeded: 3,
  /** The quota of this window is spent. */
  quotaSpent: 4,
  /** A payment may have moved money, and its window is not open yet. Ask again; do not pay again. */
  paymentPending: 5,
  /** There is nothing to cancel, to top up or to watch. */
  nothingThere: 6,
  /** `watch --ends-within`: the paid time ends within so many seconds. */
  endsSoon: 7,
  /** `watch --ends-within`: access has ended. */
  ended: 8,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
