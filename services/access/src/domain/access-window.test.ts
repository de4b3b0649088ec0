import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openWindow } from '../testing/fake-contract.ts'
import {
  pendingSchedule,
  periodsInReach,
  projectWindow,
  secondsRemaining,
  waitingTinybar,
  ZERO_ADDRESS,
} from './access-window.ts'

type State = {
  readonly at: number
  readonly isOpen: boolean
  readonly expiresAt: number
  readonly balanceTinybar: number
  readonly periodsFunded: number
  readonly callsUsed: number
}
type Vectors = {
  readonly cases: readonly {
    readonly about: string
    readonly periodSeconds: number
    readonly isCancelled: boolean
    readonly states: readonly State[]
  }[]
}

/** The contract's tests are held to the same file (contracts/test/unit/Vectors.t.sol). */
const VECTORS = new URL('../../../../contracts/test/vectors/windows.json', import.meta.url)
const vectors = JSON.parse(readFileSync(VECTORS, 'utf8')) as Vectors

const shown = ({ isOpen, expiresAt, balanceTinybar, periodsFunded, callsUsed }: State) => ({
  isOpen,
  expiresAtSeconds: expiresAt,
  balanceTinybar: BigInt(balanceTinybar),
  periodsFunded,
  callsUsed,
})

describe('A6: lazy windows', () => {
  test.each(vectors.cases)('as the contract projects them: $about', (vector) => {
    const { periodSeconds, isCancelled } = vector
    vector.states.forEach((read, index) => {
      const window = openWindow(0, { periodSeconds, isCancelled, ...shown(read) })
      for (const later of vector.states.slice(index))
        expect(projectWindow(window, later.at)).toMatchObject(shown(later))
    })
  })

  test('each funded period follows the last without a gap, with a fresh quota', () => {
    const window = openWindow(100, { callsUsed: 9 })
    expect(projectWindow(window, 99)).toBe(window)
    expect(projectWindow(window, 100)).toMatchObject({
      isOpen: true,
      expiresAtSeconds: 120,
      periodsFunded: 2,
      balanceTinybar: 600_000_000n,
      callsUsed: 0,
    })
    expect(projectWindow(window, 159)).toMatchObject({
      isOpen: true,
      expiresAtSeconds: 160,
      periodsFunded: 0,
    })
    expect(projectWindow(window, 160)).toMatchObject({
      isOpen: false,
      expiresAtSeconds: 160,
      balanceTinybar: 0n,
    })
  })

  test('a cancelled window stays open to its end and renews no more', () => {
    const window = openWindow(100, { isCancelled: true })
    expect(projectWindow(window, 99).isOpen).toBe(true)
    expect(projectWindow(window, 100)).toMatchObject({
      isOpen: false,
      expiresAtSeconds: 100,
      balanceTinybar: 900_000_000n,
    })
  })

  test('projecting in steps is projecting at once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 0, max: 9 }),
        fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 5 }),
        (periodSeconds, periodsFunded, steps) => {
          const balanceTinybar = BigInt(periodsFunded) * 300_000_000n
          const window = openWindow(1_000, { periodSeconds, periodsFunded, balanceTinybar })
          let second = 990
          let stepped = window
          for (const step of steps) stepped = projectWindow(stepped, (second += step))
          const direct = projectWindow(window, second)
          expect({ ...stepped, callsUsed: 0 }).toEqual({ ...direct, callsUsed: 0 })
          expect(direct.expiresAtSeconds).toBeLessThanOrEqual(1_000 + periodsFunded * periodSeconds)
        },
      ),
    )
  })

  test('A26: money certainly buys what ends within 31 days of a second a minute ago, and the rest waits', () => {
    const window = openWindow(1_000, { balanceTinybar: 1_000_000_001n })
    expect(periodsInReach(window, 1_060 + 20 - 2_678_400)).toBe(1)
    expect(periodsInReach(window, 1_060 + 19 - 2_678_400)).toBe(0)
    expect(periodsInReach(window, 0)).toBe((2_678_400 - 1_060) / 20)
    expect(waitingTinybar(window)).toBe(100_000_001n)
    expect(waitingTinybar(projectWindow(window, 2_000))).toBe(100_000_001n)
  })

  test('secondsRemaining is never below 0', () => {
    expect(secondsRemaining(openWindow(100), 90)).toBe(10)
    expect(secondsRemaining(openWindow(100), 200)).toBe(0)
    expect(secondsRemaining(openWindow(100, { isOpen: false }), 90)).toBe(0)
  })

  test('A12: a schedule whose second is 30 s past is none', () => {
    const window = openWindow(100)
    expect(pendingSchedule(window, 130)).toBe(window.schedule)
    expect(pendingSchedule(window, 131)).toBe(ZERO_ADDRESS)
  })
})
