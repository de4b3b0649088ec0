/**
 * One line per payer (X16): how many of its payments are prepared at once, and how much of its balance earlier ones may
 * still take. Without it, one cent could have any amount of unpaid work prepared.
 */
import type { Clock } from '../clock.ts'
import type { VerifiedPayment } from '../payment.ts'
import { payerKey } from '../reservations/reservation-store.ts'
import type { GateLimits } from './gate-limits.ts'

type Entry = { readonly payment: VerifiedPayment; isPreparing: boolean }
type Line = { readonly entries: Set<Entry>; moved: PromiseWithResolvers<true> }

/** Between two looks at what other processes prepare for a payer, milliseconds. */
const ELSEWHERE_MS = 250

export type PayerLines = ReturnType<typeof createPayerLines>

/** A payment's place in its payer's line. */
export type PlaceInLine = NonNullable<ReturnType<PayerLines['join']>>

/** The lines of a gate; a payer is one account on one network. */
export function createPayerLines(clock: Clock, limits: GateLimits) {
  const lines = new Map<string, Line>()

  function findLine(payer: string): Line {
    const known = lines.get(payer)
    if (known !== undefined) return known
    const line = { entries: new Set<Entry>(), moved: Promise.withResolvers<true>() }
    lines.set(payer, line)
    return line
  }

  return {
    /** Takes the last place; undefined if the line is full. */
    join(payment: VerifiedPayment) {
      const payer = payerKey({ payment })
      const line = findLine(payer)
      if (line.entries.size >= limits.payerWaitingMax) return undefined
      const entry: Entry = { payment, isPreparing: false }
      line.entries.add(entry)
      const timeUp = Promise.withResolvers<false>()
      let cancel: (() => void) | undefined

      function move(): void {
        line.moved.resolve(true)
        line.moved = Promise.withResolvers()
      }

      async function moved(): Promise<boolean> {
        cancel ??= clock.after(limits.payerWaitMs, () => timeUp.resolve(false))
        return await Promise.race([line.moved.promise, timeUp.promise])
      }

      return {
        /** Resolves once the payment may be prepared; false if that takes too long. */
        async ready(): Promise<boolean> {
          while (mustWait(line, limits)) if (!(await moved())) return false
          entry.isPreparing = true
          return true
        },
        /** Sums what earlier payments under way may still take from the balance, in base units of the same asset. */
        aheadAmount: () => amountAhead(line, entry),
        /** Resolves when the line has moved; false if that takes too long. */
        moved,
        /** How many of its payer's payments are prepared here, this one included. */
        preparing: () => countPreparing(line),
        /** Waits for other processes' payments; false if that takes too long. */
        async pause(): Promise<boolean> {
          const paused = Promise.withResolvers<true>()
          const cancelPause = clock.after(ELSEWHERE_MS, () => paused.resolve(true))
          const isInTime = await Promise.race([paused.promise, moved()])
          cancelPause()
          return isInTime
        },
        /** It was submitted and its outcome is open: others may be prepared, but its amount still counts. */
        submitted(): void {
          entry.isPreparing = false
          move()
        },
        /** It is settled, refused or given up. */
        leave(): void {
          if (!line.entries.delete(entry)) return
          cancel?.()
          if (line.entries.size === 0) lines.delete(payer)
          move()
        },
      }
    },
  }
}

function countPreparing({ entries }: Line): number {
  let preparing = 0
  for (const { isPreparing } of entries) if (isPreparing) preparing += 1
  return preparing
}

const mustWait = (line: Line, limits: GateLimits): boolean =>
  countPreparing(line) >= limits.payerPreparingMax

function amountAhead({ entries }: Line, own: Entry): bigint {
  let sum = 0n
  for (const entry of entries) {
    if (entry === own) return sum
    if (entry.payment.asset === own.payment.asset) sum += entry.payment.amount
  }
  return sum
}
