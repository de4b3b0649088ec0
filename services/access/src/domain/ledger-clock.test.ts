import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createLedgerClock } from './ledger-clock.ts'

const NOW = 1_800_000_000

/** A clock that is so many seconds ahead of the ledger's, and a node that lags behind it. */
async function compared(
  aheadSeconds: number,
  { lagSeconds = 4, hasOwnTime = true }: { lagSeconds?: number; hasOwnTime?: boolean } = {},
) {
  const ledgerClock = createLedgerClock({ clock: manualClock((NOW + aheadSeconds) * 1_000) })
  const nodeSeconds = hasOwnTime ? NOW : undefined
  await ledgerClock.compare(async () => ({ consensusSeconds: NOW - lagSeconds, nodeSeconds }))
  return { off: ledgerClock.offSeconds(), ledgerMs: ledgerClock.clock.unixMs() }
}

describe('A3: the clock of the machine', () => {
  test.each([30, -30])('is %i s off: known, and the ledger’s time is used', async (ahead) => {
    const { off, ledgerMs } = await compared(ahead)
    expect(Math.abs(off - ahead)).toBeLessThanOrEqual(1)
    expect(Math.abs(ledgerMs - NOW * 1_000)).toBeLessThanOrEqual(1_000)
  })

  test.each([0, 5, -5])('is %i s off: that is within what clocks do', async (ahead) => {
    expect(await compared(ahead)).toEqual({ off: 0, ledgerMs: (NOW + ahead) * 1_000 })
  })

  test('is right although the node reads the ledger late, by 10 s or by minutes', async () => {
    for (const lagSeconds of [10, 60, 600])
      expect(await compared(0, { lagSeconds })).toMatchObject({ off: 0 })
  })

  test('is found slow by what the ledger has reached, where a node does not tell its time', async () => {
    expect((await compared(-30, { hasOwnTime: false })).off).toBe(-26)
    expect((await compared(30, { hasOwnTime: false })).off).toBe(0)
  })

  test('is judged by no node whose own time is behind the ledger', async () => {
    expect((await compared(3_600, { lagSeconds: -3_600 })).off).toBe(0)
  })

  test('is right again once it is set', async () => {
    const clock = manualClock((NOW - 30) * 1_000)
    const ledgerClock = createLedgerClock({ clock })
    const read = async () => ({ consensusSeconds: NOW, nodeSeconds: NOW })
    await ledgerClock.compare(read)
    expect(ledgerClock.offSeconds()).toBe(-30)
    await clock.advanceMsSettled(30_000)
    await ledgerClock.compare(read)
    expect(ledgerClock.offSeconds()).toBe(0)
  })
})
