// The `watch` verb: a live line on a terminal, events line by line anywhere else.
import type { Clock } from '@tallystick/x402'
import { formatHbar } from '@tallystick/x402/hedera'
import type { AccessAgent } from '../access-agent.ts'
import type { AccessStatus } from '../access-answers.ts'
import type { WindowChange } from '../window-watch.ts'
import { type AgentOutput, EXIT, type ExitCode, jsonLine } from './output.ts'
import { counted, statusLines, timeOfDay } from './sentences.ts'

/** Often enough for the tenths of a second to run, seldom enough to cost nothing. */
const REDRAW_MS = 100

type WatchRun = {
  readonly agent: Pick<AccessAgent, 'watch'>
  readonly clock: Clock
  readonly output: AgentOutput
  readonly isJson: boolean
  /** Ends by itself after so many renewals; without it only an interrupt ends it. */
  readonly untilRenewals: number | undefined
  /** Has `run` called at Ctrl-C. */
  readonly onInterrupt: (run: () => void) => void
}

/** A change as a sentence; `undefined` for a poll that shows nothing new. */
function changeLine(change: WindowChange): string | undefined {
  if (change.kind === 'unreachable') return change.reason
  const { expiresAtSeconds, periodsFunded } = change.status
  const until = timeOfDay(expiresAtSeconds)
  switch (change.kind) {
    case 'status':
      return undefined
    case 'opened':
      return `Opened: until ${until}.`
    case 'renewed': {
      const times = change.periods === 1 ? '' : ` ${change.periods} times`
      return `Renewed itself${times}: until ${until}, ${counted(periodsFunded, 'renewal')} left; nothing was signed.`
    }
    case 'cancelled':
      return `Cancelled: it closes at ${until}.`
    case 'closed':
      break
  }
  return 'Closed: no further period is paid for.'
}

/** How the watch ends after a change; `undefined` where it goes on. */
function ending(change: WindowChange, untilRenewals: number | undefined): ExitCode | undefined {
  if (untilRenewals === undefined) return undefined
  if (change.kind === 'renewed' && change.renewals >= untilRenewals) return EXIT.done
  const isOver = change.kind === 'closed' || (change.kind === 'status' && !change.status.hasAccess)
  return isOver ? EXIT.nothingThere : undefined
}

type Screen = { show(change: WindowChange): void; end(): void }

function lineScreen(run: WatchRun): Screen {
  const { clock, output } = run
  let shown: { readonly status: AccessStatus; readonly atMs: number } | undefined
  let cancelRedraw: (() => void) | undefined

  function drawLive(): void {
    if (output.redraw === undefined || shown === undefined) return
    cancelRedraw?.()
    output.redraw(liveLine(shown.status, clock.unixMs() - shown.atMs))
    cancelRedraw = clock.after(REDRAW_MS, drawLive)
  }

  return {
    show(change) {
      const isFirst = shown === undefined && change.kind === 'status'
      if (change.kind === 'status') shown = { status: change.status, atMs: clock.unixMs() }
      const said = changeLine(change)
      const lines = isFirst ? statusLines(change.status) : said === undefined ? [] : [said]
      if (lines.length > 0) output.redraw?.('')
      for (const line of lines) output.print(line)
      drawLive()
    },
    end() {
      cancelRedraw?.()
      output.redraw?.('')
    },
  }
}

/** Watches until the renewals are seen, the window is gone (with a number to see) or an interrupt comes. */
export function runWatch(run: WatchRun): Promise<ExitCode> {
  const screen: Screen = run.isJson
    ? { show: (change) => run.output.print(jsonLine(change)), end: () => {} }
    : lineScreen(run)
  return new Promise((resolve) => {
    let isOver = false
    function finish(code: ExitCode): void {
      if (isOver) return
      isOver = true
      stop()
      screen.end()
      resolve(code)
    }
    const stop = run.agent.watch((change) => {
      if (isOver) return
      screen.show(change)
      const code = ending(change, run.untilRenewals)
      if (code !== undefined) finish(code)
    })
    run.onInterrupt(() => finish(EXIT.done))
  })
}

const BAR_CELLS = 20

/** The window as one line: a bar that empties, seconds, renewals, quota. `elapsedMs` since the status was read. */
export function liveLine(status: AccessStatus, elapsedMs: number): string {
  if (!status.hasAccess) return 'No window is open.'
  const remaining = Math.max(0, status.secondsRemaining - elapsedMs / 1_000)
  const share = status.periodSeconds === 0 ? 0 : Math.min(1, remaining / status.periodSeconds)
  const full = Math.round(share * BAR_CELLS)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full)
  const calls =
    status.usage === null
      ? ''
      : ` · ${status.usage.callsRemaining} of ${status.usage.callsAllowed} calls`
  const renewals = status.isActive
    ? `renews ${counted(status.periodsFunded, 'more time')} (${formatHbar(status.balanceTinybar)})`
    : 'cancelled'
  return `${bar} ${remaining.toFixed(1).padStart(6)} s · ${renewals}${calls}`
}
