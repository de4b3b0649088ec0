import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AccessStatus, StatusBody } from './access-answers.ts'
import { endedBody, statusBody } from './access-stand-in.fixture.ts'
import { renewedPeriods, type WindowChange, watchWindow } from './window-watch.ts'

const status = (change: Readonly<Record<string, unknown>> = {}): AccessStatus =>
  StatusBody.parse(statusBody(change))

/** Watches a list of readings, one per poll, to its end. */
async function watched(
  readings: readonly (AccessStatus | Error)[],
  warnSeconds?: number,
): Promise<WindowChange[]> {
  const changes: WindowChange[] = []
  let index = 0
  await new Promise<void>((resolve) => {
    const stop = watchWindow({
      pollMs: 1_000,
      warnSeconds,
      clock: {
        unixMs: () => 0,
        after(_ms, run) {
          if (index < readings.length) setImmediate(run)
          else setImmediate(resolve)
          return () => {}
        },
      },
      readStatus: async () => {
        const reading = readings[index]
        index += 1
        if (reading === undefined) throw new Error('read past the end')
        if (reading instanceof Error) throw reading
        return reading
      },
      onChange: (change) => changes.push(change),
    })
    void stop
  })
  return changes
}

const kinds = (changes: readonly WindowChange[]) =>
  changes.map(({ kind }) => kind).filter((kind) => kind !== 'status')

describe('watch', () => {
  test('a window that moves on by whole periods while it is open has renewed itself', async () => {
    const changes = await watched([
      status(),
      status({ expiresAt: 1_763_600_040, periodsFunded: 2 }),
      status({ expiresAt: 1_763_600_080, periodsFunded: 0 }),
    ])
    expect(changes.filter(({ kind }) => kind === 'renewed')).toMatchObject([
      { periods: 1, renewals: 1 },
      { periods: 2, renewals: 3 },
    ])
  })

  test('closing, opening anew and cancelling are told apart from renewals', async () => {
    const closed = { hasAccess: false, secondsRemaining: 0, active: false, usage: null }
    const changes = await watched([
      status(closed),
      status(),
      status({ active: false }),
      status(closed),
      status({ expiresAt: 1_763_600_060 }),
    ])
    expect(kinds(changes)).toEqual(['opened', 'cancelled', 'closed', 'opened'])
  })

  test('A27: the end of the paid time is told of once, as soon as it is near, and again when it has moved', async () => {
    // Paid until …020 + 3 × 20 s.
    const readings = [
      status({ now: 1_763_600_019 }),
      status({ now: 1_763_600_020 }),
      status({ expiresAt: 1_763_600_040, periodsFunded: 2, now: 1_763_600_021 }),
      status({ expiresAt: 1_763_600_040, periodsFunded: 3, now: 1_763_600_022 }),
      status({ expiresAt: 1_763_600_040, periodsFunded: 3, now: 1_763_600_040 }),
    ]
    const warned = (await watched(readings, 60)).flatMap((change) =>
      change.kind === 'ends-soon' ? [[change.status.nowSeconds, change.endsAtSeconds]] : [],
    )
    expect(warned).toEqual([
      [1_763_600_020, 1_763_600_080],
      [1_763_600_040, 1_763_600_100],
    ])
    expect(kinds(await watched(readings))).not.toContain('ends-soon')
  })

  test('A27: a quota that is used up is told of once', async () => {
    const paused = status({ ended: { ...endedBody, why: 'paused', since: null, purchase: null } })
    expect(kinds(await watched([status(), paused, paused]))).toEqual(['paused'])
  })

  test('A27: a reason that no terminal should show is none, and leaves the rest of the status', () => {
    expect(status({ ended: endedBody }).ended?.purchase?.amountTinybar).toBe(1_200_000_000n)
    const sentence = 'Spent.\u001b[2J'
    expect(status({ ended: { ...endedBody, sentence } })).toMatchObject({
      hasAccess: true,
      ended: null,
    })
    expect(status({ ended: undefined }).ended).toBeNull()
  })

  test('a poll without an answer is reported and the next one goes on', async () => {
    const changes = await watched([status(), new Error('nobody there'), status()])
    expect(kinds(changes)).toEqual(['unreachable'])
  })

  test('no change comes through after the watch was stopped', async () => {
    const changes: WindowChange[] = []
    const stop = watchWindow({
      pollMs: 1,
      clock: { unixMs: () => 0, after: () => () => {} },
      readStatus: async () => status(),
      onChange: (change) => changes.push(change),
    })
    stop()
    await new Promise((resolve) => setImmediate(resolve))
    expect(changes).toEqual([])
  })

  test('renewals of any number of periods add up to the time that passed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 30 }), (steps) => {
        let expiresAt = 1_763_600_020
        let seen = 0
        let before = status()
        for (const step of steps) {
          expiresAt += step * 20
          const after = status({ expiresAt })
          seen += renewedPeriods(before, after)
          before = after
        }
        expect(seen).toBe(steps.reduce((sum, step) => sum + step, 0))
      }),
    )
  })
})
