import { accessWindowAbi } from '@tallystick/contracts'
import { manualClock } from '@tallystick/service-kit'
import { encodeAbiParameters, encodeEventTopics, getAbiItem, type Hex } from 'viem'
import { expect, test } from 'vitest'
import { createMirrorAgentHistory } from './mirror-agent-history.ts'

const CONTRACT: Hex = `0x${'c0'.repeat(20)}`
const AGENT: Hex = `0x${'a1'.repeat(20)}`

/** A log as the contract writes it. */
function log(eventName: string, indexed: object, values: readonly unknown[]) {
  const item = getAbiItem({ abi: accessWindowAbi, name: eventName as 'GuardSet' })
  const topics = encodeEventTopics({ abi: [item], args: indexed } as never) as unknown as Hex[]
  const data = encodeAbiParameters(
    item.inputs.filter((input) => !('indexed' in input && input.indexed)),
    values as never,
  )
  return { consensusTimestamp: '100.500000000', data, topics }
}

function historyWith(logs: readonly ReturnType<typeof log>[]) {
  const requests: { topics: readonly string[]; topic1: string; untilSeconds: number }[] = []
  const history = createMirrorAgentHistory({
    clock: manualClock(1_000_000),
    contract: CONTRACT,
    mirror: {
      async recentLogs(wanted) {
        requests.push(wanted)
        return logs
      },
    },
  })
  return { requests, history }
}

test('A28: an agent’s events are asked for by its address, and each is told', async () => {
  const agent = { agent: AGENT }
  const { requests, history } = historyWith([
    log('SubscriptionOpened', { ...agent, payer: AGENT }, [120n, 0, 9n, 1n, AGENT, 120n]),
    log('SubscriptionToppedUp', { ...agent, payer: AGENT }, [3n, 12n]),
    log('SubscriptionCancelled', agent, [5n]),
    log('RefundClaimed', { ...agent, to: AGENT }, [5n]),
    log('GuardSet', agent, [true]),
    log('UsageRefused', agent, [120n, 2]),
    log('UsageRefused', agent, [120n, -2]),
  ])
  expect(await history.ownEvents(AGENT)).toEqual(
    [
      { kind: 'opened', windowEndsAtSeconds: 120, balanceTinybar: 9n },
      { kind: 'topped-up', addedTinybar: 3n, balanceTinybar: 12n },
      { kind: 'cancelled', refundTinybar: 5n },
      { kind: 'claimed', refundTinybar: 5n },
      { kind: 'guard-set', isGuarded: true },
      { kind: 'calls-refused', calls: 2 },
    ].map((event) => ({ ...event, atSeconds: 100 })),
  )
  expect(requests).toMatchObject([
    { topic1: `0x${'0'.repeat(24)}${'a1'.repeat(20)}`, untilSeconds: 1_060 },
  ])
  expect(requests[0]?.topics).toHaveLength(6)
})

test('renewals are asked for by their slot', async () => {
  const slotId = (20n << 40n) | 7n
  const { requests, history } = historyWith([
    log('SlotRenewed', { slotId }, [140n, 1, 1, 3n, true]),
  ])
  expect(await history.renewals(slotId)).toEqual([
    { kind: 'renewed', atSeconds: 100, windowEndsAtSeconds: 140 },
  ])
  expect(requests).toMatchObject([{ topic1: `0x${slotId.toString(16).padStart(64, '0')}` }])
})
