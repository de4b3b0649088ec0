import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccessAgent } from '../access-agent.ts'
import { type AccessStatus, StatusBody } from '../access-answers.ts'
import { endedBody, statusBody } from '../access-stand-in.fixture.ts'
import type { WindowChange } from '../window-watch.ts'
import { EXIT, type ExitCode } from './output.ts'
import { liveLine, runWatch } from './run-watch.ts'

const status = (change: Readonly<Record<string, unknown>> = {}): AccessStatus =>
  StatusBody.parse(statusBody(change))

const open: WindowChange = { kind: 'status', status: status() }
const renewed = (renewals: number): WindowChange => ({
  kind: 'renewed',
  status: status({ periodsFunded: 2 }),
  periods: 1,
  renewals,
})
const ended = status({ hasAccess: false, ended: endedBody })
const gone: WindowChange = { kind: 'closed', status: ended }

type Watched = {
  readonly code: ExitCode
  readonly lines: readonly string[]
  readonly drawn: readonly string[]
  readonly isStopped: boolean
}

async function watched(
  changes: readonly WindowChange[],
  options: {
    untilRenewals?: number
    warnSeconds?: number
    isJson?: boolean
    isTerminal?: boolean
  } = {},
): Promise<Watched> {
  const lines: string[] = []
  const drawn: string[] = []
  let isStopped = false
  let interrupt: (() => void) | undefined
  const agent: Pick<AccessAgent, 'watch'> = {
    watch(onChange) {
      setImmediate(() => {
        for (const change of changes) onChange(change)
        interrupt?.()
      })
      return () => {
        isStopped = true
      }
    },
  }
  const code = await runWatch({
    agent,
    clock: { unixMs: () => 0, after: () => () => {} },
    isJson: options.isJson ?? false,
    untilRenewals: options.untilRenewals,
    warnSeconds: options.warnSeconds,
    onInterrupt: (run) => {
      interrupt = run
    },
    output: {
      print: (line) => void lines.push(line),
      printError: (line) => void lines.push(line),
      redraw: options.isTerminal === true ? (line) => void drawn.push(line) : undefined,
      columns: () => 80,
    },
  })
  return { code, lines, drawn, isStopped }
}

describe('watch', () => {
  test('ends by itself after the renewals asked for', async () => {
    const { code, lines, isStopped } = await watched([open, renewed(1), renewed(2), gone], {
      untilRenewals: 2,
    })
    expect({ code, isStopped }).toEqual({ code: EXIT.done, isStopped: true })
    expect(lines.filter((line) => line.startsWith('Renewed itself'))).toHaveLength(2)
    expect(lines.some((line) => line.startsWith('Closed'))).toBe(false)
  })

  test('with renewals asked for, a window that closes ends it with a code of its own', async () => {
    expect((await watched([open, gone], { untilRenewals: 1 })).code).toBe(EXIT.nothingThere)
    const none: WindowChange = { kind: 'status', status: status({ hasAccess: false }) }
    expect((await watched([none], { untilRenewals: 1 })).code).toBe(EXIT.nothingThere)
  })

  test('without a number it goes on until it is interrupted', async () => {
    expect(await watched([open, gone])).toMatchObject({ code: EXIT.done, isStopped: true })
  })

  test('A27: a window that closes, or whose quota is used up, says why', async () => {
    const { lines } = await watched([open, gone, { kind: 'paused', status: ended }])
    expect(lines.slice(-2)).toEqual([`Closed. ${endedBody.sentence}`, endedBody.sentence])
  })

  test('A27: --ends-within ends it with a code of its own before the end, with the price of a period', async () => {
    const soon: WindowChange = { kind: 'ends-soon', status: status(), endsAtSeconds: 1_763_600_080 }
    const { code, lines } = await watched([open, soon, gone], { warnSeconds: 100 })
    expect(code).toBe(EXIT.endsSoon)
    expect(lines.at(-1)).toMatch(
      /^The paid time ends at .*\. A period more, until .*, costs 3 HBAR: topup --hbar 3$/,
    )
    const cancelled = { ...soon, status: status({ active: false }) }
    const said = await watched([open, cancelled], { warnSeconds: 100 })
    expect(said.lines.at(-1)).toMatch(/^The paid time ends at .*: it was cancelled\.$/)
  })

  test('A27: --ends-within ends it with another code once access has ended, with the reason', async () => {
    const poll: WindowChange = { kind: 'status', status: ended }
    const closing = await watched([open, poll, gone], { warnSeconds: 100 })
    expect(closing.code).toBe(EXIT.ended)
    expect(closing.lines.at(-1)).toBe(`Closed. ${endedBody.sentence}`)
    const before = await watched([poll], { warnSeconds: 100 })
    expect(before.code).toBe(EXIT.ended)
    expect(before.lines[0]).toContain(endedBody.sentence)
    const never = status({ hasAccess: false, expiresAt: 0 })
    const none = await watched([{ kind: 'status', status: never }], { warnSeconds: 100 })
    expect(none.code).toBe(EXIT.nothingThere)
  })

  test('A27: --json has the reason, the end and the price by the service’s own names', async () => {
    const soon: WindowChange = { kind: 'ends-soon', status: ended, endsAtSeconds: 1_763_600_080 }
    const { lines } = await watched([soon], { isJson: true })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      kind: 'ends-soon',
      endsAt: 1_763_600_080,
      status: { ended: endedBody },
    })
  })

  test('away from a terminal a poll without news prints nothing', async () => {
    const { lines } = await watched([open, open, open, renewed(1)])
    expect(lines.filter((line) => line.startsWith('The window of'))).toHaveLength(1)
    expect(lines.at(-1)).toMatch(
      /^Renewed itself: until .*, 2 renewals left; nothing was signed\.$/,
    )
  })

  test('on a terminal one line is drawn in place and cleared before each sentence and at the end', async () => {
    const { drawn } = await watched([open, renewed(1)], { isTerminal: true })
    expect(drawn[0]).toBe('')
    expect(drawn.some((line) => line.includes('█') && line.includes('17 of 20 calls'))).toBe(true)
    expect(drawn.at(-1)).toBe('')
  })

  test('--json gives one object per change', async () => {
    const { lines } = await watched([open, renewed(1)], { isJson: true })
    expect(lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual([
      'status',
      'renewed',
    ])
  })

  test('while the service is down it says so once, and once that it answers again', async () => {
    const down: WindowChange = { kind: 'unreachable', reason: 'No service at http://x.' }
    const { lines } = await watched([open, down, down, down, open, down, down])
    expect(lines.slice(3)).toEqual([
      'No service at http://x.',
      'The service answers again.',
      'No service at http://x.',
    ])
    const json = await watched([open, down, down, open], { isJson: true })
    expect(json.lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual([
      'status',
      'unreachable',
      'status',
    ])
  })

  test('--json has the service’s own names', async () => {
    const { lines } = await watched([open], { isJson: true })
    const { unavailable: _left, ...wire } = statusBody()
    expect(JSON.parse(lines[0] ?? '')).toEqual({ kind: 'status', status: wire })
  })

  test('the bar empties with the seconds of the window', () => {
    const line = (secondsRemaining: number, elapsedMs: number) =>
      liveLine(status({ secondsRemaining }), { elapsedMs, columns: 80 })
    expect(line(20, 0)).toMatch(/^█{20} {3}20\.0 s/)
    expect(line(20, 10_000)).toMatch(/^█{10}░{10} {3}10\.0 s/)
    expect(line(20, 60_000)).toMatch(/^░{20} {4}0\.0 s/)
    const closed = status({ hasAccess: false })
    expect(liveLine(closed, { elapsedMs: 0, columns: 80 })).toBe('No window is open.')
  })

  test('the live line fits into every terminal from 40 columns on, with the seconds and a bar', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 40, max: 200 }),
        fc.record({
          secondsRemaining: fc.nat(6_000_000),
          periodsFunded: fc.nat(9_999),
          active: fc.boolean(),
          balanceTinybar: fc.bigInt({ min: 0n, max: 10n ** 18n }).map(String),
          usage: fc.option(
            fc.record({
              callsUsed: fc.nat(1_000_000),
              callsAllowed: fc.nat(1_000_000),
              callsRemaining: fc.nat(1_000_000),
              resetsAt: fc.nat(),
            }),
          ),
        }),
        (columns, change) => {
          const line = liveLine(status(change), { elapsedMs: 0, columns })
          expect(line.length).toBeLessThan(columns)
          expect(line).toMatch(/^[█░]{4,20} +\d+\.\d s/)
        },
      ),
    )
  })

  test('in 40 columns it still says what renews and what is left', () => {
    expect(liveLine(status({ secondsRemaining: 20 }), { elapsedMs: 0, columns: 40 })).toBe(
      '█████████   20.0 s · renews 3 × · 17/20',
    )
  })
})
