import type { Clock } from '@tallystick/service-kit'
import type { Hex } from './access-window.ts'

/**
 * Longest wait for another payment's turn, milliseconds: past the 12 s for which a payment in doubt keeps its request.
 * A payment that goes on then is left unsettled while an earlier one is unresolved, so that the wait only spares a refusal.
 */
const TURN_WAIT_MS = 15_000

type Turn = {
  /** The header, which tells payments apart. */
  readonly payment: string
  count: number
  readonly done: Promise<void>
  readonly end: () => void
}

/** Runs a payment in its turn; `hasWaited` says whether another one went before it. */
export type TakePaymentTurn = <Result>(
  key: { readonly agent: Hex; readonly payment: string },
  run: (hasWaited: boolean) => Promise<Result>,
) => Promise<Result>

/**
 * Whose turn it is to pay for an agent: different payments for one agent go one after the other, so that the second is
 * served by the window that the first opened; equal ones go together. Nobody waits longer than 15 s.
 */
export function createPaymentTurns(clock: Clock): TakePaymentTurn {
  const turns = new Map<Hex, Turn>()

  /** Joins the turn of this payment or begins one. */
  const begin = (agent: Hex, payment: string): Turn => {
    const current = turns.get(agent)
    if (current?.payment === payment) {
      current.count += 1
      return current
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const turn: Turn = { payment, count: 1, done: promise, end: resolve }
    turns.set(agent, turn)
    return turn
  }

  const leave = (agent: Hex, turn: Turn): void => {
    turn.count -= 1
    if (turn.count > 0) return
    if (turns.get(agent) === turn) turns.delete(agent)
    turn.end()
  }

  return async ({ agent, payment }, run) => {
    const untilMs = clock.unixMs() + TURN_WAIT_MS
    let hasWaited = false
    for (let turn = turns.get(agent); turn !== undefined; turn = turns.get(agent)) {
      if (turn.payment === payment || clock.unixMs() >= untilMs) break
      hasWaited = true
      await endOf(turn, untilMs - clock.unixMs())
    }
    const turn = begin(agent, payment)
    try {
      return await run(hasWaited)
    } finally {
      leave(agent, turn)
    }
  }

  async function endOf(turn: Turn, limitMs: number): Promise<void> {
    const timeUp = Promise.withResolvers<void>()
    const cancel = clock.after(limitMs, timeUp.resolve)
    await Promise.race([turn.done, timeUp.promise])
    cancel()
  }
}
