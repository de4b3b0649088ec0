/**
 * Reads of an agent's window. What this process opened counts from its receipt on, although reads may lag behind it for
 * seconds (A5): such a window is held until a read shows it, or until reads cannot lag any more.
 */
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import {
  type AccessWindow,
  type Hex,
  isShownBy,
  ledgerSeconds,
  projectWindow,
} from './access-window.ts'
import type { AccessContract } from './ports.ts'

/** Reads lag behind receipts by 3–10 s on the public network; a minute is past all of it. */
const HOLD_MS = 60_000

/** Windows held at once: at one purchase a second a minute's worth is 60; beyond this the oldest is let go. */
const HELD_MAX = 1_000

type HeldWindow = { readonly window: AccessWindow; readonly untilMs: number }

export type Subscriptions = {
  /** The agent's window now. Throws ChainUnavailable or ContractAbsent. */
  read(agent: Hex): Promise<AccessWindow>
  /** The same from the contract alone. */
  readChain(agent: Hex): Promise<AccessWindow>
  /** Treats the agent as open until a read shows what a receipt has told. */
  hold(agent: Hex, window: AccessWindow): void
}

export function createSubscriptions(deps: {
  readonly contract: AccessContract
  readonly clock: Clock
}): Subscriptions {
  const { contract, clock } = deps
  const held = new BoundedMap<Hex, HeldWindow>(HELD_MAX)

  const readChain = (agent: Hex): Promise<AccessWindow> =>
    contract.windowOf(agent, ledgerSeconds(clock))

  return {
    readChain,
    async read(agent) {
      const chain = await readChain(agent)
      const own = held.get(agent)
      if (own === undefined) return chain
      if (own.untilMs < clock.unixMs() || isShownBy(chain, own.window)) {
        held.delete(agent)
        return chain
      }
      return projectWindow(own.window, ledgerSeconds(clock))
    },
    hold(agent, window) {
      held.set(agent, { window, untilMs: clock.unixMs() + HOLD_MS })
    },
  }
}
