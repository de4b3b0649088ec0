// The `watch` verb: a live line on a terminal, one line per event anywhere else.
import type { Clock } from '@tallystick/x402'
import { formatHbar } from '@tallystick/x402/hedera'
import type { AccessAgent } from '../access-agent.ts'
import type { AccessStatus } from '../access-answers.ts'
import type { WindowChange } from '../window-watch.ts'
import { type AgentOutput, EXIT, type ExitCode, jsonLine } from './output.ts'
import { counted, statusLines, timeOfDay } from './sentences.ts'

/** Often enough to show tenths of a second, seldom enough to cost nothing. */
const REDRAW_MS = 100

type WatchRun = {
  readonly agent: Pick<AccessAgent, 'watch'>
  readonly clock: Clock
  readonly output: AgentOutput
  readonly isJson: boolean
  /** Ends after this many renewals; without it, only an interrupt ends it. */
  readonly untilRenewals: number | undefined
  /** Ends when the paid time ends within so many seconds, or has ended. */
  readonly warnSeconds: number | undefined
  /** Registers what to run at Ctrl-C. */
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
    case 'paused':
      return change.status.ended?.sentence
    case 'ends-soon':
      return endLine(change.status, change.endsAtSeconds)
    case 'closed':
      return `Closed. ${change.status.ended?.sentence ?? ''}`.trim()
    default:
      return change satisfies never
  }
}

/** When the paid time ends, and what a period more costs. */
function endLine(status: AccessStatus, endsAtSeconds: number): string {
  const end = `The paid time ends at ${timeOfDay(endsAtSeconds)}`
  if (!status.isActive) return `${end}: it was cancelled.`
  const { periodSeconds, pricePerPeriodTinybar } = status
  const [hbar] = formatHbar(pricePerPeriodTinybar).split(' ')
  const until = timeOfDay(endsAtSeconds + periodSeconds)
  return `${end}. A period more, until ${until}, costs ${hbar} HBAR: topup --hbar ${hbar}`
}

/** Whether a change is worth showing: while the service is down, every poll says the same. */
function withoutRepeats(): (change: WindowChange) => boolean {
  let lastReason: string | undefined
  return (change) => {
    const reason = change.kind === 'unreachable' ? change.reason : undefined
    const isRepeat = reason !== undefined && reason === lastReason
    lastReason = reason
    return !isRepeat
  }
}

/** How the watch ends after a change; undefined if it continues. */
function ending(
  change: WindowChange,
  options: Pick<WatchRun, 'untilRenewals' | 'warnSeconds'> & { readonly isFirst: boolean },
): ExitCode | undefined {
  const { isFirst, untilRenewals, warnSeconds } = options
  if (change.kind === 'ends-soon') return EXIT.endsSoon
  if (change.kind === 'renewed')
    return change.renewals >= (untilRenewals ?? Number.POSITIVE_INFINITY) ? EXIT.done : undefined
  // Later polls show an end as `closed`, which has the reason.
  const isNone = change.kind === 'status' && isFirst && !change.status.hasAccess
  if (change.kind !== 'closed' && !isNone) return undefined
  if (warnSeconds === undefined) return untilRenewals === undefined ? undefined : EXIT.nothingThere
  return change.status.expiresAtSeconds > 0 ? EXIT.ended : EXIT.nothingThere
}

type Screen = { show(change: WindowChange): void; end(): void }

function lineScreen(run: WatchRun): Screen {
  const { clock, output } = run
  let shown: { readonly status: AccessStatus; readonly atMs: number } | undefined
  let cancelRedraw: (() => void) | undefined
  let isDown = false

  function drawLive(): void {
    if (output.redraw === undefined || shown === undefined) return
    cancelRedraw?.()
    const elapsedMs = clock.unixMs() - shown.atMs
    output.redraw(liveLine(shown.status, { elapsedMs, columns: output.columns() }))
    cancelRedraw = clock.after(REDRAW_MS, drawLive)
  }

  return {
    show(change) {
      const isFirst = shown === undefined && change.kind === 'status'
      const isBack = isDown && change.kind === 'status'
      isDown = change.kind === 'unreachable'
      if (change.kind === 'status') shown = { status: change.status, atMs: clock.unixMs() }
      const said = changeLine(change)
      const lines = isFirst ? statusLines(change.status) : said === undefined ? [] : [said]
      if (lines.length > 0 || isBack) output.redraw?.('')
      if (isBack) output.print('The service answers again.')
      for (const line of lines) output.print(line)
      drawLive()
    },
    end() {
      cancelRedraw?.()
      output.redraw?.('')
    },
  }
}

/**
 * Watches until an interrupt, with `untilRenewals` until that many renewals are seen or the window has closed, and with
 * `warnSeconds` until the paid time ends soon or has ended.
 */
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
    const isNews = withoutRepeats()
    let isFirst = true
    const stop = run.agent.watch((change) => {
      if (isOver) return
      if (isNews(change)) screen.show(change)
      const code = ending(change, { ...run, isFirst })
      isFirst &&= change.kind !== 'status'
      if (code !== undefined) finish(code)
    }, run)
    run.onInterrupt(() => finish(EXIT.done))
  })
}

/** A longer bar shows nothing more. */
const BAR_CELLS_MAX = 20

/** A shorter bar shows nothing. */
const BAR_CELLS_MIN = 4

/** Room for the cursor after the line, since a line that wraps is not cleared. */
const COLUMNS_FOR_CURSOR = 1

/**
 * The window as one line: a bar that empties, seconds, renewals, quota. `elapsedMs` is the time since the status was read. A
 * shorter bar and fewer words make it fit into `columns`, down to 40.
 */
export function liveLine(
  status: AccessStatus,
  { elapsedMs, columns }: { elapsedMs: number; columns: number },
): string {
  if (!status.hasAccess) return 'No window is open.'
  const remaining = Math.max(0, status.secondsRemaining - elapsedMs / 1_000)
  const share = status.periodSeconds === 0 ? 0 : Math.min(1, remaining / status.periodSeconds)
  const room = columns - COLUMNS_FOR_CURSOR
  const seconds = `${remaining.toFixed(1).padStart(6)} s`
  const texts = liveTexts(status).map((text) => `${seconds} · ${text}`)
  const text = texts.find((each) => each.length + 1 + BAR_CELLS_MIN <= room) ?? seconds
  const cells = Math.max(0, Math.min(BAR_CELLS_MAX, room - text.length - 1))
  const full = Math.round(share * cells)
  return `${'█'.repeat(full)}${'░'.repeat(cells - full)} ${text}`.slice(0, room)
}

/** These follow the seconds, the most informative first. */
function liveTexts({ balanceTinybar, isActive, periodsFunded, usage }: AccessStatus): string[] {
  const { callsAllowed = 0, callsRemaining = 0 } = usage ?? {}
  const calls = usage === null ? '' : ` · ${callsRemaining} of ${callsAllowed} calls`
  const few = usage === null ? '' : ` · ${callsRemaining}/${callsAllowed}`
  if (!isActive) return [`cancelled${calls}`, `cancelled${few}`, 'cancelled']
  const renewals = `renews ${counted(periodsFunded, 'more time')}`
  return [
    `${renewals} (${formatHbar(balanceTinybar)})${calls}`,
    `${renewals}${calls}`,
    `renews ${periodsFunded} ×${few}`,
    `${periodsFunded} ×${few}`,
    `renews ${periodsFunded} ×`,
  ]
}
