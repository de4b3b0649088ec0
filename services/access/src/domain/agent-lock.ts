import { type Clock, pause } from '@tallystick/service-kit'
import type { Hex } from './access-window.ts'

/**
 * Longest wait for another payment, milliseconds: longer than the 12 s for which a payment in doubt holds its request. A
 * payment that goes on after it is not settled while an earlier one is unresolved; the wait only avoids a refusal.
 */
const LOCK_WAIT_MS = 15_000

type Holder = { readonly payment: string; count: number; readonly done: AbortController }

/** Runs an agent's payments one after another; `hasWaited` says whether it waited for another. */
type LockAgent = <Result>(
  /** `payment` is the header, which identifies the payment; `isOwn`: the agent's own account signed it. */
  key: { readonly agent: Hex; readonly isOwn: boolean; readonly payment: string },
  run: (hasWaited: boolean) => Promise<Result>,
) => Promise<Result>

/**
 * A lock for each agent: different payments for it run one after the other, so that the window which the first opened
 * serves the second; equal ones share the lock. Nobody waits longer than 15 s, and the agent's own payment never waits
 * for one that somebody else signed (X9).
 */
export function createAgentLock(clock: Clock): LockAgent {
  const holders = new Map<string, Holder>()

  const enter = (key: string, payment: string): Holder => {
    const current = holders.get(key)
    if (current?.payment === payment) {
      current.count += 1
      return current
    }
    const holder = { payment, count: 1, done: new AbortController() }
    holders.set(key, holder)
    return holder
  }

  const leave = (key: string, holder: Holder): void => {
    holder.count -= 1
    if (holder.count > 0) return
    if (holders.get(key) === holder) holders.delete(key)
    holder.done.abort()
  }

  return async ({ agent, isOwn, payment }, run) => {
    const ownKey = `${agent}/own`
    const othersKey = `${agent}/others`
    const before = isOwn ? [ownKey] : [ownKey, othersKey]
    const next = (): Holder | undefined =>
      before.map((key) => holders.get(key)).find((holder) => holder && holder.payment !== payment)
    const untilMs = clock.unixMs() + LOCK_WAIT_MS
    let hasWaited = false
    for (let other = next(); other !== undefined && clock.unixMs() < untilMs; other = next()) {
      hasWaited = true
      await pause(clock, untilMs - clock.unixMs(), other.done.signal)
    }
    const key = isOwn ? ownKey : othersKey
    const holder = enter(key, payment)
    try {
      return await run(hasWaited)
    } finally {
      leave(key, holder)
    }
  }
}
