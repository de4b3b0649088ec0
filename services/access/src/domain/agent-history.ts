/** What happened to an agent's subscription, for its page: few reads of the mirror node, none of which a page waits for long. */
import {
  atMost,
  BoundedMap,
  type Clock,
  createCallRate,
  getOrMake,
  type KeptRead,
  keptRead,
} from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import type { AccessWindow, Hex } from './access-window.ts'

export type AgentEvent = { readonly atSeconds: number } & (
  | {
      readonly kind: 'opened'
      readonly windowEndsAtSeconds: number
      readonly balanceTinybar: bigint
    }
  | {
      readonly kind: 'topped-up'
      readonly addedTinybar: bigint
      readonly balanceTinybar: bigint
    }
  | RenewedEvent
  | { readonly kind: 'cancelled'; readonly refundTinybar: bigint }
  | { readonly kind: 'claimed'; readonly refundTinybar: bigint }
  | { readonly kind: 'guard-set'; readonly isGuarded: boolean }
  | { readonly kind: 'calls-refused'; readonly calls: number }
)

/** Windows of a slot were renewed. */
type RenewedEvent = {
  readonly atSeconds: number
  readonly kind: 'renewed'
  readonly windowEndsAtSeconds: number
}

/** Of the last seven days, newest first, at most a hundred. Throws x402's LedgerUnavailable. */
export type AgentHistory = {
  ownEvents(agent: Hex): Promise<readonly AgentEvent[]>
  renewals(slotId: bigint): Promise<readonly RenewedEvent[]>
}

export type EventsRead =
  | { readonly kind: 'read'; readonly events: readonly AgentEvent[] }
  /** The mirror node did not answer in time, or refused. */
  | { readonly kind: 'unread' }
  /** Too many agents are looked at. */
  | { readonly kind: 'too-many' }

/** A page waits this long, milliseconds; a mirror node that answers at all does so in a second. */
export const PAGE_WAIT_MS_MAX = 3_000
/** How old what a page shows may be, milliseconds: mirror nodes lag as much. */
const KEPT_MS = 10_000
/** Agents whose events are kept, some 20 kB each. */
const AGENTS_MAX = 200
/** Reads of this process, two requests each: what public mirror nodes allow is there for payments. */
const READS_PER_SECOND = 1
/** As many renewals as a screen shows; those of a short period would hide everything else. */
const RENEWALS_MAX = 10

/** The slot's renewals since the agent's last opening, of windows that it has paid for: a slot renews those of others, too. */
function ownRenewals(
  window: AccessWindow,
  own: readonly AgentEvent[],
  renewals: readonly RenewedEvent[],
): readonly RenewedEvent[] {
  const opened = own.find((event) => event.kind === 'opened')
  const fromSeconds = opened?.windowEndsAtSeconds ?? 0
  const untilSeconds = window.expiresAtSeconds + window.periodsFunded * window.periodSeconds
  return renewals
    .filter(({ windowEndsAtSeconds: ends }) => ends > fromSeconds && ends <= untilSeconds)
    .slice(0, RENEWALS_MAX)
}

export function createEventReader(deps: {
  readonly history: AgentHistory
  readonly clock: Clock
  /** The agent's window as it was read last. */
  readonly knownWindow: (agent: Hex) => AccessWindow | undefined
}) {
  const { clock, history, knownWindow } = deps
  const rate = createCallRate({ clock, perSecond: READS_PER_SECOND })
  const recent = new BoundedMap<Hex, KeptRead<EventsRead>>(AGENTS_MAX)

  const readNow = async (agent: Hex): Promise<EventsRead> => {
    if (rate.secondsToWait('all') !== undefined) return { kind: 'too-many' }
    const window = knownWindow(agent)
    const [own, renewals] = await Promise.all([
      history.ownEvents(agent),
      window?.exists === true ? history.renewals(window.slotId) : [],
    ])
    const renewed = window === undefined ? [] : ownRenewals(window, own, renewals)
    const events = [...own, ...renewed].toSorted((left, right) => right.atSeconds - left.atSeconds)
    return { kind: 'read', events }
  }

  return async (agent: Hex): Promise<EventsRead> => {
    const read = getOrMake(recent, agent, () =>
      keptRead({ clock, keptMs: KEPT_MS, read: () => readNow(agent) }),
    )
    try {
      return (await atMost(clock, PAGE_WAIT_MS_MAX, read())) ?? { kind: 'unread' }
    } catch (error) {
      if (error instanceof LedgerUnavailable) return { kind: 'unread' }
      throw error
    }
  }
}
