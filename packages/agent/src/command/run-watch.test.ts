import { describe, expect, test } from 'vitest'
import type { AccessAgent } from '../access-agent.ts'
import { type AccessStatus, StatusBody } from '../access-answers.ts'
import { statusBody } from '../access-stand-in.fixture.ts'
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
const gone: WindowChange = { kind: 'closed', status: status({ hasAccess: false }) }

type Watched = {
  readonly code: ExitCode
  readonly lines: readonly string[]
  readonly drawn: readonly string[]
  readonly isStopped: boolean
}

async function watched(
  changes: readonly WindowChange[],
  options: { untilRenewals?: number; isJson?: boolean; isTerminal?: boolean } = {},
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
    onInterrupt: (run) => {
      interrupt = run
    },
    output: {
      print: (line) => void lines.push(line),
      printError: (line) => void lines.push(line),
      redraw: options.isTerminal === true ? (line) => void drawn.push(line) : undefined,
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

  test('the bar empties with the seconds of the window', () => {
    expect(liveLine(status({ secondsRemaining: 20 }), 0)).toMatch(/^█{20} {3}20\.0 s/)
    expect(liveLine(status({ secondsRemaining: 20 }), 10_000)).toMatch(/^█{10}░{10} {3}10\.0 s/)
    expect(liveLine(status({ secondsRemaining: 20 }), 60_000)).toMatch(/^░{20} {4}0\.0 s/)
    expect(liveLine(status({ hasAccess: false }), 0)).toBe('No window is open.')
  })
})
