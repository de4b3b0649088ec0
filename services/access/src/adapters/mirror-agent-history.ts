import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import type { MirrorNode } from '@tallystick/x402/hedera'
import { getAbiItem, type Hex, pad, toEventSelector, toHex } from 'viem'
import type { AgentEvent, AgentHistory } from '../domain/agent-history.ts'
import { decodeContractEvents, toCount } from './contract-calls.ts'
import { logsUntilSeconds } from './mirror-seller-history.ts'

const selector = (name: (typeof OWN_EVENTS)[number] | 'SlotRenewed'): Hex =>
  toEventSelector(getAbiItem({ abi: accessWindowAbi, name }))

/** All name the agent first. Counted calls are left out: they are many, and the window has their sum. */
const OWN_EVENTS = [
  'SubscriptionOpened',
  'SubscriptionToppedUp',
  'SubscriptionCancelled',
  'RefundClaimed',
  'GuardSet',
  'UsageRefused',
] as const
const OWN_TOPICS = OWN_EVENTS.map(selector)
const RENEWED_TOPICS = [selector('SlotRenewed')]

type ContractEvent = ReturnType<typeof decodeContractEvents>[number]

type OwnEvent = Extract<ContractEvent, { readonly eventName: (typeof OWN_EVENTS)[number] }>

const isOwn = (event: ContractEvent): event is OwnEvent =>
  OWN_EVENTS.some((name) => name === event.eventName)

function toAgentEvent(event: OwnEvent, atSeconds: number): AgentEvent[] {
  const { args, eventName } = event
  switch (eventName) {
    case 'SubscriptionOpened': {
      const { balanceTinybar, expiresAt } = args
      const windowEndsAtSeconds = toCount(expiresAt)
      return [{ kind: 'opened', atSeconds, windowEndsAtSeconds, balanceTinybar }]
    }
    case 'SubscriptionToppedUp': {
      const { balanceTinybar, valueTinybar: addedTinybar } = args
      return [{ kind: 'topped-up', atSeconds, addedTinybar, balanceTinybar }]
    }
    case 'SubscriptionCancelled':
      return [{ kind: 'cancelled', atSeconds, refundTinybar: args.refundTinybar }]
    case 'RefundClaimed':
      return [{ kind: 'claimed', atSeconds, refundTinybar: args.amountTinybar }]
    case 'GuardSet':
      return [{ kind: 'guard-set', atSeconds, isGuarded: args.isGuarded }]
    case 'UsageRefused':
      // Calls that were given back are negative.
      return args.calls > 0 ? [{ kind: 'calls-refused', atSeconds, calls: args.calls }] : []
    default:
      return event satisfies never
  }
}

/** Agents' events through a mirror node, by what each event names first. */
export function createMirrorAgentHistory(options: {
  readonly mirror: Pick<MirrorNode, 'recentLogs'>
  readonly clock: Clock
  readonly contract: Hex
}): AgentHistory {
  const { clock, contract, mirror } = options
  const recent = async (topics: readonly Hex[], topic1: Hex) => {
    const untilSeconds = logsUntilSeconds(clock)
    const logs = await mirror.recentLogs({ address: contract, topics, topic1, untilSeconds })
    return logs.flatMap(({ consensusTimestamp, data, topics: words }) => {
      const [event] = decodeContractEvents([{ address: contract, data, topics: words }], contract)
      const atSeconds = Math.floor(Number(consensusTimestamp))
      return event === undefined ? [] : [{ event, atSeconds }]
    })
  }
  return {
    async ownEvents(agent) {
      const found = await recent(OWN_TOPICS, pad(agent))
      return found.flatMap(({ atSeconds, event }) =>
        isOwn(event) ? toAgentEvent(event, atSeconds) : [],
      )
    },
    async renewals(slotId) {
      const found = await recent(RENEWED_TOPICS, toHex(slotId, { size: 32 }))
      return found.flatMap(({ atSeconds, event }) =>
        event.eventName === 'SlotRenewed'
          ? [
              {
                kind: 'renewed' as const,
                atSeconds,
                windowEndsAtSeconds: toCount(event.args.windowsEndAt),
              },
            ]
          : [],
      )
    },
  }
}
